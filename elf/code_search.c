// SPDX-License-Identifier: Apache-2.0
#include "elf/code_search.h"

#include <errno.h>
#include <string.h>

#include "cfi/index.h"
#include "elf/elf_symbols.h"

bool code_has(const struct elf_file *file, uint64_t start, uint64_t end, uint32_t constant,
	      uint32_t ignored)
{
	const uint8_t *code = start < end ? elf_bytes_at(file, start, end - start) : NULL;
	uint32_t value;

	for (uint64_t i = 0; code && i + sizeof(value) <= end - start; i++) {
		memcpy(&value, code + i, sizeof(value));
		if (((value ^ constant) & ~ignored) == 0)
			return true;
	}
	return false;
}

static int each(const struct elf_file *file, code_function_fn fn, void *arg)
{
	uint64_t searched = 0;
	struct cfi_index index;
	int err = cfi_index_init(&index, &file->cfi);

	if (err < 0)
		return err;
	for (size_t i = 0; err == 0 && i < index.n_fdes; i++) {
		uint64_t start = index.fdes[i].start, end = index.fdes[i].end;

		/* In a forged file, all may be the same code. */
		if (start < searched || start >= end)
			continue;
		searched = end;
		err = fn(arg, start, end);
	}
	cfi_index_done(&index);
	return err;
}

struct search {
	const struct elf_file *file;
	uint32_t constant, ignored;
	code_function_fn fn;
	void *arg;
};

static int on_function(void *arg, uint64_t start, uint64_t end)
{
	const struct search *s = arg;

	return code_has(s->file, start, end, s->constant, s->ignored) ? s->fn(s->arg, start, end) :
									0;
}

int code_each_with(const struct elf_file *file, uint32_t constant, uint32_t ignored,
		   code_function_fn fn, void *arg)
{
	return each(file, on_function, &(struct search){ file, constant, ignored, fn, arg });
}

struct callers {
	const struct elf_file *file;
	uint64_t to;
	uint64_t start, end; /* of the one that was found; 0: none */
};

static int on_caller(void *arg, uint64_t start, uint64_t end)
{
	struct callers *c = arg;
	const uint8_t *code = elf_bytes_at(c->file, start, end - start);

	if (!code || (c->to >= start && c->to < end) ||
	    !code_calls(code, end - start, start, c->to))
		return 0;
	if (c->end != 0)
		return -EMLINK;
	c->start = start;
	c->end = end;
	return 0;
}

int code_find_caller(const struct elf_file *file, uint64_t address, uint64_t *ret_start,
		     uint64_t *ret_end)
{
	struct callers callers = { .file = file, .to = address };
	int err = each(file, on_caller, &callers);

	if (err < 0)
		return err;
	*ret_start = callers.start;
	*ret_end = callers.end;
	return callers.end != 0 ? 0 : -ENOENT;
}
