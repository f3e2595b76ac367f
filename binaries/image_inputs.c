// SPDX-License-Identifier: Apache-2.0
#include "binaries/image_inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Each part begins where any of the machine's words may. */
#define ALIGN 16

struct image_inputs image_inputs_of(const struct elf_file *file)
{
	return (struct image_inputs){ .cfi = file->cfi,
				      .code = file->code,
				      .ranges = file->ranges };
}

static bool add_size(uint64_t *sum, uint64_t size)
{
	return !__builtin_add_overflow(*sum, size, sum) &&
	       !__builtin_add_overflow(*sum, ALIGN - 1, sum);
}

uint64_t image_inputs_size(const struct image_inputs *inputs)
{
	const struct image_extent *code = &inputs->code;
	uint64_t size = 0;
	bool is_fine = add_size(&size, inputs->cfi.size) && add_size(&size, code->beside.size) &&
		       add_size(&size, code->go.size);

	for (size_t i = 0; is_fine && i < code->n_ranges; i++)
		is_fine = add_size(&size, code->ranges[i].size);
	return is_fine ? size : UINT64_MAX;
}

/* Returns the copy, and where the next one begins. */
static const uint8_t *copy_part(uint8_t **at, const uint8_t *from, uint64_t size)
{
	uint8_t *copy = *at;

	if (size > 0)
		memcpy(copy, from, size);
	*at += (size + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	return copy;
}

int image_inputs_copy(const struct elf_file *file, struct image_inputs *ret)
{
	struct image_inputs inputs = image_inputs_of(file);
	const size_t n = file->code.n_ranges;
	uint64_t size = image_inputs_size(&inputs);
	uint8_t *at;

	if (size > IMAGE_INPUTS_MAX)
		return -EFBIG;
	inputs.bytes = at = malloc(size ? size : 1);
	inputs.ranges = calloc(n ? n : 1, sizeof(*inputs.ranges));
	if (!inputs.bytes || !inputs.ranges) {
		free(inputs.bytes);
		free(inputs.ranges);
		return -ENOMEM;
	}
	inputs.cfi.data = copy_part(&at, inputs.cfi.data, inputs.cfi.size);
	inputs.code.beside.data = copy_part(&at, inputs.code.beside.data, inputs.code.beside.size);
	inputs.code.go.data = copy_part(&at, inputs.code.go.data, inputs.code.go.size);
	for (size_t i = 0; i < n; i++) {
		const struct code_range *r = &file->ranges[i];

		inputs.ranges[i] = (struct code_range){
			.address = r->address,
			.size = r->size,
			.bytes = copy_part(&at, r->bytes, r->size),
		};
	}
	inputs.code.ranges = inputs.ranges;
	*ret = inputs;
	return 0;
}

void image_inputs_done(struct image_inputs *inputs)
{
	if (inputs->bytes)
		free(inputs->ranges);
	free(inputs->bytes);
	*inputs = (struct image_inputs){ 0 };
}

static void add_section(struct sha256_ctx *ctx, const struct cfi_section *section)
{
	const uint64_t facts[] = { section->address, section->size, section->debug_frame };

	digest_add(ctx, facts, sizeof(facts));
	digest_add(ctx, section->data, section->size);
}

/* The header may have changed since its words were read, so the data does not stand for them. */
static void add_go(struct sha256_ctx *ctx, const struct image_extent *code)
{
	const struct pclntab *t = &code->go;
	const uint64_t facts[] = { t->size,  t->layout, t->text,  code->go_minor, t->n_functions,
				   t->names, t->units,  t->files, t->values,      t->functions };

	digest_add(ctx, facts, sizeof(facts));
	digest_add(ctx, t->data, t->size);
}

struct digest image_inputs_describe(const struct image_inputs *inputs)
{
	const struct image_extent *code = &inputs->code;
	const uint64_t facts[] = { code->start, code->end, code->entry, code->n_ranges };
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	digest_add(&ctx, facts, sizeof(facts));
	for (size_t i = 0; i < code->n_ranges; i++) {
		const struct code_range *r = &code->ranges[i];

		digest_add(&ctx, (uint64_t[]){ r->address, r->size }, 2 * sizeof(uint64_t));
	}
	add_section(&ctx, &inputs->cfi);
	add_section(&ctx, &code->beside);
	add_go(&ctx, code);
	return digest_finish(&ctx);
}

/* Number of reads to prefetch: nearly each one is in a cache line of its own. */
#define AHEAD 16

static void fetch_ahead(const struct image_extent *code, const struct code_read *reads, size_t n)
{
	if (n > AHEAD && reads[AHEAD].range < code->n_ranges)
		__builtin_prefetch(code->ranges[reads[AHEAD].range].bytes + reads[AHEAD].offset);
}

bool image_inputs_describe_code(const struct image_inputs *inputs, const struct code_read *reads,
				size_t n, struct digest *ret)
{
	const struct image_extent *code = &inputs->code;
	struct sha256_ctx ctx;
	uint64_t bytes = 0;

	if (n > CODE_READS_MAX)
		return false;
	sha256_init(&ctx);
	digest_add(&ctx, reads, n * sizeof(*reads));
	for (size_t i = 0; i < n; i++) {
		const struct code_read *r = &reads[i];

		bytes += r->size;
		if (bytes > CODE_READS_BYTES_MAX)
			return false;
		fetch_ahead(code, r, n - i);
		if (r->range >= code->n_ranges ||
		    (uint64_t)r->offset + r->size > code->ranges[r->range].size)
			return false;
		digest_add(&ctx, code->ranges[r->range].bytes + r->offset, r->size);
	}
	*ret = digest_finish(&ctx);
	return true;
}

int image_inputs_build(const struct image_inputs *inputs, struct code_reads *reads,
		       struct image *ret)
{
	const size_t n = inputs->code.n_ranges;
	int err;

	reads->ranges = inputs->ranges;
	for (size_t i = 0; i < n; i++)
		inputs->ranges[i].reads = reads;
	err = image_build(&inputs->cfi, &inputs->code, ret);
	for (size_t i = 0; i < n; i++)
		inputs->ranges[i].reads = NULL;
	return err;
}
