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
	dev_t device; /* of the file system; some have files of others, stat(2) does */
	uint64_t inode;
	bool executable;
	/*
	 * The path, also of a deleted file, or "[vdso]" and the like, or "". Valid until the next
	 * call.
	 */
	const char *name;
};

struct proc_maps {
	FILE *file;
	char *line;
	size_t line_size;
};

/*
 * Opens a process's maps: those of others may be locked (sandbox/list_fetchers.h). Returns 0,
 * -ESRCH if the process does not exist or has ended, -EACCES if its maps may not be read, or
 * another negative errno.
 */
int proc_maps_open(struct proc_maps *ret, pid_t pid);
void proc_maps_close(struct proc_maps *maps);

/* Reads the next line. Returns 1, 0 at the end, or a negative errno. */
int proc_maps_next(struct proc_maps *maps, struct proc_map *ret);

/* Reads a line without its end, which is changed: the name is in it. 0 or -EBADMSG. */
int proc_map_parse(char *line, struct proc_map *ret);

/*
 * Removes the suffix " (deleted)", which the kernel appends to the path of a deleted file
 * (d_path()). A file whose name really ends so loses that part; it can still be opened through
 * /proc/PID/map_files.
 */
void proc_maps_strip_deleted(char *path);

#endif
