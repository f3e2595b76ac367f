// SPDX-License-Identifier: Apache-2.0
#include "symbols/function_starts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cfi/index.h"
#include "elf/eh_frame.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"

/* Starts are relative to the first one. */
struct function {
	uint32_t start, size;
};

struct function_starts {
	uint64_t first;
	struct function *functions; /* by start */
	size_t n_functions;
};

/* The FDEs are sorted. */
static int take_functions(struct function_starts *s, const struct cfi_index *index)
{
	size_t n = index->n_fdes < FUNCTION_STARTS_MAX ? index->n_fdes : FUNCTION_STARTS_MAX;

	if (n == 0)
		return -ENODATA;
	if (n < index->n_fdes)
		LIMIT_HIT(FUNCTION_STARTS_MAX);
	s->functions = calloc(n, sizeof(*s->functions));
	if (!s->functions)
		return -ENOMEM;
	s->first = index->fdes[0].start;
	for (size_t i = 0; i < n; i++) {
		const struct cfi_fde *fde = &index->fdes[i];
		uint64_t start = fde->start - s->first, size = fde->end - fde->start;

		if (start > UINT32_MAX)
			break;
		s->functions[s->n_functions++] =
			(struct function){ (uint32_t)start,
					   size < UINT32_MAX ? (uint32_t)size : UINT32_MAX };
	}
	return 0;
}

static int read_section(void *arg, const struct cfi_section *section)
{
	_cleanup_(cfi_index_done) struct cfi_index index = { 0 };
	struct function_starts *s, **ret = arg;
	int err = section->size > FUNCTION_STARTS_SECTION_MAX ? -EFBIG : 0;

	if (err < 0)
		LIMIT_HIT(FUNCTION_STARTS_SECTION_MAX);
	else
		err = cfi_index_init(&index, section);
	if (err < 0)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	err = take_functions(s, &index);
	if (err < 0) {
		function_starts_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

int function_starts_new(int fd, const void *memory, size_t size, struct function_starts **ret)
{
	return eh_frame_read(fd, memory, size, read_section, ret);
}

struct function_starts *function_starts_free(struct function_starts *s)
{
	if (!s)
		return NULL;
	free(s->functions);
	free(s);
	return NULL;
}

/* The number of functions that start at or below the address. */
static size_t upper_bound(const struct function_starts *s, uint64_t address)
{
	size_t lo = 0, hi = s->n_functions;

	if (address < s->first)
		return 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->functions[mid].start <= address - s->first)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int function_starts_find(const struct function_starts *s, uint64_t address, uint64_t *ret_start,
			 uint64_t *ret_end)
{
	size_t n = upper_bound(s, address);
	const struct function *f;

	if (n == 0)
		return -ENOENT;
	f = &s->functions[n - 1];
	if (address - s->first - f->start >= f->size)
		return -ENOENT;
	*ret_start = s->first + f->start;
	*ret_end = *ret_start + f->size;
	return 0;
}

uint64_t function_starts_next(const struct function_starts *s, uint64_t address)
{
	size_t n = upper_bound(s, address);

	return n < s->n_functions ? s->first + s->functions[n].start : UINT64_MAX;
}
