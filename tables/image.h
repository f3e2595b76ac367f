/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_IMAGE_H
#define DP_TABLES_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "cfi/entry.h"
#include "go/pclntab.h"
#include "tables/known_code.h"
#include "tables/rule.h"

/*
 * The image of one binary: its unwind information in the form that the kernel
 * searches (struct dp_image and what it leads to). Built once, never changed.
 */

/* What became of the rows that were refused: how many, and how many bytes of code they cover. */
struct image_refused {
	uint64_t rows;
	uint64_t bytes;
};

struct image_stats {
	uint64_t n_fdes;
	uint64_t n_rows;  /* in the image, gaps included */
	uint64_t covered; /* bytes of code with a rule */
	uint32_t n_rules;
	uint64_t n_bad_records; /* records of the section that could not be read */
	struct image_refused refused[RULE_N_REFUSALS];
};

/* A row that the image cannot express. */
struct image_refusal {
	uint64_t start, end; /* in the file's own address space, end exclusive */
	enum rule_refusal why;
	struct cfi_refusal cfi; /* with RULE_CFI: the instruction, else CFI_NONE */
};

struct image {
	uint64_t *cells;
	uint32_t n_cells;
	struct image_stats stats;
	struct image_refusal *refusals; /* in ascending order */
	size_t n_refusals;
};

/* What is known of a file's code from elsewhere. */
struct image_extent {
	uint64_t start, end; /* addresses that may hold code: FDEs outside are left out */
	uint64_t entry;      /* where execution starts, 0: nowhere */
	/* The code's bytes, as far as they are there, by address; the caller's. */
	const struct code_range *ranges;
	size_t n_ranges;
	/* Another section, for where the first one has no FDE; the caller's. Size 0: none */
	struct cfi_section beside;
	/* Go's own table: for where no section has an FDE, and what it knows better. Size 0: none */
	struct pclntab go;
	unsigned int go_minor; /* of the Go that made it, 1.minor; 0: not known */
};

/*
 * Build the image of a section of unwind information. Rows that cannot be
 * expressed, and gaps, become rows of their own that end a walk by name; known
 * code in gaps, and functions whose unwind information is known to be wrong, have the
 * rules that they are known for. Returns 0, -ENOMEM, -EFBIG
 * for a file whose code spans 4 GiB and more, or whose section is too large for
 * cfi_index_init(), or -ENODATA if the extent has neither an FDE nor known code. image_done() releases *ret.
 */
int image_build(const struct cfi_section *section, const struct image_extent *extent,
		struct image *ret);
void image_done(struct image *image);

#endif
