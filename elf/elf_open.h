/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_OPEN_H
#define DP_ELF_ELF_OPEN_H

#include <libelf.h>
#include <stddef.h>

#include "base/cleanup.h"

/*
 * The one place where libelf opens files. What it returns is an ELF file, of any class, machine
 * and type, whose other contents are unchecked. The caller ends it with elf_end(), or has
 * _cleanup_elf_ do so. All return NULL if it is no ELF file (an archive is none), or cannot be read.
 */

/*
 * Map the file behind fd, so that only those pages are read that somebody looks at. If it is cut
 * off while it is open, pages behind its new end read as zeros: where bus_guard_install() was
 * called, else SIGBUS ends the process. The descriptor stays the caller's, and has to stay open
 * until elf_end(), or elf_cntl(ELF_C_FDREAD).
 */
Elf *elf_open(int fd);

/*
 * The same, by reading: for who needs headers only. What was cut off is an error then, and no
 * signal, so that it works without the guard.
 */
Elf *elf_open_unmapped(int fd);

/* A file in memory, which stays the caller's and has to outlive the handle. */
Elf *elf_open_memory(const void *bytes, size_t size);

static inline void elf_endp(Elf **elf)
{
	elf_end(*elf);
}
#define _cleanup_elf_ _cleanup_(elf_endp)

#endif
