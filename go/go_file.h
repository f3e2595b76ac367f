/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_GO_GO_FILE_H
#define DP_GO_GO_FILE_H

#include <libelf.h>
#include <stdint.h>

#include "go/inline_tree.h"
#include "go/pclntab.h"

/*
 * Go's own tables in an ELF file: where the linker put them, whatever was stripped, and
 * however the file is loaded.
 */

struct go_file {
	struct pclntab table; /* size 0: the file is none of Go's */
	struct go_data data;  /* of functions: go:func.* */
	unsigned int minor;   /* since Go 1.20, of the Go that made it, 1.minor; 0: not known */
	uint8_t *relocated;   /* owned: a copy of the table, where addresses in it were relocated */
};

/*
 * Find them. The file's bytes stay the caller's, and are used as long as *ret is. 0, -ENOENT
 * for a file that Go's linker has not made, -EBADMSG if its tables cannot be used, -ENOMEM.
 * go_file_done() releases *ret, which is empty on failure.
 */
int go_file_init(struct go_file *ret, Elf *elf);
void go_file_done(struct go_file *file);

#endif
