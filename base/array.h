/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_ARRAY_H
#define DP_BASE_ARRAY_H

/*
 * Growth of plain C arrays that are kept as a pointer, a count and an allocated size. uthash's
 * utarray copies through function pointers and loses the element type; these arrays stay typed
 * pointers.
 */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline void *array_grown(void *items, size_t n, size_t *size, size_t element)
{
	size_t want = *size < 8 ? 8 : *size + *size / 2;
	void *p;

	if (n < *size)
		return items;
	p = reallocarray(items, want, element);
	if (p)
		*size = want;
	return p;
}

/* Makes room for one more element. Returns 0, or -ENOMEM with the array unchanged. */
#define array_reserve(items, n, size)                                                              \
	({                                                                                         \
		void *_p = array_grown((items), (n), &(size), sizeof(*(items)));                   \
                                                                                                   \
		if (_p)                                                                            \
			(items) = _p;                                                              \
		_p ? 0 : -ENOMEM;                                                                  \
	})

#endif
