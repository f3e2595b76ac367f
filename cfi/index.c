// SPDX-License-Identifier: Apache-2.0
#include "cfi/index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cfi/fde_sort.h"
#include "cfi/machine.h"
#include "limits/limits.h"

static int index_refuse(struct cfi_index *index, enum cfi_reason reason, uint64_t offset)
{
	if (array_reserve(index->refusals, index->n_refusals, index->refusals_size) < 0)
		return -ENOMEM;
	index->refusals[index->n_refusals++] = (struct cfi_refusal){ reason, offset };
	return 0;
}

static int index_add_cie(struct cfi_index *index, const struct cfi_section *section,
			 struct cfi_record *rec)
{
	struct cfi_cie *cie;
	struct cfi_refusal initial;
	enum cfi_reason r;

	if (index->n_cies == CFI_CIES_MAX)
		return -EFBIG;
	if (array_reserve(index->cies, index->n_cies, index->cies_size) < 0)
		return -ENOMEM;
	cie = &index->cies[index->n_cies];
	r = cfi_cie_read(section, rec, cie);
	if (r != CFI_NONE)
		return index_refuse(index, r, cursor_mark(&rec->body));
	initial = cfi_machine_initial(section, cie);
	if (initial.reason != CFI_NONE)
		return index_refuse(index, initial.reason, initial.offset);
	index->n_cies++;
	return 0;
}

/* CIEs are appended in section order, so they are sorted by offset. */
static size_t index_find_cie(const struct cfi_index *index, uint64_t offset)
{
	size_t lo = 0, hi = index->n_cies;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (index->cies[mid].offset < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < index->n_cies && index->cies[lo].offset == offset)
		return lo;
	return SIZE_MAX;
}

static int index_add_fde(struct cfi_index *index, const struct cfi_section *section,
			 struct cfi_record *rec)
{
	uint64_t cie_offset = cfi_record_cie_offset(section, rec);
	size_t cie = index->n_cies - 1;
	struct cfi_fde *fde;
	enum cfi_reason r;

	/* Usually the last CIE. */
	if (index->n_cies == 0 || index->cies[cie].offset != cie_offset)
		cie = index_find_cie(index, cie_offset);
	if (cie == SIZE_MAX)
		return index_refuse(index, CFI_NO_CIE, rec->id_at);
	if (array_reserve(index->fdes, index->n_fdes, index->fdes_size) < 0)
		return -ENOMEM;

	fde = &index->fdes[index->n_fdes];
	r = cfi_fde_read(section, &index->cies[cie], rec, fde);
	if (r != CFI_NONE)
		return index_refuse(index, r, cursor_mark(&rec->body));
	if (fde->start == fde->end)
		return 0; /* a linker has dropped the function */
	fde->cie = (uint32_t)cie;
	index->n_fdes++;
	return 0;
}

/* The records that a pass over the section handles. */
enum {
	PASS_CIES = 1 << 0,
	PASS_FDES = 1 << 1,
};

static int index_pass(struct cfi_index *index, const struct cfi_section *section,
		      unsigned int passes)
{
	const bool is_second = !(passes & PASS_CIES); /* the first has listed unreadable records */
	struct cursor c;

	cursor_init(&c, section->data, 0, section->size);
	while (cursor_left(&c) > 0) {
		struct cfi_record rec;
		enum cfi_reason r = cfi_record_read(&c, &rec);
		bool is_cie;
		int err = 0;

		if (r != CFI_NONE)
			return is_second ? 0 : index_refuse(index, r, rec.offset);
		/*
		 * libgcc ends the section at a zero length. Linkers that join sections can leave
		 * one in the middle, and .eh_frame_hdr still refers to what follows.
		 */
		if (cursor_left(&rec.body) == 0)
			continue;
		r = cfi_record_read_id(section, &rec);
		is_cie = cfi_record_is_cie(section, &rec);
		if (r != CFI_NONE)
			err = is_second ? 0 : index_refuse(index, r, rec.offset);
		else if (is_cie && (passes & PASS_CIES))
			err = index_add_cie(index, section, &rec);
		else if (!is_cie && (passes & PASS_FDES))
			err = index_add_fde(index, section, &rec);
		if (err < 0)
			return err;
	}
	return 0;
}

/* No more FDEs follow, so the spare room is freed. */
static int index_sort(struct cfi_index *index)
{
	struct cfi_fde *fdes;

	if (index->n_fdes == 0)
		return 0;
	fdes = reallocarray(index->fdes, index->n_fdes, sizeof(*fdes));
	if (!fdes)
		return -ENOMEM;
	index->fdes = fdes;
	index->fdes_size = index->n_fdes;
	return fde_sort(&index->fdes, index->n_fdes);
}

int cfi_index_init(struct cfi_index *ret, const struct cfi_section *section)
{
	struct cfi_index index = { 0 };
	int err;

	if (section->size > UINT32_MAX)
		return -EFBIG;
	if (section->size == 0) { /* there may not even be an address */
		*ret = index;
		return 0;
	}
	/* An FDE of .eh_frame points back to its CIE; in .debug_frame it may precede the CIE. */
	if (!section->debug_frame) {
		err = index_pass(&index, section, PASS_CIES | PASS_FDES);
	} else {
		err = index_pass(&index, section, PASS_CIES);
		if (err == 0)
			err = index_pass(&index, section, PASS_FDES);
	}
	if (err == 0)
		err = index_sort(&index);
	if (err < 0) {
		cfi_index_done(&index);
		return err;
	}
	*ret = index;
	return 0;
}

uint64_t cfi_section_measure(const struct cfi_section *section)
{
	_cleanup_(cfi_index_done) struct cfi_index index = { 0 };
	uint64_t end = 0;
	struct cfi_record rec;
	struct cursor c;

	cursor_init(&c, section->data, 0, section->size);
	while (cfi_record_read(&c, &rec) == CFI_NONE && cursor_left(&rec.body) > 0) {
		if (cfi_record_read_id(section, &rec) != CFI_NONE)
			break;
		if (cfi_record_is_cie(section, &rec)) {
			if (index_add_cie(&index, section, &rec) < 0)
				break;
		} else if (index_find_cie(&index, cfi_record_cie_offset(section, &rec)) ==
			   SIZE_MAX) {
			break;
		}
		if (index.n_refusals > 0)
			break;
		end = cursor_offset(&c);
	}
	return end;
}

bool cfi_section_has_fdes(const struct cfi_section *section)
{
	struct cfi_record rec;
	struct cursor c;

	if (section->size == 0)
		return false;
	cursor_init(&c, section->data, 0, section->size);
	while (cursor_left(&c) > 0 && cfi_record_read(&c, &rec) == CFI_NONE)
		if (cursor_left(&rec.body) > 0 && cfi_record_read_id(section, &rec) == CFI_NONE &&
		    !cfi_record_is_cie(section, &rec))
			return true;
	return false;
}

void cfi_index_done(struct cfi_index *index)
{
	free(index->cies);
	free(index->fdes);
	free(index->refusals);
	*index = (struct cfi_index){ 0 };
}
