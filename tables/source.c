// SPDX-License-Identifier: Apache-2.0
#include "tables/source.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "tables/word_machine.h"

int source_init(struct source *s, const struct cfi_section *section)
{
	int err = cfi_index_init(&s->index, section);

	s->section = section;
	if (err == 0)
		s->initial = calloc(s->index.n_cies + 1, sizeof(*s->initial));
	if (err == 0 && !s->initial)
		err = -ENOMEM;
	for (size_t i = 0; err == 0 && i < s->index.n_cies; i++) {
		struct initial *initial = &s->initial[i];

		rule_word_update(&initial->word, &s->index.cies[i].initial, CFI_CHANGED_ALL);
		initial->is_short = word_machine_init_cie(&s->index.cies[i], &initial->short_word);
	}
	return err;
}

int source_init_go(struct source *s, const struct pclntab *go)
{
	struct cfi_index *index = &s->index;
	struct pclntab_function f;

	s->go = go;
	for (uint64_t i = 0; i < go->n_functions; i++) {
		/* Functions must be in ascending order; others are damaged. */
		if (pclntab_function(go, i, &f) < 0 ||
		    (index->n_fdes > 0 && f.start <= index->fdes[index->n_fdes - 1].start))
			continue;
		if (array_reserve(index->fdes, index->n_fdes, index->fdes_size) < 0)
			return -ENOMEM;
		index->fdes[index->n_fdes++] = (struct cfi_fde){ .start = f.start,
								 .end = f.next,
								 .go_function = (uint32_t)i };
	}
	return 0;
}

void source_done(struct source *s)
{
	cfi_index_done(&s->index);
	free(s->initial);
}

static bool is_inside(const struct cfi_fde *fde, uint64_t start, uint64_t end)
{
	return fde->start >= start && fde->end <= end && fde->start < fde->end;
}

bool source_fde(const struct source *s, size_t i, uint64_t start, uint64_t end, struct cfi_fde *ret)
{
	struct pclntab_function f;

	*ret = s->index.fdes[i];
	/* The bytes up to the next Go function are padding. */
	if (s->go && pclntab_function(s->go, ret->go_function, &f) == 0)
		ret->end = pclntab_function_end(s->go, &f);
	if (!is_inside(ret, start, end))
		return false;
	if (i + 1 < s->index.n_fdes && ret->end > s->index.fdes[i + 1].start)
		ret->end = s->index.fdes[i + 1].start;
	return ret->start < ret->end;
}
