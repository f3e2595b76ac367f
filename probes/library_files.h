/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_LIBRARY_FILES_H
#define DP_PROBES_LIBRARY_FILES_H

#include <sys/types.h>

#include "kernel/uprobe_places.h"
#include "limits/limits.h"

struct parsers;
struct process_table;
struct target;

/* The files of a library that processes have mapped: each container may have its own. */
struct library_file {
	char *path; /* as a process sees it */
	int fd;     /* of the file, or only a reference */
	uid_t user; /* whose process has mapped it */
};

struct library_files {
	struct library_file of[LIBRARY_MAX_FILES];
	size_t n;
};

/*
 * Those of lib:NAME in the processes that are sampled. None, if the path is no such name, and of all
 * processes or a command, or if mappings are not looked at, for which the dynamic linker's file is taken
 * (elf/loader.h). Warns of those that are left out because they cannot be read, or are not read yet. Logs
 * errors. 0; -ENOENT: no process maps one; -EACCES, -EAGAIN, -EMFILE: only such; -E2BIG: too many; or
 * another negative errno. library_files_done() frees
 * *ret, also then.
 */
int library_files_find(const struct process_table *processes, const struct target *target,
		       const char *path, struct library_files *ret);
void library_files_done(struct library_files *files);

/* Warns of processes that have another file at a probe's path, such as those of containers: it has no probe. */
void library_files_say_others(const struct process_table *processes,
			      const struct uprobe_places *places);

/* Opens this file, whatever the path, for its user. It explains errors as another reader does. */
struct library_reader {
	const struct uprobe_reader *base;
	struct parsers *parsers;
	const struct library_file *file;
};

struct uprobe_reader library_reader_of(const struct library_reader *reader);

#endif
