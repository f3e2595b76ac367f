/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_PARSER_H
#define DP_SANDBOX_PARSER_H

#include <stdint.h>

#include "limits/limit_hits.h"
#include "sandbox/parse.h"

/*
 * A parser is a confined process (confine.h) that answers requests of parse.h until its socket is
 * closed. A request is one message, its descriptors are the file, a file for the result, and the
 * other file if there is one; a socket in place of a file brings it (passage.h). A reply is one message; the values of variable number are in the file
 * for the result:
 *
 *     | struct elf_segment * n_segments | struct elf_code * n_code | cell * n_cells |
 *     | struct usdt_place * n_usdt | functions_size bytes | n_pieces | struct enumerator * n_names |
 *     | struct process_context * has_context | table_size bytes |
 *     | struct code_line * n_lines | object_size bytes |
 */

struct parser_request {
	uint32_t kind; /* enum parse_kind */
	uint32_t has_other;
	/* PARAMETERS */
	uint64_t offset;
	uint64_t n_wanted;
	uint32_t has_hint, has_parts; /* FUNCTIONS: of struct function_query, as pattern */
	uint32_t has_ends;            /* as these */
	uint32_t jit_kind, style;
	uint32_t rows;       /* TABLE: enum table_rows */
	uint64_t start, end; /* CODE */
	struct jit_position position;
	struct parameter_wanted wanted[DP_MAX_ARGUMENTS];
	char pattern[FUNCTION_PATTERN_SIZE];
	char container_id[CONTAINER_ID_SIZE];
};

struct parser_reply {
	int32_t err;
	/* Of struct parse_result, without what the pointers in it point to */
	struct elf_facts facts;
	char debug_link[PARSE_LINK_SIZE];
	uint32_t debug_link_checksum;
	uint8_t lacks_cfi, is_so; /* 0 or 1: in C, other bytes must not even be read as bool */
	uint32_t n_cells;
	uint32_t n_usdt;
	uint32_t functions_size; /* of struct function_list */
	struct image_stats stats;
	uint64_t n_pieces; /* bytes */
	uint64_t position, lines_at;
	uint8_t has_more, has_times, is_closed;
	struct parameter parameters[DP_MAX_ARGUMENTS];
	uint32_t n_names; /* of these together */
	struct file_digest digest;
	struct container_names container;
	uint8_t has_context; /* 0 or 1 */
	uint64_t table_size; /* of struct table_view and what follows it */
	uint64_t n_lines;
	uint64_t object_size;
	struct cxx_runtime cxx;
	struct allocator allocator;
	char type[PARSE_TYPE_SIZE];
	struct limit_hits limits; /* that leave out some of what was asked for */
};

/* What the parser does. Returns an exit status. */
int parser_run(int socket);

/*
 * Puts together what a parser answered, of which nothing is trusted: text is terminated and
 * printable, an image is sound (image_check.h), and nothing is larger than the requested file could
 * make it. `file` is the one for the result, `size` that of the requested file, without
 * its holes. 0 or the error that
 * the parser tells, of those that parse_here() has; -EPROTO for an answer that no parser gives; or
 * -ENOMEM. parse_result_done() frees *ret.
 */
int parser_take(enum parse_kind kind, const struct parser_reply *reply, int file, uint64_t size,
		struct parse_result *ret);

#endif
