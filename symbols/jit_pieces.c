// SPDX-License-Identifier: Apache-2.0
#include "symbols/jit_pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "symbols/demangle.h"

struct head {
	uint64_t start, time;
	uint64_t size; /* of the code; 0: what was at `from` has moved */
	uint64_t from;
	uint32_t name_size, n_lines, files_size; /* with the terminating zeros */
	uint32_t is_demangled;
};

void jit_pieces_done(struct jit_pieces *p)
{
	free(p->bytes);
	*p = (struct jit_pieces){ .bytes = NULL };
}

static int reserve(struct jit_pieces *p, size_t size)
{
	size_t want = p->n + size;
	uint8_t *bytes;

	if (want <= p->size)
		return 0;
	want += want / 2;
	bytes = realloc(p->bytes, want);
	if (!bytes)
		return -ENOMEM;
	p->bytes = bytes;
	p->size = want;
	return 0;
}

static void append(struct jit_pieces *p, const void *bytes, size_t size)
{
	if (size > 0)
		memcpy(p->bytes + p->n, bytes, size);
	p->n += size;
}

int jit_pieces_add(struct jit_pieces *p, const struct jit_code *code, uint64_t start, uint64_t time)
{
	bool is_mangled = p->demangles && mangling_find(code->name) != MANGLING_NONE;
	_cleanup_free_ char *demangled = is_mangled ? demangle(code->name, p->style) : NULL;
	const char *name = demangled ? demangled : code->name;
	const struct head head = {
		.start = start,
		.time = time,
		.size = code->size,
		.name_size = (uint32_t)strlen(name) + 1,
		.n_lines = (uint32_t)code->n_lines,
		.files_size = (uint32_t)code->files_size,
		.is_demangled = p->demangles,
	};
	size_t lines_size = code->n_lines * sizeof(*code->lines);

	if (reserve(p, sizeof(head) + head.name_size + lines_size + head.files_size) < 0)
		return -ENOMEM;
	append(p, &head, sizeof(head));
	append(p, name, head.name_size);
	append(p, code->lines, lines_size);
	append(p, code->files, head.files_size);
	return 0;
}

int jit_pieces_move(struct jit_pieces *p, uint64_t from, uint64_t to, uint64_t time)
{
	const struct head head = { .start = to, .time = time, .from = from };

	if (reserve(p, sizeof(head)) < 0)
		return -ENOMEM;
	append(p, &head, sizeof(head));
	return 0;
}

static int move(const struct head *head, struct jit_index *index)
{
	uint32_t number = jit_index_find_start(index, head->from);

	return number == JIT_CODE_NONE ? 0 :
					 jit_index_place(index, number, head->start, head->time);
}

/* A copy of at least one byte; NULL if memory is short. */
static void *copy_of(const uint8_t *bytes, size_t size)
{
	void *copy = malloc(size ? size : 1);

	return copy && size > 0 ? memcpy(copy, bytes, size) : copy;
}

static bool is_sound(const struct head *head, const uint8_t *name, const struct jit_code *code)
{
	if (head->size > JIT_CODE_MAX || head->is_demangled > 1 ||
	    strnlen((const char *)name, head->name_size) + 1 != head->name_size ||
	    (head->n_lines > 0 && (head->files_size == 0 || code->files[head->files_size - 1])))
		return false;
	for (size_t i = 0; i < head->n_lines; i++)
		if (code->lines[i].file >= head->files_size)
			return false;
	return true;
}

/* `bytes` are name, lines and files, of the sizes that the head has. */
static int add(const struct head *head, const uint8_t *bytes, struct jit_index *index)
{
	size_t lines_size = head->n_lines * sizeof(struct jit_line);
	const uint8_t *lines = bytes + head->name_size, *files = lines + lines_size;
	struct jit_code code = { .size = head->size, .is_demangled = head->is_demangled == 1 };
	_cleanup_free_ char *name = copy_of(bytes, head->name_size), *its_files = NULL;
	_cleanup_free_ struct jit_line *its_lines = NULL;
	uint32_t number;
	int err;

	if (head->n_lines > 0) {
		its_lines = copy_of(lines, lines_size);
		its_files = copy_of(files, head->files_size);
	}
	if (!name || (head->n_lines > 0 && (!its_lines || !its_files)))
		return -ENOMEM;
	code.lines = its_lines;
	code.files = its_files;
	if (!is_sound(head, bytes, &code))
		return -EPROTO;
	code.name = steal_ptr(name);
	code.lines = steal_ptr(its_lines);
	code.n_lines = head->n_lines;
	code.files = steal_ptr(its_files);
	code.files_size = head->n_lines > 0 ? head->files_size : 0;
	err = jit_index_add_code(index, &code, &number);
	return err < 0 ? err : jit_index_place(index, number, head->start, head->time);
}

int jit_pieces_place(const struct jit_pieces *p, size_t limit, struct jit_index *index)
{
	struct head head;
	uint64_t size;
	int err;

	for (size_t at = 0; at < p->n; at += (size_t)size) {
		if (p->n - at < sizeof(head))
			return -EPROTO;
		memcpy(&head, p->bytes + at, sizeof(head));
		at += sizeof(head);
		size = head.name_size + (uint64_t)head.n_lines * sizeof(struct jit_line) +
		       head.files_size;
		if (size > p->n - at || (head.size == 0 ? size > 0 : head.name_size == 0))
			return -EPROTO;
		err = head.size == 0 ? move(&head, index) : add(&head, p->bytes + at, index);
		if (err < 0 && err != -EINVAL)
			return err;
		if (index->memory > limit)
			return -E2BIG;
	}
	return 0;
}
