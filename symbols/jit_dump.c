// SPDX-License-Identifier: Apache-2.0
#include "symbols/jit_dump.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"
#include "symbols/jit_record.h"

/* A file that is being read. */
struct dump {
	int fd;
	struct jit_position *at;
	struct jit_pieces *to;
	/* Lines for the next piece of code: their record precedes its own. */
	uint64_t lines_address;
	struct jit_code lines;
};

static void forget_lines(struct dump *dump)
{
	free(dump->lines.lines);
	free(dump->lines.files);
	dump->lines = (struct jit_code){ 0 };
}

static int line_compare(const void *a, const void *b)
{
	const struct jit_line *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The name of the same file as before is abbreviated to this, or written again. */
static bool is_same_file(const char *name, size_t length, const char *before)
{
	return (length == 1 && name[0] == '\xff') || strcmp(name, before) == 0;
}

/*
 * V8 adds the size of an ELF header to each address, as older versions of perf required. It shows
 * in the first line, which would otherwise be at the function's start.
 */
static void remove_header(struct jit_line *lines, size_t n)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < n; i++)
		first = lines[i].offset < first ? lines[i].offset : first;
	for (size_t i = 0; first == sizeof(Elf64_Ehdr) && i < n; i++)
		lines[i].offset -= sizeof(Elf64_Ehdr);
}

/* Entries of an address, a line and a file name, with addresses of the code itself. */
static int read_lines(struct dump *dump, const uint8_t *body, size_t size)
{
	_cleanup_free_ struct jit_line *lines = NULL;
	_cleanup_free_ char *files = malloc(size);
	size_t n = 0, room = 0, files_size = 0, file = 0;
	struct jit_lines_entry entry;
	struct jit_lines_body head;
	char *shorter;

	forget_lines(dump);
	if (!files)
		return -ENOMEM;
	memcpy(&head, body, sizeof(head));
	for (size_t at = sizeof(head); n < head.n && size - at > sizeof(entry);) {
		const char *name = (const char *)body + at + sizeof(entry);
		size_t length = strnlen(name, size - at - sizeof(entry));

		if (length == size - at - sizeof(entry))
			break; /* it is truncated */
		memcpy(&entry, body + at, sizeof(entry));
		at += sizeof(entry) + length + 1;
		if (files_size == 0 || !is_same_file(name, length, files + file)) {
			file = files_size;
			memcpy(files + file, name, length + 1);
			files_size += length + 1;
		}
		if (array_reserve(lines, n, room) < 0)
			return -ENOMEM;
		lines[n++] = (struct jit_line){ entry.address - head.address, entry.line,
						(uint32_t)file };
	}
	remove_header(lines, n);
	if (n > 0)
		qsort(lines, n, sizeof(*lines), line_compare);
	dump->lines_address = head.address;
	dump->lines.n_lines = n;
	dump->lines.lines = steal_ptr(lines);
	dump->lines.files_size = files_size;
	shorter = realloc(files, files_size ? files_size : 1);
	dump->lines.files = shorter ? shorter : files;
	files = NULL;
	return 0;
}

static int read_load(struct dump *dump, uint64_t time, const uint8_t *bytes, size_t size)
{
	char *name = (char *)bytes + sizeof(struct jit_load_body);
	struct jit_code code = { .name = NULL };
	struct jit_load_body body;
	int err;

	memcpy(&body, bytes, sizeof(body));
	if (body.size > JIT_CODE_MAX)
		LIMIT_HIT(JIT_CODE_MAX);
	if (strnlen(name, size - sizeof(body)) == size - sizeof(body) || body.size == 0 ||
	    body.size > JIT_CODE_MAX)
		return 0;
	if (dump->at->lines_at > 0 && dump->lines_address == body.address)
		code = dump->lines;
	code.size = body.size;
	code.name = name;
	err = jit_pieces_add(dump->to, &code, body.address, time);
	forget_lines(dump);
	dump->at->lines_at = 0;
	return err;
}

static int read_move(struct dump *dump, uint64_t time, const uint8_t *bytes)
{
	struct jit_move_body body;

	memcpy(&body, bytes, sizeof(body));
	return jit_pieces_move(dump->to, body.old, body.new, time);
}

