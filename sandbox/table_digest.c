// SPDX-License-Identifier: Apache-2.0
#include "sandbox/table_digest.h"

#include <nettle/sha2.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "elf/elf_labels.h"
#include "runtimes/runtime.h"

/* Larger code has unwind information, but for gaps; with its bytes, the build id changes, if there is one. */
#define MAX_KNOWN_CODE (64 << 10)

static void add_bytes(struct sha256_ctx *sha, const void *bytes, size_t size)
{
	if (size > 0)
		sha256_update(sha, size, bytes);
}

static void add_numbers(struct sha256_ctx *sha, const uint64_t *numbers, size_t n)
{
	add_bytes(sha, numbers, n * sizeof(*numbers));
}

/* Each begins with its size, so that no two inputs have the same bytes. */
static void add_section(struct sha256_ctx *sha, const struct cfi_section *s)
{
	const uint64_t head[] = { s->size, s->address, s->debug_frame };

	add_numbers(sha, head, ARRAY_SIZE(head));
	add_bytes(sha, s->data, s->size);
}

static void add_go(struct sha256_ctx *sha, const struct pclntab *go, unsigned int minor)
{
	const uint64_t head[] = { go->size, go->text, minor };

	add_numbers(sha, head, ARRAY_SIZE(head));
	add_bytes(sha, go->data, go->size);
}

/* In Go code, any function may load the stack pointer, so its bytes always matter. */
static void add_code(struct sha256_ctx *sha, const struct image_input *code, bool has_build_id)
{
	const uint64_t head[] = { code->start, code->end, code->entry, code->n_ranges };

	add_numbers(sha, head, ARRAY_SIZE(head));
	for (size_t i = 0; i < code->n_ranges; i++) {
		const struct code_range *r = &code->ranges[i];
		bool matters = r->size <= MAX_KNOWN_CODE || code->go.size > 0 || !has_build_id;
		const uint64_t range[] = { r->address, r->size };

		add_numbers(sha, range, ARRAY_SIZE(range));
		add_bytes(sha, r->bytes, matters ? r->size : 0);
	}
}

/* Parts of an image that no runtime uses may differ: then the table is built anew. */
static void add_runtime(struct sha256_ctx *sha, const struct elf_file *file)
{
	struct dp_runtime_image runtime = { 0 };
	const uint64_t kind = runtime_find(file, &runtime);

	add_numbers(sha, &kind, 1);
	if (runtime_is_known((unsigned int)kind))
		add_bytes(sha, &runtime, sizeof(runtime));
}

static void add_labels(struct sha256_ctx *sha, const struct elf_file *file)
{
	struct dp_tls variable;
	unsigned int others;
	const enum dp_labels_form form = elf_labels_find(file, &variable, &others);

	add_numbers(sha, (const uint64_t[]){ form, others }, 2);
	add_bytes(sha, &variable, sizeof(variable));
}

void table_digest(const struct elf_file *file, struct file_digest *ret)
{
	struct sha256_ctx sha;

	sha256_init(&sha);
	add_bytes(&sha, file->build_id, strlen(file->build_id) + 1);
	add_section(&sha, &file->cfi);
	add_section(&sha, &file->code.fallback);
	add_go(&sha, &file->code.go, file->code.go_minor);
	add_code(&sha, &file->code, file->build_id[0] != '\0');
	add_runtime(&sha, file);
	add_labels(&sha, file);
	sha256_digest(&sha, sizeof(ret->bytes), ret->bytes);
}
