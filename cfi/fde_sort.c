// SPDX-License-Identifier: Apache-2.0
#include "cfi/fde_sort.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

/* What the radix sort moves: an address, and the index of its FDE. */
struct sort_key {
	uint32_t start; /* relative to the lowest one */
	uint32_t fde;
};

#define RADIX_BITS 11
#define RADIX_SIZE (1 << RADIX_BITS)

static int fde_compare(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static unsigned int digit(const struct sort_key *key, unsigned int shift)
{
	return key->start >> shift & (RADIX_SIZE - 1);
}

/* Sorts by all digits in use. *keys is the result; the arrays may be exchanged. */
static void sort_keys(struct sort_key **keys, struct sort_key **scratch, size_t n, uint32_t highest)
{
	struct sort_key *from = *keys, *to = *scratch;

	for (unsigned int shift = 0; shift < 32 && highest >> shift > 0; shift += RADIX_BITS) {
		size_t at[RADIX_SIZE] = { 0 }, sum = 0;
		struct sort_key *swap = from;

		for (size_t i = 0; i < n; i++)
			at[digit(&from[i], shift)]++;
		for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
			size_t count = at[i];

			at[i] = sum;
			sum += count;
		}
		for (size_t i = 0; i < n; i++)
			to[at[digit(&from[i], shift)]++] = from[i];
		from = to;
		to = swap;
	}
	*keys = from;
	*scratch = to;
}

/* Linear and stable: FDEs with equal addresses keep their order. */
static int sort_radix(struct cfi_fde **fdes, size_t n, uint64_t lowest, uint32_t highest)
{
	_cleanup_free_ struct sort_key *keys = reallocarray(NULL, n, sizeof(*keys));
	_cleanup_free_ struct sort_key *scratch = reallocarray(NULL, n, sizeof(*scratch));
	struct cfi_fde *sorted;

	if (!keys || !scratch)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct sort_key){ (uint32_t)((*fdes)[i].start - lowest), (uint32_t)i };
	sort_keys(&keys, &scratch, n, highest);
	free(steal_ptr(scratch)); /* a build needs most memory at this point */
	sorted = reallocarray(NULL, n, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = (*fdes)[keys[i].fde];
	free(*fdes);
	*fdes = sorted;
	return 0;
}

int fde_sort(struct cfi_fde **fdes, size_t n)
{
	uint64_t lowest = UINT64_MAX, highest = 0, last = 0;
	bool is_sorted = true;

	for (size_t i = 0; i < n; i++) {
		uint64_t start = (*fdes)[i].start;

		is_sorted = is_sorted && last <= start;
		last = start;
		if (start < lowest)
			lowest = start;
		if (start > highest)
			highest = start;
	}
	if (is_sorted)
		return 0;
	if (highest - lowest <= UINT32_MAX && n <= UINT32_MAX)
		return sort_radix(fdes, n, lowest, (uint32_t)(highest - lowest));
	qsort(*fdes, n, sizeof(**fdes), fde_compare);
	return 0;
}
