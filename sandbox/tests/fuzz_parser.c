// SPDX-License-Identifier: Apache-2.0
/*
 * Answers of a parser that was taken over. Input: what was asked for (1), the size of the requested
 * file (4), the error (1, signed), numbers of segments (1), of ranges of code (1) and of cells (2), by
 * how many bits the first two are shifted (1, the low 6 bits), the source (1), the two truth values
 * (2), the build id, the packer, a length (1) and as many bytes of the debug file's name, all
 * behind which is the file for the result: without segments and code, for PARSE_TABLE a
 * table, for PARSE_CODE instructions.
 */
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfi/tests/fuzz.h"
#include "sandbox/parser.h"
#include "tables/image_check.h"

static void feed_bytes(struct feed *f, void *to, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = feed_u8(f);
}

static void feed_reply(struct feed *f, struct parser_reply *ret)
{
	unsigned int shift;

	*ret = (struct parser_reply){ .err = (int8_t)feed_u8(f) };
	ret->facts.n_segments = feed_u8(f);
	ret->facts.n_code = feed_u8(f);
	ret->n_cells = (uint32_t)feed_number(f, 2);
	shift = feed_u8(f) & 63;
	ret->facts.n_segments <<= shift;
	ret->facts.n_code <<= shift;
	ret->facts.origin.unwind.source = feed_u8(f);
	ret->lacks_cfi = feed_u8(f);
	ret->is_so = feed_u8(f);
	feed_bytes(f, ret->facts.origin.build_id, sizeof(ret->facts.origin.build_id));
	feed_bytes(f, ret->facts.packer, sizeof(ret->facts.packer));
	feed_bytes(f, ret->debug_link, feed_u8(f));
}

static void check_build_id(const char id[ELF_BUILD_ID_SIZE])
{
	EXPECT(memchr(id, '\0', ELF_BUILD_ID_SIZE));
	for (; *id; id++)
		EXPECT(isdigit((unsigned char)*id) || (*id >= 'a' && *id <= 'f'));
}

static void check_text(const struct parse_result *r)
{
	check_build_id(r->facts.origin.build_id);
	EXPECT(memchr(r->facts.packer, '\0', sizeof(r->facts.packer)));
	for (const char *c = r->facts.packer; *c; c++)
		EXPECT(isprint((unsigned char)*c));
	EXPECT(memchr(r->debug_link, '\0', sizeof(r->debug_link)));
	EXPECT(!strchr(r->debug_link, '/'));
	EXPECT(strcmp(r->debug_link, ".") != 0 && strcmp(r->debug_link, "..") != 0);
}

/* Reads all values; a sanitizer sees one that is not of its type. */
static void use_facts(const struct elf_facts *facts)
{
	for (size_t i = 0; i < facts->n_segments; i++) {
		const struct elf_segment *s = &facts->segments[i];
		uint8_t executable, writable;
		uint64_t bias;

		memcpy(&executable, (const char *)s + offsetof(struct elf_segment, executable), 1);
		memcpy(&writable, (const char *)s + offsetof(struct elf_segment, writable), 1);
		EXPECT(executable <= 1 && writable <= 1);
		(void)elf_facts_bias(facts, s->address, s->offset, &bias);
	}
	for (size_t i = 0; i < facts->n_code; i++) {
		const struct elf_code *c = &facts->code[i];
		uint64_t offset;
		size_t n;

		if (elf_facts_code_before(facts, c->address + c->size, 64, &offset, &n) == 0)
			EXPECT(n > 0 && n <= 64);
	}
}

static void check_result(enum parse_kind kind, const struct parse_result *r, size_t file_size)
{
	EXPECT(r->facts.origin.unwind.source < ELF_N_SOURCES);
	EXPECT(r->facts.n_segments * sizeof(struct elf_segment) +
		       r->facts.n_code * sizeof(struct elf_code) +
		       (size_t)r->image.n_cells * DP_CELL_SIZE ==
	       file_size - r->table_size - r->n_lines * sizeof(*r->lines) - r->object_size);
	EXPECT((kind == PARSE_OBJECT || kind == PARSE_DUMP) == (r->object_size > 0));
	EXPECT((kind == PARSE_IMAGE) == (r->image.n_cells > 0));
	EXPECT((kind == PARSE_TABLE) == (r->table != NULL));
	EXPECT((kind == PARSE_CODE) == (r->n_lines > 0) &&
	       code_lines_are_sound(r->lines, r->n_lines));
	EXPECT(!r->image.refusals && r->image.n_refusals == 0);
	if (r->image.n_cells > 0)
		EXPECT(image_is_sound(r->image.cells, r->image.n_cells));
	check_text(r);
	use_facts(&r->facts);
}

static void check_table(const struct table_view *v)
{
	const struct table_section *s = table_view_sections(v);
	const struct image_refusal *r = table_view_refusals(v);
	const char *rows = table_view_rows(v);

	for (size_t i = 0; i < v->n_sections; i++)
		EXPECT(strlen(s[i].name) < sizeof(s[i].name));
	for (size_t i = 0; i < v->n_refusals; i++)
		EXPECT(rule_refusal_word(r[i].why) && cfi_reason_word(r[i].cfi.reason));
	for (size_t i = 0; i < v->rows_size; i++)
		EXPECT(rows[i] == '\n' || isprint((unsigned char)rows[i]));
	EXPECT(strlen(v->labels) < sizeof(v->labels));
	EXPECT(strlen(v->labels_at) < sizeof(v->labels_at));
}

static void check_error(int err, const struct parse_result *r)
{
	EXPECT(err == -EPROTO || err == -ENOMEM || err == -ENOEXEC || err == -ENOTSUP ||
	       err == -EBADMSG || err == -ENODATA || err == -EFBIG || err == -E2BIG ||
	       err == -EINVAL);
	EXPECT(!r->facts.segments && !r->facts.code && !r->image.cells);
	EXPECT(r->facts.n_segments == 0 && r->facts.n_code == 0 && r->image.n_cells == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size };
	enum parse_kind kind = feed_u8(&feed) % PARSE_N_KINDS;
	uint64_t requested_size = feed_number(&feed, 4);
	int file = memfd_create("fuzz", MFD_CLOEXEC);
	struct parser_reply reply;
	struct parse_result result;
	size_t left;
	int err;

	feed_reply(&feed, &reply);
	left = (size_t)(feed.end - feed.pos);
	EXPECT(file >= 0 && write(file, feed.pos, left) == (ssize_t)left);
	/* All that is left, in place of other values. */
	if (kind == PARSE_TABLE && reply.facts.n_segments == 0 && reply.facts.n_code == 0)
		reply.table_size = left;
	if (kind == PARSE_CODE && reply.facts.n_segments == 0 && reply.facts.n_code == 0)
		reply.n_lines = left / sizeof(*result.lines);
	if (kind == PARSE_OBJECT && reply.facts.n_segments == 0 && reply.facts.n_code == 0)
		reply.object_size = left;
	err = parser_take(kind, &reply, file, requested_size, &result);
	if (err == 0)
		check_result(kind, &result, left);
	if (err == 0 && result.table)
		check_table(result.table);
	if (err < 0)
		check_error(err, &result);
	parse_result_done(&result);
	close(file);
	return 0;
}
