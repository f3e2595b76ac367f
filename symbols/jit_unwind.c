// SPDX-License-Identifier: Apache-2.0
#include "symbols/jit_unwind.h"

#include <dwarf.h>
#include <errno.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/frames_join.h"
#include "limits/limits.h"
#include "symbols/jit_record.h"

/* An .eh_frame in the file. */
struct frames {
	uint64_t at, size; /* size 0: none */
	uint64_t
		address; /* in memory, of several pieces' together; 0: it counts as behind its code */
};

/* Code that there is. Pieces do not overlap: the later one has replaced the earlier ones. */
struct piece {
	uint64_t start, end;
	struct frames frames;
};

struct reader {
	int fd;
	uint64_t at, size; /* the next record, and the file */
	struct jit_window window;
	void *pieces; /* a tree by address, tsearch(3) */
	size_t n;
	struct frames next; /* of the code that follows */
};

static int compare(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->end <= y->start ? -1 : x->start >= y->end;
}

static struct piece *find(const struct reader *r, uint64_t start, uint64_t end)
{
	const struct piece wanted = { .start = start, .end = end };
	void *found = tfind(&wanted, &r->pieces, compare);

	return found ? *(struct piece **)found : NULL;
}

static void drop(struct reader *r, struct piece *piece)
{
	tdelete(piece, &r->pieces, compare);
	free(piece);
	r->n--;
}

static int put(struct reader *r, uint64_t start, uint64_t size, const struct frames *frames)
{
	struct piece *piece, *old;

	if (size == 0 || size > JIT_CODE_MAX || start > UINT64_MAX - size - sizeof(uint64_t))
		return 0;
	while ((old = find(r, start, start + size)))
		drop(r, old);
	piece = malloc(sizeof(*piece));
	if (!piece)
		return -ENOMEM;
	*piece = (struct piece){ start, start + size, *frames };
	if (!tsearch(piece, &r->pieces, compare)) {
		free(piece);
		return -ENOMEM;
	}
	r->n++;
	return 0;
}

static int read_load(struct reader *r, const uint8_t *bytes)
{
	struct jit_load_body body;
	int err;

	memcpy(&body, bytes, sizeof(body));
	err = put(r, body.address, body.size, &r->next);
	if (r->next.address == 0)
		r->next = (struct frames){ 0 };
	return err;
}

static int read_move(struct reader *r, const uint8_t *bytes)
{
	struct jit_move_body body;
	struct frames frames = { 0 };
	struct piece *piece;
	uint64_t size;

	memcpy(&body, bytes, sizeof(body));
	piece = body.old < UINT64_MAX ? find(r, body.old, body.old + 1) : NULL;
	if (!piece || piece->start != body.old)
		return 0;
	size = piece->end - piece->start;
	if (piece->frames.address == 0)
		frames = piece->frames;
	drop(r, piece);
	return put(r, body.new, size, &frames);
}

/* As LLVM writes it: the address of .eh_frame, and no table. False: it is something else. */
static bool read_header(const uint8_t *bytes, uint64_t size, uint64_t *ret_address)
{
	static const uint8_t start[] = { 1, DW_EH_PE_absptr | DW_EH_PE_sdata8, DW_EH_PE_omit,
					 DW_EH_PE_omit };

	if (size != sizeof(start) + sizeof(*ret_address) ||
	    memcmp(bytes, start, sizeof(start)) != 0)
		return false;
	memcpy(ret_address, bytes + sizeof(start), sizeof(*ret_address));
	return *ret_address != 0;
}

static void read_unwinding(struct reader *r, const uint8_t *bytes, size_t size)
{
	struct jit_unwinding_body body;
	const uint8_t *frames = bytes + sizeof(body);

	memcpy(&body, bytes, sizeof(body));
	r->next = (struct frames){ 0 };
	if (body.size > size - sizeof(body) || body.header_size > body.size)
		return;
	r->next.at = r->at + sizeof(struct jit_record_header) + sizeof(body);
	r->next.size = body.size - body.header_size;
	if (read_header(frames, body.header_size, &r->next.address))
		r->next.at += body.header_size;
}

static int read_record(struct reader *r, const struct jit_record_header *header,
		       const uint8_t *body, size_t size)
{
	switch (header->id) {
	case JIT_RECORD_LOAD:
		return size >= sizeof(struct jit_load_body) ? read_load(r, body) : -EBADMSG;
	case JIT_RECORD_MOVE:
		return size >= sizeof(struct jit_move_body) ? read_move(r, body) : -EBADMSG;
	case JIT_RECORD_UNWINDING:
		if (size < sizeof(struct jit_unwinding_body))
			return -EBADMSG;
		read_unwinding(r, body, size);
		break;
	}
	return 0;
}

