// SPDX-License-Identifier: Apache-2.0
#include "elf/cold_part.h"

#include <errno.h>
#include <string.h>

#include "cfi/index.h"
#include "cfi/machine.h"
#include "elf/elf_symbols.h"
#include "tables/jump_targets.h"

struct search {
	const struct cfi_section *section;
	const struct cfi_index *index;
	const struct cfi_fde *found;
	/* Many jumps may lead to one, whose program may be long. */
	const struct cfi_fde *refused;
};

static const struct cfi_fde *fde_of(const struct cfi_index *index, uint64_t address)
{
	size_t lo = 0, hi = index->n_fdes;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (index->fdes[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 && address < index->fdes[lo - 1].end ? &index->fdes[lo - 1] : NULL;
}

/* Has something been pushed where it begins? */
static bool begins_within(const struct search *s, const struct cfi_fde *fde)
{
	const struct cfi_cie *cie = &s->index->cies[fde->cie];
	struct cfi_machine machine;
	struct cfi_span span;

	cfi_machine_init(&machine, s->section, cie, fde);
	return cfi_machine_next(&machine, &span) == CFI_STEP_ROW &&
	       (machine.row.cfa.kind != cie->initial.cfa.kind ||
		machine.row.cfa.reg != cie->initial.cfa.reg ||
		machine.row.cfa.offset != cie->initial.cfa.offset);
}

static int on_jump(void *arg, uint64_t to)
{
	struct search *s = arg;
	const struct cfi_fde *fde = fde_of(s->index, to);

	if (!fde || fde == s->refused)
		return 0;
	if (!begins_within(s, fde)) {
		s->refused = fde;
		return 0;
	}
	s->found = fde;
	return 1;
}

int cold_part_find(const struct elf_file *file, uint64_t start, uint64_t end, uint64_t *ret_start,
		   uint64_t *ret_end)
{
	const uint8_t *code = start < end ? elf_bytes_at(file, start, end - start) : NULL;
	struct cfi_index index;
	struct search search = { .section = &file->cfi, .index = &index };
	int err = code ? cfi_index_init(&index, &file->cfi) : -ENOENT;

	if (err < 0)
		return err;
	if (jump_targets_each(code, start, end, on_jump, &search)) {
		*ret_start = search.found->start;
		*ret_end = search.found->end;
	}
	cfi_index_done(&index);
	return search.found ? 0 : -ENOENT;
}