static int read_record(struct dump *dump, const struct jit_record_header *header,
		       const uint8_t *body, size_t size)
{
	uint64_t time = dump->at->has_times ? header->time : 0;

	switch (header->id) {
	case JIT_RECORD_LOAD:
		return size > sizeof(struct jit_load_body) ? read_load(dump, time, body, size) :
							     -EBADMSG;
	case JIT_RECORD_MOVE:
		return size >= sizeof(struct jit_move_body) ? read_move(dump, time, body) :
							      -EBADMSG;
	case JIT_RECORD_LINES:
		dump->at->lines_at = dump->at->at;
		return size >= sizeof(struct jit_lines_body) ? read_lines(dump, body, size) :
							       -EBADMSG;
	case JIT_RECORD_CLOSE:
		dump->at->is_closed = true;
		break;
	}
	return 0; /* other types, perhaps later ones, do not matter */
}

/* Reads the header. Returns 1 if it is there, otherwise 0. */
static int read_header(struct dump *dump)
{
	struct jit_file_header header;
	int is_there;

	if (dump->at->at > 0)
		return 1;
	is_there = jit_header_read(dump->fd, &header);
	if (is_there <= 0)
		return is_there;
	dump->at->at = header.size;
	dump->at->has_times = !(header.flags & JIT_FLAG_ARCH_TIMESTAMP);
	return 1;
}

/* Reads the next record of a file of that size. Returns 1, or 0 if it is not complete yet. */
static int read_next(struct dump *dump, struct jit_window *window, uint64_t file_size)
{
	uint64_t left = file_size > dump->at->at ? file_size - dump->at->at : 0;
	struct jit_record_header header;
	const uint8_t *bytes;
	size_t size;
	int err;

	if (left < sizeof(header))
		return 0;
	bytes = jit_window_get(window, dump->fd, dump->at->at, sizeof(header));
	if (!bytes)
		return 0;
	memcpy(&header, bytes, sizeof(header));
	if (header.size < sizeof(header))
		return -EBADMSG;
	if (left < header.size)
		return 0;
	size = header.size - sizeof(header);
	if (header.id != JIT_RECORD_LOAD && size > JIT_DUMP_MAX_BODY)
		LIMIT_HIT(JIT_DUMP_MAX_BODY);
	size = size < JIT_DUMP_MAX_BODY ? size : JIT_DUMP_MAX_BODY;
	/* The code itself, most of the record, may be missing. */
	if (header.id == JIT_RECORD_LOAD && size > JIT_WINDOW_SIZE - sizeof(header))
		size = JIT_WINDOW_SIZE - sizeof(header);
	bytes = jit_window_get(window, dump->fd, dump->at->at + sizeof(header), size);
	if (!bytes)
		return 0;
	err = read_record(dump, &header, bytes, size);
	dump->at->at += header.size;
	return err < 0 ? err : 1;
}

/* Lines whose code had not been written yet. */
static int read_lines_again(struct dump *dump, struct jit_window *window, uint64_t file_size)
{
	uint64_t at = dump->at->at;
	int err;

	/* They are for the next record, if that is there. */
	if (dump->at->lines_at == 0 || dump->at->lines_at >= at || file_size < at ||
	    file_size - at < sizeof(struct jit_record_header))
		return 0;
	dump->at->at = dump->at->lines_at;
	err = read_next(dump, window, file_size);
	dump->at->at = at;
	return err < 0 ? err : 0;
}

int jit_dump_read(int fd, struct jit_position *at, struct jit_pieces *to)
{
	struct dump dump = { .fd = fd, .at = at, .to = to };
	struct jit_window window = { .bytes = NULL };
	uint64_t begun = at->at;
	struct stat st;
	int more;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size > JIT_FILE_MAX)
		return -EFBIG;
	more = read_header(&dump);
	if (more > 0)
		more = read_lines_again(&dump, &window, (uint64_t)st.st_size) ?: 1;
	while (more > 0 && !at->is_closed && to->n < JIT_PIECES_ENOUGH &&
	       at->at - begun < JIT_READ_ENOUGH)
		more = read_next(&dump, &window, (uint64_t)st.st_size);
	forget_lines(&dump);
	free(window.bytes);
	return more > 0 ? !at->is_closed : more;
}
