/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_TABLE_VIEW_H
#define DP_SANDBOX_TABLE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "tables/image.h"

/*
 * A view of a file's unwind table, in one piece of memory without pointers, so that the process that reads
 * the file can send it:
 *
 *     | struct table_view | struct table_section * n_sections | struct image_refusal * n_refusals |
 *     | text of the rows |
 */

/* Longer names of sections are cut off. */
#define TABLE_SECTION_NAME_SIZE 128
#define TABLE_LABELS_SIZE 512

/* A section of code. */
struct table_section {
	char name[TABLE_SECTION_NAME_SIZE]; /* any bytes */
	uint64_t address, size;
	uint64_t covered; /* bytes with a rule */
};

struct table_view {
	char build_id[ELF_BUILD_ID_SIZE]; /* "" if there is none */
	char packer[8];                   /* the packer's name (packed.h); "" if it is not packed */
	char labels[32];                  /* image_labels_word() */
	char labels_at[TABLE_LABELS_SIZE]; /* where they are: image_labels_print() */
	uint32_t source;                   /* enum elf_source */
	uint32_t is_debug_frame;           /* 0 or 1: so is its format */
	uint64_t source_size, beside_size; /* of it, and of a .debug_frame beside an .eh_frame */
	uint64_t build_ns;
	uint64_t image_size;                /* in bytes; 0 if the file has no unwind information */
	uint64_t n_rows;                    /* as image_for_each_row() counts them */
	uint64_t code_bytes, covered_bytes; /* totals of all sections */
	struct image_stats stats;
	uint64_t n_sections, n_refusals;
	uint64_t rows_size; /* of the text */
};

enum table_rows {
	TABLE_NO_ROWS,
	TABLE_ROWS,          /* as image_row_print() writes them */
	TABLE_ROWS_WITH_REGS /* with the other registers */
};

/*
 * Builds the table of a file, which is empty if it has no unwind information. The caller frees *ret, of
 * *ret_size bytes. 0 or an error of image_build().
 */
int table_view_make(const struct elf_file *file, enum table_rows rows, struct table_view **ret,
		    size_t *ret_size);

const struct table_section *table_view_sections(const struct table_view *view);
/* In ascending order. */
const struct image_refusal *table_view_refusals(const struct table_view *view);
/* Of rows_size bytes, with a newline behind each row. */
const char *table_view_rows(const struct table_view *view);

/*
 * Whether `size` bytes from an untrusted process are a valid view: all its parts lie in them, and text is
 * terminated and, except names of sections, printable.
 */
bool table_view_is_sound(const struct table_view *view, size_t size);

#endif
