/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_USDT_H
#define DP_ELF_ELF_USDT_H

#include <stdint.h>

/* A note of <sys/sdt.h>: one place of a USDT probe. Its texts live as long as the call with it. */
struct elf_usdt {
	uint64_t offset;    /* of the instruction, in the file */
	uint64_t semaphore; /* offset in the file of the counter of its watchers; 0: none */
	const char *provider, *name, *arguments; /* printable */
};

/* Nonzero ends the search. */
typedef int (*elf_usdt_fn)(void *arg, const struct elf_usdt *note);

/*
 * The notes in .note.stapsdt, the first such section, of the file behind fd, which the caller keeps,
 * without damaged ones. Returns 0, the first nonzero result of fn, or -ENOEXEC if it is no ELF file of
 * 64 bits.
 */
int elf_usdt_each(int fd, elf_usdt_fn fn, void *arg);

#endif
