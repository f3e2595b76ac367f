/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_PROC_MAPS_H
#define DP_KERNEL_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* One line of /proc/PID/maps (proc(5)). */
struct proc_map {
	uint64_t start, end; /* end exclusive */
	uint64_t offset;
	uint64_t inode;
	bool executable;
	/*
	 * Path, also of a file that has been deleted, "[vdso]" and the like, or
	 * ""; valid until the next call.
	 */
	const char *name;
};

struct proc_maps {
	FILE *file;
	char *line;
	size_t line_size;
};

/*
 * Open the maps of a process. Returns 0, -ESRCH if there is no such process
 * or it has ended, -EACCES if its maps may not be read, or another errno.
 */
int proc_maps_open(struct proc_maps *ret, pid_t pid);
void proc_maps_close(struct proc_maps *maps);

/* Read the next line: 1, 0 at the end, or a negative errno. */
int proc_maps_next(struct proc_maps *maps, struct proc_map *ret);

/*
 * The kernel ends the path of a deleted file with " (deleted)" (d_path()): take
 * that off. A file that is really called so loses the end of its name; it is
 * opened through /proc/PID/map_files all the same.
 */
void proc_maps_strip_deleted(char *path);

#endif
