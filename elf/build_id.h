/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_BUILD_ID_H
#define DP_ELF_BUILD_ID_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

/* A file's build id (NT_GNU_BUILD_ID). The bytes live as long as libelf's handle. */
struct build_id {
	const uint8_t *bytes;
	size_t size;      /* truncated to what ELF_BUILD_ID_SIZE allows */
	uint64_t address; /* 0: it is not loaded */
};

/*
 * Finds it among the notes of a file's sections or, if it has no sections, of its program headers.
 * False: there is none.
 */
bool build_id_find(Elf *elf, struct build_id *ret);

/* In hex, as in struct elf_file. */
void build_id_print(const struct build_id *id, char ret[ELF_BUILD_ID_SIZE]);

#endif
