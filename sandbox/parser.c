// SPDX-License-Identifier: Apache-2.0
#include "sandbox/parser.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write_all.h"
#include "elf/debug_search.h"
#include "limits/limits.h"
#include "sandbox/confine.h"
#include "sandbox/message.h"
#include "sandbox/passage.h"
#include "tables/image_check.h"

enum { FILE_FD, RESULT_FD, OTHER_FD };

static_assert(OTHER_FD + 1 == MESSAGE_MAX_FDS, "a request has at most these");

static int write_result(int fd, const struct parse_result *r)
{
	const struct elf_facts *f = &r->facts;
	int err = write_all(fd, f->segments, f->n_segments * sizeof(*f->segments));

	if (err == 0)
		err = write_all(fd, f->code, f->n_code * sizeof(*f->code));
	if (err == 0)
		err = write_all(fd, r->image.cells, (size_t)r->image.n_cells * DP_CELL_SIZE);
	if (err == 0)
		err = write_all(fd, r->usdt, r->n_usdt * sizeof(*r->usdt));
	if (err == 0)
		err = write_all(fd, r->functions.bytes, r->functions.size);
	if (err == 0)
		err = write_all(fd, r->pieces.bytes, r->pieces.n);
	if (err == 0)
		err = write_all(fd, r->names.of, r->names.n * sizeof(*r->names.of));
	if (err == 0 && r->context)
		err = write_all(fd, r->context, sizeof(*r->context));
	if (err == 0)
		err = write_all(fd, r->table, r->table_size);
	if (err == 0)
		err = write_all(fd, r->lines, r->n_lines * sizeof(*r->lines));
	if (err == 0)
		err = write_all(fd, r->object, r->object_size);
	return err;
}

static int answer(const struct parser_request *request, const int fds[MESSAGE_MAX_FDS],
		  struct parser_reply *ret)
{
	const struct parse_request todo = {
		.kind = request->kind,
		.fd = fds[FILE_FD],
		.other = request->has_other ? fds[OTHER_FD] : -1,
		.offset = request->offset,
		.wanted = request->wanted,
		.n_wanted = request->n_wanted,
		.functions = { request->pattern, request->has_hint == 1, request->has_parts == 1,
			       request->has_ends == 1 },
		.jit_kind = request->jit_kind,
		.position = request->position,
		.style = request->style,
		.container_id = request->container_id,
		.rows = request->rows,
		.start = request->start,
		.end = request->end,
	};
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	int err = parse_here(&todo, &result);

	if (err < 0)
		return err;
	err = write_result(fds[RESULT_FD], &result);
	ret->facts = result.facts;
	ret->facts.segments = NULL;
	ret->facts.code = NULL;
	memcpy(ret->debug_link, result.debug_link, sizeof(ret->debug_link));
	ret->debug_link_checksum = result.debug_link_checksum;
	ret->lacks_cfi = result.lacks_cfi;
	ret->is_so = result.is_so;
	ret->n_cells = result.image.n_cells;
	ret->stats = result.image.stats;
	ret->n_usdt = (uint32_t)result.n_usdt;
	ret->functions_size = (uint32_t)result.functions.size;
	ret->n_pieces = result.pieces.n;
	ret->position = result.position.at;
	ret->lines_at = result.position.lines_at;
	ret->has_times = result.position.has_times;
	ret->is_closed = result.position.is_closed;
	ret->has_more = result.has_more;
	memcpy(ret->parameters, result.parameters, sizeof(ret->parameters));
	ret->n_names = (uint32_t)result.names.n;
	ret->digest = result.digest;
	ret->container = result.container;
	ret->has_context = result.context != NULL;
	ret->table_size = result.table_size;
	ret->n_lines = result.n_lines;
	ret->object_size = result.object_size;
	ret->cxx = result.cxx;
	ret->allocator = result.allocator;
	memcpy(ret->type, result.type, sizeof(ret->type));
	return err;
}

