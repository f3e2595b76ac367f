/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_GO_GO_FILE_H
#define DP_GO_GO_FILE_H

#include <libelf.h>
#include <stdint.h>

#include "go/inline_tree.h"
#include "go/pclntab.h"

/*
 * Go's own tables in an ELF file, wherever the linker has put them, stripped or not, and however
 * the file is loaded.
 */

struct go_file {
	struct pclntab table; /* size 0: not a Go file */
	struct go_data data;  /* of functions: go:func.* */
	unsigned int minor;   /* of the Go version, 1.minor, since Go 1.20; 0: not known */
	uint8_t *relocated;   /* owned: a copy of the table with relocated addresses */
};

/*
 * Finds the tables. The caller owns the file's bytes and keeps them as long as *ret. 0, -ENOENT for
 * a file not made by Go's linker, -EBADMSG if its tables cannot be used, -ENOMEM. go_file_done()
 * frees *ret, which is empty on failure.
 */
int go_file_init(struct go_file *ret, Elf *elf);
void go_file_done(struct go_file *file);

#endif
