/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_RECORDING_LIST_H
#define DP_CLI_RECORDING_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The recordings in a directory, as `dwarfprof agent' keeps them, in order of their names. */
struct recording_list {
	struct listed_recording {
		char *path;
		dev_t device; /* of the file, which may be out of reach once rights are given up */
		ino_t inode;
		int fd;               /* owned; -1: it is not open */
		bool is_one_too_many; /* to be opened ahead */
	} * of;
	size_t n, size;
};

/*
 * Lists those that may have samples from a period (CLOCK_REALTIME; to_ns 0: no end), by the start times in their names
 * and by their modification times. 0, -ENOENT if there are none, or another negative errno.
 */
int recording_list_read(const char *directory, uint64_t from_ns, uint64_t to_ns,
			struct recording_list *ret);
/* Opens them in advance, for a process that cannot later; not so many that they take most descriptors. */
void recording_list_open(struct recording_list *list);
void recording_list_done(struct recording_list *list);

#endif
