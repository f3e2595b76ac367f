// SPDX-License-Identifier: Apache-2.0
/*
 * Files of any bytes, and requests about them, as a parser gets them. Its answer is taken, and is that
 * of this process. Input: the kind (1), whether there is another file, whether ends of functions are wanted,
 * whether a file of a JIT compiler is a perf map, and which rows of a table are wanted (1, the lowest bits), the
 * size of the first (2), the files.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cfi/tests/fuzz.h"
#include "sandbox/message.h"
#include "sandbox/parser.h"

static int file_of(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	EXPECT(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	return fd;
}

/* Both ends of the socket are in this process: the request is there before the parser runs. */
static struct parser_reply ask(const struct parser_request *request, int file, int result,
			       int other)
{
	const int sent[MESSAGE_MAX_FDS] = { file, result, other };
	int sockets[2], fds[MESSAGE_MAX_FDS];
	struct parser_reply reply;

	EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
	EXPECT(message_send(sockets[0], request, sizeof(*request), sent,
			    request->has_other ? 3 : 2) == 0);
	EXPECT(shutdown(sockets[0], SHUT_WR) == 0);
	EXPECT(parser_run(sockets[1]) == 0);
	EXPECT(message_receive(sockets[0], &reply, sizeof(reply), fds) == 0);
	EXPECT(fds[0] < 0);
	close(sockets[0]);
	close(sockets[1]);
	return reply;
}

static void check_same_origin(const struct elf_origin *a, const struct elf_origin *b)
{
	EXPECT(strcmp(a->build_id, b->build_id) == 0);
	EXPECT(memcmp(&a->unwind, &b->unwind, sizeof(a->unwind)) == 0);
	EXPECT(a->go_size == b->go_size);
	EXPECT(a->start == b->start && a->end == b->end && a->entry == b->entry);
}

static void check_same_facts(const struct elf_facts *a, const struct elf_facts *b)
{
	EXPECT(a->n_segments == b->n_segments && a->n_code == b->n_code);
	for (size_t i = 0; i < a->n_segments; i++)
		EXPECT(a->segments[i].address == b->segments[i].address &&
		       a->segments[i].offset == b->segments[i].offset &&
		       a->segments[i].executable == b->segments[i].executable);
	EXPECT(a->n_code == 0 || memcmp(a->code, b->code, a->n_code * sizeof(*a->code)) == 0);
	EXPECT(a->cookie == b->cookie && a->cookie_address == b->cookie_address);
	check_same_origin(&a->origin, &b->origin);
	EXPECT(strcmp(a->packer, b->packer) == 0);
	EXPECT(a->go_start == b->go_start && a->go_end == b->go_end);
}

static void check_same(const struct parse_result *a, const struct parse_result *b)
{
	check_same_facts(&a->facts, &b->facts);
	EXPECT(a->lacks_cfi == b->lacks_cfi && a->is_so == b->is_so);
	EXPECT(strcmp(a->debug_link, b->debug_link) == 0);
	EXPECT(a->debug_link_checksum == b->debug_link_checksum);
	EXPECT(memcmp(&a->digest, &b->digest, sizeof(a->digest)) == 0);
	EXPECT(memcmp(&a->container, &b->container, sizeof(a->container)) == 0);
	EXPECT(!a->context == !b->context);
	EXPECT(!a->context || memcmp(a->context, b->context, sizeof(*a->context)) == 0);
	EXPECT(memcmp(a->cxx.what, b->cxx.what, sizeof(a->cxx.what)) == 0);
	EXPECT(strcmp(a->type, b->type) == 0);
	EXPECT(a->n_usdt == b->n_usdt);
	EXPECT(a->table_size == b->table_size);
	EXPECT(a->n_lines == b->n_lines);
	EXPECT(a->n_lines == 0 || memcmp(a->lines, b->lines, a->n_lines * sizeof(*a->lines)) == 0);
	EXPECT(a->pieces.n == b->pieces.n);
	EXPECT(a->pieces.n == 0 || memcmp(a->pieces.bytes, b->pieces.bytes, a->pieces.n) == 0);
	EXPECT(a->image.n_cells == b->image.n_cells);
	EXPECT(memcmp(&a->image.stats, &b->image.stats, sizeof(a->image.stats)) == 0);
	EXPECT(a->image.n_cells == 0 || memcmp(a->image.cells, b->image.cells,
					       (size_t)a->image.n_cells * DP_CELL_SIZE) == 0);
}

static void check(const struct parser_request *request, int file, size_t size, int other)
{
	const struct parse_request here = { .kind = request->kind,
					    .fd = file,
					    .other = other,
					    .functions = { .pattern = request->pattern,
							   .has_parts = request->has_parts,
							   .has_ends = request->has_ends },
					    .jit_kind = request->jit_kind,
					    .container_id = request->container_id,
					    .rows = request->rows,
					    .start = request->start,
					    .end = request->end };
	struct parse_result taken, made;
	int result = memfd_create("result", MFD_CLOEXEC), err;
	struct parser_reply reply;

	EXPECT(result >= 0);
	reply = ask(request, file, result, other);
	err = parser_take(request->kind, &reply, result, size, &taken);
	EXPECT(parse_here(&here, &made) == err);
	if (err == 0)
		check_same(&taken, &made);
	parse_result_done(&taken);
	parse_result_done(&made);
	close(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size };
	struct parser_request request = { .kind = feed_u8(&feed) % (PARSE_N_KINDS + 1),
					  .pattern = "*",
					  .container_id = "id" };
	size_t first, left;
	int file, other = -1;
	uint8_t has = feed_u8(&feed);

	request.has_other = has & 1;
	request.has_parts = request.has_ends = has >> 1 & 1;
	request.jit_kind = has >> 2 & 1 ? JIT_MAP : JIT_DUMP;
	request.rows = has >> 3 & 3;
	request.start = 0x4000d0; /* in seeds, code is there */
	request.end = UINT64_MAX;
	first = feed_number(&feed, 2);
	left = (size_t)(feed.end - feed.pos);
	first = request.has_other && first < left ? first : left;
	file = file_of(feed.pos, first);
	if (request.has_other)
		other = file_of(feed.pos + first, left - first);
	check(&request, file, first, other);
	close(file);
	if (other >= 0)
		close(other);
	return 0;
}
