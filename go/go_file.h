/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_GO_GO_FILE_H
#define DP_GO_GO_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "go/inline_tree.h"
#include "go/pclntab.h"

/*
 * Go's own tables in an ELF file, wherever the linker has put them, stripped or not, and however
 * the file is loaded.
 */

/* A loaded part of a file, or its dynamic section. */
struct go_segment {
	uint64_t address, size;
	uint64_t offset; /* in the file */
	bool is_writable, is_dynamic;
};

struct go_section {
	const char *name;
	uint64_t address, size;
	uint64_t offset; /* in the file */
};

/* A whole file, and what its headers say (elf/go_tables.h). Nothing of it is checked. */
struct go_source {
	const uint8_t *bytes;
	size_t size;
	struct go_segment *segments; /* in the file's order */
	size_t n_segments, segments_size;
	struct go_section *sections; /* those with a name and bytes */
	size_t n_sections, sections_size;
	bool has_sections; /* of any kind */
};

struct go_file {
	struct pclntab table; /* size 0: not a Go file */
	struct go_data data;  /* of functions: go:func.* */
	unsigned int minor;   /* of the Go version, 1.minor, since Go 1.20; 0: not known */
	uint8_t *relocated;   /* owned: a copy of the table with relocated addresses */
};

/*
 * Finds the tables. The caller keeps the file's bytes as long as *ret, the rest of the source only
 * until this returns. 0, -ENOENT for
 * a file not made by Go's linker, -EBADMSG if its tables cannot be used, -ENOMEM. go_file_done()
 * frees *ret, which is empty on failure.
 */
int go_file_init(struct go_file *ret, const struct go_source *source);
void go_file_done(struct go_file *file);

#endif
