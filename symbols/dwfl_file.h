/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DWFL_FILE_H
#define DP_SYMBOLS_DWFL_FILE_H

#include <elfutils/libdwfl.h>
#include <stddef.h>

#include "base/cleanup.h"

struct names;

/* One ELF file, opened by libdwfl, which looks for its separate debug files. */

DEFINE_CLEANUP(Dwfl *, dwfl_end)
#define _cleanup_dwfl_ _cleanup_(dwfl_endp)

/* Where a file is. All of it stays the caller's. */
struct dwfl_source {
	struct names *names; /* whose servers are asked, as long as names are wanted */
	int fd;              /* negative: it is in memory, which stays in use */
	const void *memory;
	size_t size;
	const char *path; /* helps to find a separate debug file */
	int debug_fd; /* one that belongs to it, in case that libdwfl finds none; 0: there is none */
};

/*
 * Open a file. Its separate debug file is looked for below the build-id directories, beside
 * the file by its .gnu_debuglink, in source->debug_fd, and on servers (debug_server.h). One
 * whose sections would take too much memory (decompressed.h) is not found.
 * Returns 0, -ENOEXEC for what libdwfl cannot read, or -ENOMEM.
 */
int dwfl_file_open(const struct dwfl_source *source, Dwfl **ret, Dwfl_Module **ret_module);

#endif
