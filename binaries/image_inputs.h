/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_IMAGE_INPUTS_H
#define DP_BINARIES_IMAGE_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/digest.h"
#include "elf/elf_file.h"
#include "tables/code_reads.h"

/* In bytes: what is copied of a file. Unwind information and code are a part of most files. */
#define IMAGE_INPUTS_MAX (UINT64_C(64) << 20)

/* All that image_build() reads of a file. */
struct image_inputs {
	struct cfi_section cfi;
	struct image_extent code;
	struct code_range *ranges; /* those of `code`, to note what is read */
	uint8_t *bytes;            /* if all bytes are copied; else NULL: they are the file's */
};

/* Those of a file, which stays open. */
struct image_inputs image_inputs_of(const struct elf_file *file);

/*
 * Copies them, so that nobody can change them. Returns 0, and image_inputs_done() releases *ret;
 * -EFBIG, or -ENOMEM.
 */
int image_inputs_copy(const struct elf_file *file, struct image_inputs *ret);
void image_inputs_done(struct image_inputs *inputs);

/* Their number of bytes; UINT64_MAX: more. */
uint64_t image_inputs_size(const struct image_inputs *inputs);

/* The digest of all but the code's bytes: which of them matter, the image tells. */
struct digest image_inputs_describe(const struct image_inputs *inputs);

/*
 * The digest of n reads of the code, of their places and bytes in this order. False: the code does not have them all, or they
 * are more than CODE_READS_MAX or CODE_READS_BYTES_MAX.
 */
bool image_inputs_describe_code(const struct image_inputs *inputs, const struct code_read *reads,
				size_t n, struct digest *ret);

/*
 * Builds the image, and notes what code it reads. The caller frees the reads. Returns as
 * image_build().
 */
int image_inputs_build(const struct image_inputs *inputs, struct code_reads *reads,
		       struct image *ret);

#endif
