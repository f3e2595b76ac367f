/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_IMAGE_SOURCE_H
#define DP_BINARIES_IMAGE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "binaries/image_inputs.h"
#include "cache/digest.h"
#include "cache/steady_file.h"

/*
 * What an image was made of: the identity of a steady file (cache/steady_file.h), or the digest of
 * what image_build() has read of a copy. The bytes that a file has now say nothing about an image
 * that was made of it before. Nothing changes but the number of users.
 */
struct image_source {
	bool is_steady;
	struct file_identity identity; /* if it is steady */
	uint64_t size;                 /* else of all inputs, in bytes */
	struct digest facts;           /* image_inputs_describe() */
	struct digest code;            /* image_inputs_describe_code() of these: */
	struct code_reads reads;
	bool is_kept; /* image_source_keep() */
	unsigned int n_users;
};

/* In bytes: the lists of reads of all sources that are kept. */
#define IMAGE_SOURCES_MAX (UINT64_C(64) << 20)

/* Each has one user. NULL: memory is short. */
struct image_source *image_source_new_steady(const struct file_identity *identity);
/* Of copied inputs, with the digests of both kinds. Takes over the reads, even on failure. */
struct image_source *image_source_new(const struct image_inputs *inputs, const struct digest *facts,
				      const struct digest *code, struct code_reads *reads);

/* Adds a user, or removes one; the last one frees it. NULL is allowed. Callable from any thread. */
struct image_source *image_source_hold(struct image_source *source);
/* Returns NULL. */
struct image_source *image_source_drop(struct image_source *source);

/*
 * Keeps a source as long as it has users, for a table. Returns it; or NULL if it would be too large
 * with the others: then it is dropped, and the table is not shared.
 */
struct image_source *image_source_keep(struct image_source *source);

/* Whether both are of the same kind, and images of both are equal. */
bool image_source_is_same(const struct image_source *a, const struct image_source *b);

/*
 * Whether the image of an open file would be equal, by the bytes that it has now. False for the
 * source of a steady file.
 */
bool image_source_fits(const struct image_source *source, const struct elf_file *file);

#endif
