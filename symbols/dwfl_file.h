/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DWFL_FILE_H
#define DP_SYMBOLS_DWFL_FILE_H

#include <elfutils/libdwfl.h>
#include <stddef.h>

#include "base/cleanup.h"

struct names;

/* One ELF file opened by libdwfl, which also searches for its separate debug files. */

DEFINE_CLEANUP(Dwfl *, dwfl_end)
#define _cleanup_dwfl_ _cleanup_(dwfl_endp)

/* Where the file is. The caller keeps everything in it. */
struct dwfl_source {
	struct names *names; /* whose servers are asked, until names_disable() */
	int fd;              /* negative: the file is in memory, which must stay valid */
	const void *memory;
	size_t size;
	const char *path;  /* for the search for a separate debug file */
	int debug_fd;      /* its debug file, used if libdwfl finds none; 0: none */
	uint32_t *awaited; /* debug_server_fetch(); NULL: it is not wanted */
};

/*
 * Opens a file. Searches for its separate debug file in the build-id directories, next to the file
 * by its .gnu_debuglink, in source->debug_fd, and on servers (debug_server.h). A debug file whose
 * sections would take too much memory (decompressed.h) counts as not found. Returns 0, -ENOEXEC if
 * libdwfl cannot read the file, or -ENOMEM.
 */
int dwfl_file_open(const struct dwfl_source *source, Dwfl **ret, Dwfl_Module **ret_module);

#endif