int parser_run(int socket)
{
	struct parser_request request;
	int fds[MESSAGE_MAX_FDS];

	while (message_receive(socket, &request, sizeof(request), fds) == 0) {
		struct parser_reply reply = { 0 };

		passage_take(&fds[FILE_FD]);
		passage_take(&fds[OTHER_FD]);
		(void)limit_hits_collect(&reply.limits);
		reply.err = answer(&request, fds, &reply);
		(void)limit_hits_collect(NULL);
		message_close(fds);
		if (message_send(socket, &reply, sizeof(reply), NULL, 0) < 0)
			break;
	}
	return EXIT_SUCCESS;
}

static bool is_build_id(const char text[ELF_BUILD_ID_SIZE])
{
	size_t n = strnlen(text, ELF_BUILD_ID_SIZE);

	return n < ELF_BUILD_ID_SIZE && strspn(text, "0123456789abcdef") == n;
}

static bool is_printable(const char *text, size_t size)
{
	size_t n = strnlen(text, size);

	for (size_t i = 0; i < n; i++)
		if (!isprint((unsigned char)text[i]))
			return false;
	return n < size;
}

/* Of a debug file, or that there is none. */
static bool is_link(const char *text, size_t size)
{
	size_t n = strnlen(text, size);

	return n == 0 || (n < size && debug_link_is_name(text));
}

static bool has_possible_numbers(const struct parser_reply *r)
{
	return r->n_usdt <= USDT_MAX_PLACES && r->functions_size <= FUNCTION_LIST_MAX_SIZE &&
	       r->table_size <= CONFINE_MEMORY && r->n_lines <= CODE_LINES_MAX &&
	       r->object_size <= 2 * JIT_OBJECT_SIZE;
}

static bool is_plausible(const struct parser_reply *r, uint64_t size)
{
	return r->err == 0 && has_possible_numbers(r) && is_build_id(r->facts.origin.build_id) &&
	       is_printable(r->facts.packer, sizeof(r->facts.packer)) &&
	       is_link(r->debug_link, sizeof(r->debug_link)) &&
	       r->facts.n_segments <= PARSER_MAX_SEGMENTS && r->facts.n_code <= PARSER_MAX_CODE &&
	       r->facts.origin.unwind.source < ELF_N_SOURCES && r->lacks_cfi <= 1 &&
	       container_names_are_sound(&r->container) && cxx_runtime_is_sound(&r->cxx) &&
	       allocator_is_sound(&r->allocator) && memchr(r->type, '\0', sizeof(r->type)) &&
	       r->is_so <= 1 && r->has_context <= 1 && r->has_more <= 1 && r->has_times <= 1 &&
	       r->is_closed <= 1 && r->n_pieces < JIT_PIECES_MAX &&
	       (uint64_t)r->n_cells * DP_CELL_SIZE <= size + PARSER_MAX_UNPACKED;
}

static bool is_argument(const struct dp_argument *how)
{
	return how->base <= DP_BASE_CONSTANT && how->reg < DP_N_REGISTERS &&
	       how->n_derefs <= DP_MAX_DEREFS && how->size <= sizeof(uint64_t) &&
	       how->is_text <= DP_TEXT_LIBCXX && how->index <= DP_N_REGISTERS && how->shift <= 3 &&
	       how->is_what == 0;
}

/* Whatever they are, the kernel reads only the process that hits the probe. */
static bool are_parameters(const struct parameter parameters[DP_MAX_ARGUMENTS], uint32_t n_names)
{
	uint32_t n = 0;

	for (size_t i = 0; i < DP_MAX_ARGUMENTS; i++) {
		const struct parameter *p = &parameters[i];

		if (!is_printable(p->why, sizeof(p->why)) || p->type > VALUE_N_TYPES ||
		    (p->type == VALUE_N_TYPES && p->why[0] == '\0') || !is_argument(&p->how) ||
		    !is_argument(&p->length) || p->length.is_text || p->n_names > ENUMERATION_MAX)
			return false;
		n += p->n_names;
	}
	return n == n_names;
}

static bool are_usdt(const struct usdt_place *places, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct usdt_place *p = &places[i];

		if (!is_printable(p->provider, sizeof(p->provider)) ||
		    !is_printable(p->name, sizeof(p->name)) || p->n_arguments > USDT_MAX_ARGUMENTS)
			return false;
		for (size_t j = 0; j < p->n_arguments; j++)
			if (!usdt_argument_is_sound(&p->arguments[j]))
				return false;
	}
	return true;
}

