/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_CLEANUP_H
#define DP_BASE_CLEANUP_H

/*
 * Ownership by scope: a variable with one of these attributes releases its object at the end of its
 * scope. steal_ptr() and steal_fd() transfer ownership.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

/* Defines the function for _cleanup_() from a function that takes the pointer itself. */
#define DEFINE_CLEANUP(type, func)                                                                 \
	static inline void func##p(type *p)                                                        \
	{                                                                                          \
		if (*p)                                                                            \
			func(*p);                                                                  \
	}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

DEFINE_CLEANUP(FILE *, fclose)
DEFINE_CLEANUP(DIR *, closedir)

#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(fclosep)
#define _cleanup_closedir_ _cleanup_(closedirp)

/* Gives up ownership of *p and returns the old value. */
#define steal_ptr(p)                                                                               \
	({                                                                                         \
		__typeof__(p) *_pp = &(p);                                                         \
		__typeof__(p) _v = *_pp;                                                           \
		*_pp = NULL;                                                                       \
		_v;                                                                                \
	})

static inline int steal_fd(int *fd)
{
	int v = *fd;

	*fd = -1;
	return v;
}

#endif
