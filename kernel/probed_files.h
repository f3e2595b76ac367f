/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_PROBED_FILES_H
#define DP_KERNEL_PROBED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct uprobe_places;

/*
 * The files that probes are set in, as they were when their functions were looked up. Probes stay in them, whatever
 * has their paths later.
 */
struct probed_file {
	char *path;
	int fd;
	struct stat at;
	bool has_path; /* it was found at that path; for a process elsewhere, another file may be there */
};

struct probed_files {
	struct probed_file *of;
	size_t n, size;
};

enum probed_change {
	PROBED_SAME,
	PROBED_WRITTEN,  /* its code may be another one, and the probes' places */
	PROBED_REPLACED, /* another file has its path, or none */
};

/* by_path: also look whether another file gets its path, where that is one of this process's. 0 or a negative errno. */
int probed_files_add(struct probed_files *files, const struct uprobe_places *places, bool by_path);
void probed_files_done(struct probed_files *files);

enum probed_change probed_file_change(const struct probed_file *file);
/* What it means for hits, to be said of the file; NULL: nothing. */
const char *probed_change_explain(enum probed_change change);
/* Warns of each that has changed. */
void probed_files_say_changed(const struct probed_files *files);

#endif
