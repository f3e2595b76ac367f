/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_GO_TABLES_H
#define DP_ELF_GO_TABLES_H

#include <libelf.h>

#include "go/go_file.h"

/*
 * Reads an open file's headers for go_file_init() and calls it, with its errors. The caller keeps
 * `elf`, and with it the file's bytes, as long as *ret.
 */
int go_tables_read(Elf *elf, struct go_file *ret);

#endif
