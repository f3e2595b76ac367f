// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf_symbols.h"

static int copy_segments(struct elf_facts *facts, const struct elf_file *file)
{
	size_t n = file->n_segments;

	facts->segments = calloc(n ? n : 1, sizeof(*facts->segments));
	if (!facts->segments)
		return -ENOMEM;
	memcpy(facts->segments, file->segments, n * sizeof(*facts->segments));
	facts->n_segments = n;
	return 0;
}

static int copy_code(struct elf_facts *facts, const struct elf_file *file)
{
	size_t n = file->n_code_sections;

	facts->code = calloc(n ? n : 1, sizeof(*facts->code));
	if (!facts->code)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct elf_section *s = &file->code_sections[i];

		facts->code[i] = (struct elf_code){
			.address = s->address,
			.size = s->size,
			.offset = (uint64_t)(s->bytes - file->bytes),
		};
	}
	facts->n_code = n;
	return 0;
}

static struct elf_origin origin_of(const struct elf_file *file)
{
	struct elf_origin origin = {
		.unwind = { file->source, file->cfi.address, file->cfi.size },
		.go_size = file->go.table.size,
		.start = file->code.start,
		.end = file->code.end,
		.entry = file->code.entry,
	};

	memcpy(origin.build_id, file->build_id, sizeof(origin.build_id));
	return origin;
}

/* Two words of 32 bits and two pointers. */
#define JIT_DESCRIPTOR_SIZE 24

/* As CPython names and fills it (Modules/_asynciomodule.c). */
#define ASYNCIO_SECTION ".AsyncioDebug"
#define ASYNCIO_SIZE 104

int elf_facts_init(struct elf_facts *ret, const struct elf_file *file)
{
	int err;

	*ret = (struct elf_facts){
		.origin = origin_of(file),
		.cookie = file->cookie,
		.cookie_address = file->cookie_address,
		.go_start = file->go_start,
		.go_end = file->go_end,
		.jit_descriptor = elf_symbols_find_variable(file, "__jit_debug_descriptor",
							    JIT_DESCRIPTOR_SIZE),
		.asyncio = elf_find_section(file, ASYNCIO_SECTION, ASYNCIO_SIZE),
	};
	vm_structs_find(file, &ret->vm);
	frame_lists_find(file, &ret->frame_lists);
	snprintf(ret->packer, sizeof(ret->packer), "%s", file->packer ? file->packer : "");
	err = copy_segments(ret, file);
	if (err == 0)
		err = copy_code(ret, file);
	if (err < 0)
		elf_facts_done(ret);
	return err;
}

void elf_facts_done(struct elf_facts *facts)
{
	free(facts->segments);
	free(facts->code);
	*facts = (struct elf_facts){ 0 };
}

int elf_facts_bias(const struct elf_facts *facts, uint64_t start, uint64_t offset, uint64_t *ret)
{
	/*
	 * A mapping starts at a page boundary; the segment's first byte may be anywhere in that
	 * page.
	 */
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < facts->n_segments; i++) {
		const struct elf_segment *s = &facts->segments[i];

		if (!s->executable || offset < (s->offset & ~(page - 1)) ||
		    offset >= s->offset + s->file_size)
			continue;
		*ret = start - offset + s->offset - s->address;
		return 0;
	}
	return -ENOENT;
}

bool elf_facts_begin_code(const struct elf_facts *facts, uint64_t offset)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < facts->n_segments; i++) {
		const struct elf_segment *s = &facts->segments[i];

		if (s->executable && offset == (s->offset & ~(page - 1)))
			return true;
	}
	return false;
}

int elf_facts_code_before(const struct elf_facts *facts, uint64_t end, size_t size,
			  uint64_t *ret_offset, size_t *ret_n)
{
	for (size_t i = 0; i < facts->n_code; i++) {
		const struct elf_code *c = &facts->code[i];
		uint64_t in_code = end - c->address;

		if (in_code == 0 || in_code > c->size)
			continue;
		*ret_n = in_code < size ? in_code : size;
		*ret_offset = c->offset + in_code - *ret_n;
		return 0;
	}
	return -ENOENT;
}
