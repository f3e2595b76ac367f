// SPDX-License-Identifier: Apache-2.0
/*
 * CIEs and FDEs of a whole section, read as .eh_frame and as .debug_frame.
 * Input: address of the section (8), the section.
 */
#include "cfi/index.h"
#include "cfi/tests/fuzz.h"

static void check_cies(const struct cfi_index *index, const struct cfi_section *section)
{
	for (size_t i = 0; i < index->n_cies; i++) {
		const struct cfi_cie *cie = &index->cies[i];

		EXPECT(cie->offset < cie->ops);
		EXPECT(cie->ops <= cie->ops_end && cie->ops_end <= section->size);
		/* index_find_cie() searches in them */
		EXPECT(i == 0 || index->cies[i - 1].offset < cie->offset);
	}
}

static void check_fdes(const struct cfi_index *index, const struct cfi_section *section)
{
	for (size_t i = 0; i < index->n_fdes; i++) {
		const struct cfi_fde *fde = &index->fdes[i];

		EXPECT(fde->start < fde->end);
		EXPECT(fde->cie < index->n_cies);
		EXPECT(fde->offset < fde->ops);
		EXPECT(fde->ops <= fde->ops_end && fde->ops_end <= section->size);
		EXPECT(i == 0 || index->fdes[i - 1].start <= fde->start);
	}
}

static void check_refusals(const struct cfi_index *index, const struct cfi_section *section)
{
	for (size_t i = 0; i < index->n_refusals; i++) {
		EXPECT(index->refusals[i].reason > CFI_NONE);
		EXPECT(index->refusals[i].reason < CFI_N_REASONS);
		EXPECT(index->refusals[i].offset <= section->size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int debug_frame = 0; debug_frame < 2; debug_frame++) {
		struct feed feed = { data, data + size };
		uint64_t address = feed_u64(&feed);
		struct cfi_section section = feed_section(&feed, address, debug_frame);
		struct cfi_index index;

		EXPECT(cfi_index_init(&index, &section) == 0);
		/* A record has at least a length of 4 bytes, and one byte that makes it one. */
		EXPECT(index.n_cies + index.n_fdes + index.n_refusals <= section.size / 5 + 1);
		check_cies(&index, &section);
		check_fdes(&index, &section);
		check_refusals(&index, &section);
		cfi_index_done(&index);
	}
	return 0;
}
