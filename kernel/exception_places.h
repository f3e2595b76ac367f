/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_EXCEPTION_PLACES_H
#define DP_KERNEL_EXCEPTION_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "kernel/exception_probes.h"

/* Where a file has the probes of a C++ runtime, or of an allocator. */
struct exception_places {
	struct stat file;
	bool is_overlay; /* the file is what an overlay shows */
	/* Places, of which the first are also of returns, and of the last are only instructions that return */
	size_t n, n_returns, n_exits;
	uint64_t offsets[ALLOCATOR_PLACES], counters[ALLOCATOR_PLACES];
	uint64_t cookies[ALLOCATOR_PLACES];
};

#define EXCEPTION_LINKS (2 * ALLOCATOR_PLACES)

/* There are no places yet. */
void exception_places_init(struct exception_places *ret, int fd, const struct stat *file);

/* Does the kernel take their files for the same one? */
bool exception_places_share_file(const struct exception_places *a,
				 const struct exception_places *b);

/* Sets the probes. Fills `links` even on failure. 0 or a negative errno. */
int exception_places_attach(const struct exception_places *places, const struct exception_fds *fds,
			    int fd, int links[EXCEPTION_LINKS]);

#endif
