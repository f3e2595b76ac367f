/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_NEEDED_H
#define DP_ELF_ELF_NEEDED_H

#include <stddef.h>

/*
 * What an ELF file asks the dynamic linker for, as in its dynamic section (gABI, "Dynamic
 * Section"): plain strings that refer neither to the file nor to memory mapped from it.
 */
struct elf_needed {
	char *interpreter; /* NULL: none */
	char *run_path;    /* DT_RUNPATH, else DT_RPATH: separated by colons; NULL: none */
	char **libraries;  /* DT_NEEDED, in the file's order */
	size_t n_libraries, libraries_size;
};

/*
 * Reads them from the file behind fd, which the caller keeps. A file without any is no error. 0,
 * -ENOMEM, or -ENOEXEC if it is no ELF file. elf_needed_done() frees *ret, which is empty on failure.
 */
int elf_needed_init(struct elf_needed *ret, int fd);
void elf_needed_done(struct elf_needed *needed);

#endif
