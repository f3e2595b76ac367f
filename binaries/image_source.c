// SPDX-License-Identifier: Apache-2.0
#include "binaries/image_source.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of the reads that are kept, in all threads. */
static uint64_t n_kept;

struct image_source *image_source_new_steady(const struct file_identity *identity)
{
	struct image_source *source = calloc(1, sizeof(*source));

	if (source)
		*source = (struct image_source){ .is_steady = true,
						 .identity = *identity,
						 .n_users = 1 };
	return source;
}

struct image_source *image_source_new(const struct image_inputs *inputs, const struct digest *facts,
				      const struct digest *code, struct code_reads *reads)
{
	struct image_source *source = calloc(1, sizeof(*source));
	struct code_read *list;

	if (!source) {
		code_reads_done(reads);
		return NULL;
	}
	*source = (struct image_source){
		.size = image_inputs_size(inputs),
		.facts = *facts,
		.code = *code,
		.reads = *reads,
		.n_users = 1,
	};
	source->reads.ranges = NULL;
	list = reads->n > 0 ? reallocarray(reads->list, reads->n, sizeof(*list)) : NULL;
	if (list)
		source->reads.list = list;
	*reads = (struct code_reads){ 0 };
	return source;
}

static uint64_t size_of_reads(const struct image_source *source)
{
	return source->reads.n * sizeof(*source->reads.list);
}

struct image_source *image_source_hold(struct image_source *source)
{
	if (source)
		__atomic_add_fetch(&source->n_users, 1, __ATOMIC_RELAXED);
	return source;
}

struct image_source *image_source_drop(struct image_source *source)
{
	if (!source || __atomic_sub_fetch(&source->n_users, 1, __ATOMIC_ACQ_REL) > 0)
		return NULL;
	if (source->is_kept)
		__atomic_sub_fetch(&n_kept, size_of_reads(source), __ATOMIC_RELAXED);
	code_reads_done(&source->reads);
	free(source);
	return NULL;
}

struct image_source *image_source_keep(struct image_source *source)
{
	uint64_t size = source && !source->is_kept ? size_of_reads(source) : 0;

	if (size == 0)
		return source;
	if (__atomic_add_fetch(&n_kept, size, __ATOMIC_RELAXED) > IMAGE_SOURCES_MAX) {
		__atomic_sub_fetch(&n_kept, size, __ATOMIC_RELAXED);
		return image_source_drop(source);
	}
	source->is_kept = true;
	return source;
}

static bool is_same_digest(const struct digest *a, const struct digest *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool image_source_is_same(const struct image_source *a, const struct image_source *b)
{
	if (a->is_steady || b->is_steady)
		return a->is_steady && b->is_steady &&
		       memcmp(&a->identity, &b->identity, sizeof(a->identity)) == 0;
	return is_same_digest(&a->facts, &b->facts) && is_same_digest(&a->code, &b->code);
}

bool image_source_fits(const struct image_source *source, const struct elf_file *file)
{
	const struct image_inputs inputs = image_inputs_of(file);
	struct digest digest;

	if (source->is_steady || image_inputs_size(&inputs) != source->size)
		return false;
	digest = image_inputs_describe(&inputs);
	return is_same_digest(&digest, &source->facts) &&
	       image_inputs_describe_code(&inputs, source->reads.list, source->reads.n, &digest) &&
	       is_same_digest(&digest, &source->code);
}
