/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_OPEN_H
#define DP_ELF_ELF_OPEN_H

#include <libelf.h>
#include <stddef.h>

#include "base/cleanup.h"

/*
 * The only place that opens files with libelf. Each function returns an ELF file of any class,
 * machine and type whose other contents are unchecked. The caller calls elf_end() or uses
 * _cleanup_elf_. Returns NULL if it cannot be read or is no ELF file; an archive is none.
 */

/*
 * Maps the file behind fd, so only pages that are accessed are read. If it is truncated while open,
 * pages behind its new end read as zeros after bus_guard_install(); otherwise SIGBUS ends the
 * process. The caller keeps the descriptor, and keeps it open until elf_end() or
 * elf_cntl(ELF_C_FDREAD).
 */
Elf *elf_open(int fd);
/* The same one of elf_open(), which counts its users: each calls elf_end(). */
Elf *elf_open_again(Elf *elf);

/*
 * The same, but reads the file, for callers that need only headers. Truncation is then an error,
 * not a signal, so the guard is not needed.
 */
Elf *elf_open_unmapped(int fd);

/* A file in memory, which the caller keeps until after elf_end(). */
Elf *elf_open_memory(const void *bytes, size_t size);

static inline void elf_endp(Elf **elf)
{
	elf_end(*elf);
}
#define _cleanup_elf_ _cleanup_(elf_endp)

#endif
