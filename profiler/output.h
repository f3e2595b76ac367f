/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_OUTPUT_H
#define DP_PROFILER_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/*
 * The file of a report. It is opened before sampling, to report early if it cannot be written; its
 * old content stays until there is something to replace it.
 *
 * A new file is readable by its owner alone, as perf's: stacks and names tell what a program does.
 * Under sudo(8), the owner is the user who called it.
 *
 * A file that is there is written, instead of renaming a temporary one: it may be a pipe, a device
 * or a link, may have readers, or its directory may not be writable. This is so only if the file is
 * this user's or root's and has no other name. In a directory like /tmp, others choose what is
 * there: their links and pipes are refused, and another regular file is made in place of theirs, if
 * the directory allows that.
 */
struct output {
	const char *path;
	bool is_shared; /* with messages: it is stderr */
	FILE *file;
	/* Which file is, or was, at path; the same for all paths to it. */
	dev_t device;
	ino_t inode;
	char *beside; /* until it takes the place of the file at path; NULL: path was opened */
	bool made;    /* the file at path was created here */
	bool begun;
};

/* The file at this path is written in place, at the offset that it shares with other writers. */
#define OUTPUT_STDERR "/dev/stderr"

/*
 * Opens the file, or stdout if path is NULL. `path` must outlive the output. Waits for a pipe's reader until
 * `end` is readable (-1: without end). 0, -EOWNERDEAD for another user's file that stays, -ECANCELED if there
 * is no reader, or -errno.
 */
int output_open(const char *path, int end, struct output *ret);
/* Truncates or replaces the file before the first write. 0 or -errno. */
int output_begin(struct output *output);
/* Leaves that, and the removal of an unused file, to another process. */
void output_leave(struct output *output);
/*
 * Closes the file, and removes it if it was created here and stayed unused. -errno if writing
 * failed.
 */
int output_close(struct output *output);

#endif
