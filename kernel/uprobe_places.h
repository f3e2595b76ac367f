/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_UPROBE_PLACES_H
#define DP_KERNEL_UPROBE_PLACES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "functions/function_search.h"

#define UPROBE_LINK_SIZE 32

/*
 * Entries of functions of a file, or its USDT probes. Starts as UPROBE_PLACES_NONE. Probes are set in the file that
 * was searched, even if the path names another file later.
 */
struct uprobe_places {
	char path[PATH_MAX];
	int fd;                      /* of the file; -1: none */
	struct stat file;            /* by file_stat(), before it was searched */
	char link[UPROBE_LINK_SIZE]; /* a path of the very file, while it is open */
	uint64_t *offsets;           /* in the file, each once; of functions ascending */
	uint64_t *cookies;           /* of each, for the program; NULL: 0. The owner's to set */
	/* Offsets in the file of their semaphores, which count the watchers; 0: none; NULL: none at all */
	uint64_t *counters;
	size_t n, size;
	size_t n_more; /* offsets, with cookies, behind these that are probed as well */
	struct function_list functions; /* at these places; of USDT probes, none */
	bool are_returns; /* where the functions have returned to, not where they begin */
};

#define UPROBE_PLACES_NONE                                                                         \
	(struct uprobe_places)                                                                     \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/*
 * How files are opened and read, possibly in another process. `open` returns a descriptor or a negative errno:
 * -ESTALE: not a regular file; -EREMOTE: on a file system that might block the kernel, which reads the code that it
 * probes; -ETIMEDOUT, -EBUSY: the file system does not answer now. `list` does function_search(); `explain` returns
 * what its error means.
 */
struct uprobe_reader {
	int (*open)(void *arg, const char *path);
	int (*list)(void *arg, int fd, const struct function_query *query,
		    struct function_list *ret);
	const char *(*explain)(int err);
	void *arg;
	uid_t user; /* who has given the files, and pays for what reads them; 0: this program */
};

/*
 * Finds all functions of a file that a name stands for (function_search()) in its symbol tables. A
 * file name without a slash is searched like a program, or like a library if it contains ".so";
 * lib:NAME is the library that the dynamic linker would load. On failure, logs the reason and returns a negative
 * errno: the error of opening the file, -ENOEXEC if it is not an ELF file, -ENOENT if it has no such function,
 * -E2BIG if it has too many.
 * Without a reader, this process opens and reads the file.
 */
int uprobe_places_find(const char *file, const char *function, const struct uprobe_reader *reader,
		       struct uprobe_places *ret);
/*
 * Opens a file that is found in the same way: there are no places yet. 0, or a negative errno, logged.
 */
int uprobe_places_open(const char *file, const struct uprobe_reader *reader,
		       struct uprobe_places *ret);
void uprobe_places_done(struct uprobe_places *places);
#define _cleanup_uprobe_places_ _cleanup_(uprobe_places_done)

#endif