/* Reads n values at *at, which moves on, into memory that nobody else can change. */
static int read_values(int fd, off_t *at, size_t n, size_t size, void **ret)
{
	_cleanup_free_ char *bytes = malloc(n * size > 0 ? n * size : 1);
	size_t have = 0;

	if (!bytes)
		return -ENOMEM;
	while (have < n * size) {
		ssize_t got = pread(fd, bytes + have, n * size - have, *at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EPROTO;
		have += (size_t)got;
		*at += got;
	}
	*ret = steal_ptr(bytes);
	return 0;
}

/* In C, bytes but 0 and 1 must not even be read as bool. */
static bool are_segments(const struct elf_segment *segments, size_t n)
{
	const uint8_t *bytes = (const uint8_t *)segments;

	for (size_t i = 0; i < n; i++)
		if (bytes[i * sizeof(*segments) + offsetof(struct elf_segment, executable)] > 1 ||
		    bytes[i * sizeof(*segments) + offsetof(struct elf_segment, writable)] > 1)
			return false;
	return true;
}

/* What an honest parser may fail with. Others have a meaning of their own for its caller. */
static bool is_parse_error(int err)
{
	return err == -ENOMEM || err == -ENOEXEC || err == -ENOTSUP || err == -EBADMSG ||
	       err == -ENODATA || err == -EFBIG || err == -E2BIG || err == -EINVAL;
}

/* Is the file for the result exactly as large as what it has to hold? */
static bool is_whole(const struct parser_reply *r, int file)
{
	struct stat st;

	return fstat(file, &st) == 0 &&
	       (uint64_t)st.st_size ==
		       r->facts.n_segments * sizeof(struct elf_segment) +
			       r->facts.n_code * sizeof(struct elf_code) +
			       (uint64_t)r->n_cells * DP_CELL_SIZE +
			       r->n_usdt * sizeof(struct usdt_place) + r->functions_size +
			       r->n_pieces + r->n_names * sizeof(struct enumerator) +
			       r->has_context * sizeof(struct process_context) + r->table_size +
			       r->n_lines * sizeof(struct code_line) + r->object_size;
}

static int take_probes(const struct parser_reply *r, int file, off_t *at, struct parse_result *ret)
{
	void *usdt = NULL, *functions = NULL;
	int err = read_values(file, at, r->n_usdt, sizeof(struct usdt_place), &usdt);

	ret->usdt = usdt;
	ret->n_usdt = r->n_usdt;
	if (err == 0 && !are_usdt(usdt, r->n_usdt))
		err = -EPROTO;
	if (err == 0)
		err = read_values(file, at, r->functions_size, 1, &functions);
	ret->functions = (struct function_list){ .bytes = functions,
						 .size = functions ? r->functions_size : 0,
						 .room = functions ? r->functions_size : 0 };
	return err == 0 && !function_list_is_sound(&ret->functions) ? -EPROTO : err;
}

static int take_names(const struct parser_reply *r, int file, off_t *at, struct enumerators *ret)
{
	void *names = NULL;
	int err = read_values(file, at, r->n_names, sizeof(*ret->of), &names);

	*ret = (struct enumerators){ names, names ? r->n_names : 0, names ? r->n_names : 0 };
	return err == 0 && !enumerators_are_sound(ret->of, ret->n) ? -EPROTO : err;
}

static int take_context(const struct parser_reply *r, int file, off_t *at, struct parse_result *ret)
{
	void *context = NULL;
	int err;

	if (!r->has_context)
		return 0;
	err = read_values(file, at, 1, sizeof(*ret->context), &context);
	ret->context = context;
	return err == 0 && !process_context_is_sound(ret->context) ? -EPROTO : err;
}

static int take_table(const struct parser_reply *r, int file, off_t *at, struct parse_result *ret)
{
	void *table = NULL;
	int err;

	if (r->table_size == 0)
		return 0;
	err = read_values(file, at, r->table_size, 1, &table);
	ret->table = table;
	ret->table_size = table ? r->table_size : 0;
	return err == 0 && !table_view_is_sound(table, ret->table_size) ? -EPROTO : err;
}

static int take_lines(const struct parser_reply *r, int file, off_t *at, struct parse_result *ret)
{
	void *lines = NULL;
	int err = read_values(file, at, r->n_lines, sizeof(*ret->lines), &lines);

	ret->lines = lines;
	ret->n_lines = lines ? r->n_lines : 0;
	return err == 0 && !code_lines_are_sound(ret->lines, ret->n_lines) ? -EPROTO : err;
}

/* It is read by others like any file of a stranger's. */
static int take_object(const struct parser_reply *r, int file, off_t *at, struct parse_result *ret)
{
	void *object = NULL;
	int err = read_values(file, at, r->object_size, 1, &object);

	ret->object = object;
	ret->object_size = object ? r->object_size : 0;
	return err;
}

/* The last of the values. */
static int take_views(const struct parser_reply *r, int file, off_t *at, struct parse_result *ret)
{
	int err = take_table(r, file, at, ret);

	if (err == 0)
		err = take_lines(r, file, at, ret);
	return err < 0 ? err : take_object(r, file, at, ret);
}

/* Does it have what was asked for, and nothing that others have? */
static bool is_of_kind(const struct parser_reply *r, enum parse_kind kind)
{
	return (kind == PARSE_IMAGE) == (r->n_cells > 0) &&
	       (kind == PARSE_JIT || r->n_pieces == 0) &&
	       (kind == PARSE_CONTEXT) == (r->has_context > 0) &&
	       (kind == PARSE_TABLE) == (r->table_size > 0) &&
	       (kind == PARSE_CODE) == (r->n_lines > 0) &&
	       (kind == PARSE_OBJECT || kind == PARSE_DUMP) == (r->object_size > 0);
}

int parser_take(enum parse_kind kind, const struct parser_reply *r, int file, uint64_t size,
		struct parse_result *ret)
{
	void *segments = NULL, *code = NULL, *cells = NULL, *pieces = NULL;
	off_t at = 0;
	int err;

	*ret = (struct parse_result){ 0 };
	if (is_parse_error(r->err))
		return r->err;
	if (!is_plausible(r, size) || !is_whole(r, file) ||
	    !are_parameters(r->parameters, r->n_names) || !is_of_kind(r, kind))
		return -EPROTO;
	ret->facts = r->facts;
	ret->lacks_cfi = r->lacks_cfi;
	ret->is_so = r->is_so;
	memcpy(ret->debug_link, r->debug_link, sizeof(ret->debug_link));
	ret->debug_link_checksum = r->debug_link_checksum;
	memcpy(ret->parameters, r->parameters, sizeof(ret->parameters));
	ret->digest = r->digest;
	ret->container = r->container;
	ret->cxx = r->cxx;
	ret->allocator = r->allocator;
	memcpy(ret->type, r->type, sizeof(ret->type));
	err = read_values(file, &at, r->facts.n_segments, sizeof(struct elf_segment), &segments);
	ret->facts.segments = segments;
	if (err == 0 && !are_segments(segments, r->facts.n_segments))
		err = -EPROTO;
	if (err == 0)
		err = read_values(file, &at, r->facts.n_code, sizeof(struct elf_code), &code);
	ret->facts.code = code;
	if (err == 0)
		err = read_values(file, &at, r->n_cells, DP_CELL_SIZE, &cells);
	ret->image = (struct image){ .cells = cells, .n_cells = r->n_cells, .stats = r->stats };
	if (err == 0)
		err = take_probes(r, file, &at, ret);
	if (err == 0)
		err = read_values(file, &at, r->n_pieces, 1, &pieces);
	if (err == 0)
		err = take_names(r, file, &at, &ret->names);
	if (err == 0)
		err = take_context(r, file, &at, ret);
	if (err == 0)
		err = take_views(r, file, &at, ret);
	ret->pieces = (struct jit_pieces){ .bytes = pieces, .n = pieces ? r->n_pieces : 0 };
	ret->position = (struct jit_position){ r->position, r->lines_at, r->has_times == 1,
					       r->is_closed == 1 };
	ret->has_more = r->has_more == 1;
	if (err == 0 && r->n_cells > 0 && !image_is_sound(cells, r->n_cells))
		err = -EPROTO;
	if (err < 0)
		parse_result_done(ret);
	return err;
}
