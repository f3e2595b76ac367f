/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_MAPPING_LIST_H
#define DP_PROCESS_MAPPING_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/proc_maps.h"

/*
 * The list of a process's mappings, /proc/PID/maps, in memory. It comes from a fetcher, which
 * somebody may have taken over, so it can be anything.
 */
struct mapping_list {
	char *at, *end; /* what is not read yet, which is changed */
	uint64_t past;  /* the end of the last mapping */
};

/*
 * The longest line: a path has at most a page, of which each byte can be written as four
 * (mangle_path(), fs/seq_file.c).
 */
#define MAPPING_LIST_LINE (4u * 4096 + 256)

/* bytes: the caller's, which the list changes. */
void mapping_list_init(struct mapping_list *ret, char *bytes, size_t size);

/*
 * Reads the next mapping. Its name is valid as long as the bytes are. Returns 1, 0 at the end, or
 * -EBADMSG: this is no such list. Mappings are in order, do not overlap, and none is empty: the
 * kernel writes a page at a time, and a mapping that was joined meanwhile with the one before it
 * begins where that one began (m_start(), fs/proc/task_mmu.c).
 */
int mapping_list_next(struct mapping_list *list, struct proc_map *ret);

#endif
