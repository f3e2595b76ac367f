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
 * The image of one binary: its unwind information in the form that the kernel searches (struct
 * dp_image). Built once, never changed.
 */

/* Refused rows: how many, and how many bytes of code they cover. */
struct image_refused {
	uint64_t rows;
	uint64_t bytes;
};

struct image_stats {
	uint64_t n_fdes;
	uint64_t n_rows;  /* in the image, including gaps */
	uint64_t covered; /* bytes of code with a rule */
	uint32_t n_rules;
	uint64_t n_bad_records; /* records of the section that are unreadable */
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

/* What else is known of a file's code. */
struct image_input {
	uint64_t start, end; /* addresses that may have code; FDEs outside are ignored */
	uint64_t entry;      /* entry point, 0: none */
	/* The available bytes of the code, by address; owned by the caller */
	const struct code_range *ranges;
	size_t n_ranges;
	/*
	 * Another section, for addresses without an FDE in the first; owned by the caller. Size 0:
	 * none
	 */
	struct cfi_section fallback;
	/*
	 * Go's own table: for addresses without an FDE, and for functions with wrong FDEs. Size 0:
	 * none
	 */
	struct pclntab go;
	unsigned int go_minor; /* of its Go version, 1.minor; 0: not known */
	/* The runtime of a language that it contains; owned by the caller */
	const struct dp_runtime_image *runtime;
	unsigned int runtime_kind; /* as in struct dp_image */
	/* By what its threads publish labels (elf/elf_labels.h), as in struct dp_image; or NONE and 0 */
	unsigned int labels_form;
	unsigned int other_labels;
	struct dp_tls variable;
};

/*
 * Builds the image of a section of unwind information. Rows that cannot be expressed, and gaps,
 * become rows that end a walk with a specific outcome. Known code in gaps, and functions whose
 * unwind information is known to be wrong, get the known rules. Returns 0, -ENOMEM, -EFBIG for a
 * file whose code spans 4 GiB or more or whose section is too large for cfi_index_init(), or
 * -ENODATA if there is neither an FDE nor known code. image_done() frees *ret.
 */
int image_build(const struct cfi_section *section, const struct image_input *input,
		struct image *ret);
void image_done(struct image *image);

#endif