/* Of code, only where it is. */
static size_t wanted_size(const struct jit_record_header *header)
{
	size_t size = header->size - sizeof(*header);

	if (header->id == JIT_RECORD_LOAD)
		return size < sizeof(struct jit_load_body) ? size : sizeof(struct jit_load_body);
	if (header->id == JIT_RECORD_LINES)
		return 0;
	return size < JIT_DUMP_MAX_BODY ? size : JIT_DUMP_MAX_BODY;
}

/* 1; 0: that was the last one; or a negative errno. */
static int read_next(struct reader *r)
{
	struct jit_record_header header;
	const uint8_t *bytes;
	size_t size;
	int err;

	if (r->size < r->at || r->size - r->at < sizeof(header))
		return 0;
	bytes = jit_window_get(&r->window, r->fd, r->at, sizeof(header));
	if (!bytes)
		return 0;
	memcpy(&header, bytes, sizeof(header));
	if (header.size < sizeof(header))
		return -EBADMSG;
	if (r->size - r->at < header.size || header.id == JIT_RECORD_CLOSE)
		return 0;
	size = wanted_size(&header);
	bytes = jit_window_get(&r->window, r->fd, r->at + sizeof(header), size);
	if (!bytes)
		return 0;
	err = read_record(r, &header, bytes, size);
	r->at += header.size;
	return err < 0 ? err : 1;
}

static int read_all(struct reader *r)
{
	struct jit_file_header header;
	struct stat st;
	int more;

	if (fstat(r->fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size > JIT_FILE_MAX)
		return -EFBIG;
	r->size = (uint64_t)st.st_size;
	more = jit_header_read(r->fd, &header);
	r->at = header.size;
	while (more > 0)
		more = read_next(r);
	return more;
}

struct listed {
	const struct piece **pieces;
	size_t n;
};

static void list(const void *node, VISIT visit, void *arg)
{
	struct listed *l = arg;

	if (visit == postorder || visit == leaf)
		l->pieces[l->n++] = *(const struct piece *const *)node;
}

/* Where perf has it. */
static uint64_t address_of(const struct piece *piece)
{
	return piece->frames.address ?:
		       piece->start + ((piece->end - piece->start + 7) & ~UINT64_C(7));
}

static int take_frames(const struct reader *r, const struct piece *piece, struct frames_join *join)
{
	const struct frames *f = &piece->frames;
	uint8_t *bytes = malloc(f->size);

	if (!bytes)
		return -ENOMEM;
	/* What is gone meanwhile has no records. */
	if (pread(r->fd, bytes, f->size, (off_t)f->at) != (ssize_t)f->size)
		memset(bytes, 0, f->size);
	return frames_join_take(join, f->at, address_of(piece), bytes, f->size);
}

/* It is not used if its place is not certain. */
static bool is_in_place(const struct piece *piece, const struct frames_join *join)
{
	return piece->frames.address != 0 || frames_join_begins_at(join, piece->start);
}

static int join_piece(const struct reader *r, const struct piece *piece, struct frames_join *join)
{
	int err = 0;

	if (!frames_join_has(join, piece->frames.at, address_of(piece)))
		err = take_frames(r, piece, join);
	if (err < 0 || !is_in_place(piece, join))
		return err;
	return frames_join_add(join, piece->start, piece->end);
}

static int join_all(const struct reader *r, uint8_t **ret, size_t *ret_size)
{
	_cleanup_free_ const struct piece **pieces = calloc(r->n + 1, sizeof(*pieces));
	struct listed listed = { .pieces = pieces };
	struct frames_join join = { 0 };
	int err = 0;

	if (!pieces)
		return -ENOMEM;
	twalk_r(r->pieces, list, &listed);
	for (size_t i = 0; err == 0 && i < listed.n; i++)
		if (pieces[i]->frames.size > 0)
			err = join_piece(r, pieces[i], &join);
	if (err == 0)
		err = frames_join_end(&join, ret, ret_size);
	frames_join_done(&join);
	return err;
}

int jit_unwind_read(int fd, uint8_t **ret, size_t *ret_size)
{
	struct reader r = { .fd = fd };
	int err = read_all(&r);

	if (err == 0)
		err = join_all(&r, ret, ret_size);
	tdestroy(r.pieces, free);
	free(r.window.bytes);
	return err;
}
