// SPDX-License-Identifier: Apache-2.0
/* A parser may have been taken over by the file that it parses: answers that no parser gives. */
#include "sandbox/parser.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "tables/rule.h"

#define FILE_SIZE 1000000

/* An honest answer, of this program. */
static struct parser_reply honest;
static int result_fd;

static void begin(void)
{
	_cleanup_(parse_result_done) struct parse_result facts = { 0 }, image = { 0 };
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_facts *f = &facts.facts;

	cr_assert(parse_here(&(struct parse_request){ PARSE_FACTS, fd, -1 }, &facts) == 0);
	cr_assert(parse_here(&(struct parse_request){ PARSE_IMAGE, fd, -1 }, &image) == 0);
	honest = (struct parser_reply){
		.facts = *f,
		.n_cells = image.image.n_cells,
		.stats = image.image.stats,
	};
	honest.facts.segments = NULL;
	honest.facts.code = NULL;
	result_fd = memfd_create("result", MFD_CLOEXEC);
	cr_assert(write(result_fd, f->segments, f->n_segments * sizeof(*f->segments)) > 0);
	cr_assert(write(result_fd, f->code, f->n_code * sizeof(*f->code)) > 0);
	cr_assert(write(result_fd, image.image.cells, image.image.n_cells * 8UL) > 0);
}

static void end(void)
{
	close(result_fd);
}

TestSuite(parser, .init = begin, .fini = end, .timeout = 60);

static int take_as(enum parse_kind kind, const struct parser_reply *reply)
{
	struct parse_result result;
	int err = parser_take(kind, reply, result_fd, FILE_SIZE, &result);

	cr_assert(err == 0 || (!result.facts.segments && !result.image.cells));
	parse_result_done(&result);
	return err;
}

static void leave_facts(const struct parser_reply *reply)
{
	size_t size = reply->facts.n_segments * sizeof(struct elf_segment) +
		      reply->facts.n_code * sizeof(struct elf_code);

	cr_assert_eq(ftruncate(result_fd, (off_t)size), 0);
}

/* Where parameters are: the kernel is told as it is. */
Test(parser, says_where_parameters_can_be)
{
	const struct parameter wrong[] = {
		{ .type = VALUE_N_TYPES },
		{ .type = VALUE_N_TYPES + 1, .why = "x" },
		{ .how.base = DP_BASE_TIME },
		{ .how.reg = DP_N_REGISTERS },
		{ .how.n_derefs = DP_MAX_DEREFS + 1 },
		{ .how.size = 9 },
		{ .how.is_text = DP_TEXT_LENGTH },
		{ .how.is_what = 1 },
		{ .length.reg = DP_N_REGISTERS },
		{ .length.n_derefs = DP_MAX_DEREFS + 1 },
		{ .length.is_text = DP_TEXT_ENDED },
		{ .type = VALUE_N_TYPES, .why = "\033[0m" },
	};
	struct parser_reply reply = honest;

	reply.n_cells = 0;
	leave_facts(&reply);
	reply.parameters[DP_MAX_ARGUMENTS - 1] =
		(struct parameter){ .type = VALUE_N_TYPES, .why = "optimized out" };
	cr_assert_eq(take_as(PARSE_PARAMETERS, &reply), 0);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		reply.parameters[DP_MAX_ARGUMENTS - 1] = wrong[i];
		cr_assert_eq(take_as(PARSE_PARAMETERS, &reply), -EPROTO, "%zu", i);
	}
}

/* What is in a container's names ends in labels, and on terminals. */
Test(parser, says_what_may_be_a_containers_name)
{
	struct parser_reply reply = { .container = { .name = "web-1", .image = "h:1/web" } };
	struct parse_result result;

	cr_assert_eq(ftruncate(result_fd, 0), 0);
	cr_assert_eq(parser_take(PARSE_CONTAINER, &reply, result_fd, FILE_SIZE, &result), 0);
	cr_assert_str_eq(result.container.name, "web-1");
	cr_assert_str_eq(result.container.image, "h:1/web");
	parse_result_done(&result);
	strcpy(reply.container.pod, "\033[0m");
	cr_assert_eq(take_as(PARSE_CONTAINER, &reply), -EPROTO);
	memset(reply.container.pod, 'a', sizeof(reply.container.pod));
	cr_assert_eq(take_as(PARSE_CONTAINER, &reply), -EPROTO);
}

/* So does what a process says of itself. */
Test(parser, says_what_may_be_a_processs_context)
{
	struct process_context context = { .service_name = "shop",
					   .n_keys = 1,
					   .keys[0] = "route" };
	struct parser_reply reply = { .has_context = 1 };
	struct parse_result result;

	cr_assert_eq(ftruncate(result_fd, 0), 0);
	cr_assert_eq(pwrite(result_fd, &context, sizeof(context), 0), sizeof(context));
	cr_assert_eq(parser_take(PARSE_CONTEXT, &reply, result_fd, FILE_SIZE, &result), 0);
	cr_assert_str_eq(result.context->service_name, "shop");
	parse_result_done(&result);
	cr_assert_eq(take_as(PARSE_FACTS, &reply), -EPROTO);
	reply.has_context = 2;
	cr_assert_eq(take_as(PARSE_CONTEXT, &reply), -EPROTO);
	reply.has_context = 1;
	context.keys[0][0] = '\n';
	cr_assert_eq(pwrite(result_fd, &context, sizeof(context), 0), sizeof(context));
	cr_assert_eq(take_as(PARSE_CONTEXT, &reply), -EPROTO);
	reply.has_context = 0;
	cr_assert_eq(ftruncate(result_fd, 0), 0);
	cr_assert_eq(take_as(PARSE_CONTEXT, &reply), -EPROTO);
}

Test(parser, says_what_values_are_called)
{
	struct enumerator names[2] = { { 1, "one" }, { 2, "two" } };
	struct parser_reply reply = { .n_names = 2 };
	struct parse_result result;

	for (int i = 0; i < 2; i++)
		reply.parameters[i] = (struct parameter){ .type = VALUE_U8, .n_names = 1 };
	cr_assert_eq(ftruncate(result_fd, 0), 0);
	cr_assert_eq(pwrite(result_fd, names, sizeof(names), 0), sizeof(names));
	cr_assert_eq(parser_take(PARSE_PARAMETERS, &reply, result_fd, FILE_SIZE, &result), 0);
	cr_assert(result.names.n == 2 && memcmp(result.names.of, names, sizeof(names)) == 0);
	parse_result_done(&result);
	reply.parameters[0].n_names = 2;
	cr_assert_eq(take_as(PARSE_PARAMETERS, &reply), -EPROTO);
	reply.parameters[0].n_names = UINT32_MAX;
	cr_assert_eq(take_as(PARSE_PARAMETERS, &reply), -EPROTO);
	reply.parameters[0].n_names = 1;
	memset(names[1].name, 'x', sizeof(names[1].name));
	cr_assert_eq(pwrite(result_fd, names, sizeof(names), 0), sizeof(names));
	cr_assert_eq(take_as(PARSE_PARAMETERS, &reply), -EPROTO);
}

/* About generated code, and about that alone. */
Test(parser, says_how_far_it_has_read)
{
	struct parser_reply reply = { .position = 7, .lines_at = 3, .has_more = 1, .has_times = 1 };
	struct parse_result result;

	cr_assert_eq(ftruncate(result_fd, 0), 0);
	cr_assert_eq(pwrite(result_fd, "piece", 5, 0), 5);
	reply.n_pieces = 5;
	cr_assert_eq(parser_take(PARSE_JIT, &reply, result_fd, FILE_SIZE, &result), 0);
	cr_assert(result.position.at == 7 && result.position.lines_at == 3);
	cr_assert(result.has_more && result.position.has_times && !result.position.is_closed);
	cr_assert(result.pieces.n == 5 && memcmp(result.pieces.bytes, "piece", 5) == 0);
	parse_result_done(&result);
	cr_assert_eq(take_as(PARSE_FACTS, &reply), -EPROTO);
	for (size_t i = 0; i < 4; i++) {
		struct parser_reply wrong = reply;

		wrong.has_more += i == 0;
		wrong.has_times += i == 1;
		wrong.is_closed += i == 2 ? 2 : 0;
		wrong.n_pieces += i == 3;
		cr_assert_eq(take_as(PARSE_JIT, &wrong), -EPROTO, "%zu", i);
	}
	cr_assert_eq(ftruncate(result_fd, JIT_PIECES_MAX), 0);
	reply.n_pieces = JIT_PIECES_MAX;
	cr_assert_eq(take_as(PARSE_JIT, &reply), -EPROTO);
}

static int take(const struct parser_reply *reply)
{
	return take_as(PARSE_IMAGE, reply);
}

Test(parser, is_believed_if_it_may_be_right)
{
	cr_assert(take(&honest) == 0);
}

#define EXPECT_REFUSED(change)                                                                     \
	do {                                                                                       \
		struct parser_reply reply = honest;                                                \
                                                                                                   \
		change;                                                                            \
		cr_assert_eq(take(&reply), -EPROTO, #change);                                      \
	} while (0)

Test(parser, text_is_checked)
{
	EXPECT_REFUSED(
		memset(reply.facts.origin.build_id, 'a', sizeof(reply.facts.origin.build_id)));
	EXPECT_REFUSED(memcpy(reply.facts.origin.build_id, "../../etc", 10));
	EXPECT_REFUSED(memset(reply.facts.packer, 'U', sizeof(reply.facts.packer)));
	EXPECT_REFUSED(memcpy(reply.facts.packer, "\033[2J", 5));
	EXPECT_REFUSED(memset(reply.debug_link, 'x', sizeof(reply.debug_link)));
	EXPECT_REFUSED(memcpy(reply.debug_link, "a/b", 4));
	EXPECT_REFUSED(memcpy(reply.debug_link, "..", 3));
	EXPECT_REFUSED(memset(reply.type, 'x', sizeof(reply.type)));
}

Test(parser, numbers_are_checked)
{
	EXPECT_REFUSED(reply.err = 1);
	EXPECT_REFUSED(reply.n_cells = 0);
	cr_assert_eq(take_as(PARSE_FACTS, &honest), -EPROTO); /* which have no image */
	EXPECT_REFUSED(reply.facts.n_segments = SIZE_MAX / sizeof(struct elf_segment) + 2);
	EXPECT_REFUSED(reply.facts.n_code = SIZE_MAX / 2);
	EXPECT_REFUSED(reply.facts.origin.unwind.source = ELF_N_SOURCES);
	EXPECT_REFUSED(memset(&reply.lacks_cfi, 2, sizeof(reply.lacks_cfi)));
	EXPECT_REFUSED(memset(&reply.is_so, 255, sizeof(reply.is_so)));
	EXPECT_REFUSED(reply.cxx.throws[CXX_RETHROW].object = DP_N_REGISTERS + 1);
	EXPECT_REFUSED(reply.cxx.throws[CXX_THROW].type = DP_N_REGISTERS + 1);
	EXPECT_REFUSED(reply.cxx.throws[CXX_RETHROW_HELD].is_held = 2);
	EXPECT_REFUSED(reply.cxx.throws[CXX_RAISE].text = UINT8_MAX + 1);
	EXPECT_REFUSED(reply.cxx.hides = CXX_HIDES_PYTHON + 1);
	/* Larger than the file could make it, and than the file for the result */
	EXPECT_REFUSED(reply.n_cells = UINT32_MAX);
	EXPECT_REFUSED(reply.n_cells++);
}

Test(parser, image_is_checked)
{
	off_t cells = (off_t)(honest.facts.n_segments * sizeof(struct elf_segment) +
			      honest.facts.n_code * sizeof(struct elf_code));

	EXPECT_REFUSED(reply.facts.n_segments--); /* shifts all others */
	cr_assert(pwrite(result_fd, &(uint64_t){ UINT64_MAX }, 8, cells + 8) == 8);
	EXPECT_REFUSED((void)reply);
}

static int read_type(const char *name, struct parse_result *ret)
{
	_cleanup_close_ int fd = memfd_create("type", MFD_CLOEXEC);

	cr_assert_eq(write(fd, name, strlen(name)), (ssize_t)strlen(name));
	return parse_here(&(struct parse_request){ PARSE_TYPE, fd, -1 }, ret);
}

Test(parser, reads_names_of_types)
{
	char longer[2 * 300 + 2] = "";
	struct parse_result result;

	cr_assert_eq(read_type("St9bad_alloc", &result), 0);
	cr_assert_str_eq(result.type, "std::bad_alloc");
	cr_assert_eq(read_type("", &result), -ENODATA);
	cr_assert_eq(result.type[0], '\0');
	/* In the source it has " const*" for each. */
	for (int i = 0; i < 300; i++)
		strcat(longer, "PK");
	cr_assert_eq(read_type(strcat(longer, "i"), &result), -ENODATA);
}

/* Only those that a file can cause: others would tell this process what to do. */
Test(parser, usdt_places_are_checked)
{
	struct parser_reply reply = honest;
	const struct usdt_place good = { .provider = "a", .name = "b", .n_arguments = 1 };
	struct usdt_place bad[5] = { good, good, good, good, good };
	off_t at = lseek(result_fd, 0, SEEK_END);

	memset(bad[0].name, 'x', sizeof(bad[0].name));
	bad[1].provider[0] = '\n';
	bad[2].n_arguments = USDT_MAX_ARGUMENTS + 1;
	bad[3].arguments[0].how.n_derefs = 2;
	bad[4].arguments[0].type = VALUE_N_TYPES + 1;
	reply.n_usdt = 1;
	cr_assert_eq(take_as(PARSE_IMAGE, &reply), -EPROTO);
	cr_assert_eq(pwrite(result_fd, &good, sizeof(good), at), sizeof(good));
	cr_assert_eq(take_as(PARSE_IMAGE, &reply), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cr_assert_eq(pwrite(result_fd, &bad[i], sizeof(good), at), sizeof(good));
		cr_assert_eq(take_as(PARSE_IMAGE, &reply), -EPROTO, "%zu", i);
	}
}

static struct table_view view_of_this_program(size_t *ret_size)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct parse_request request = {
		.kind = PARSE_TABLE, .fd = fd, .other = -1, .rows = TABLE_ROWS
	};

	cr_assert_eq(parse_here(&request, &result), 0);
	cr_assert(result.table->n_sections > 0 && result.table->rows_size > 0);
	cr_assert_eq(ftruncate(result_fd, 0), 0);
	cr_assert_eq(pwrite(result_fd, result.table, result.table_size, 0),
		     (ssize_t)result.table_size);
	*ret_size = result.table_size;
	return *result.table;
}

/* Where its parts are in the file for the result. */
#define SECTION sizeof(struct table_view)
#define ROWS(view) (SECTION + (view).n_sections * sizeof(struct table_section))

static void try_table(const struct parser_reply *reply, const void *bytes, size_t size, off_t at)
{
	char kept[sizeof(struct table_view)];

	cr_assert(size <= sizeof(kept) && pread(result_fd, kept, size, at) == (ssize_t)size);
	cr_assert_eq(pwrite(result_fd, bytes, size, at), (ssize_t)size);
	cr_assert_eq(take_as(PARSE_TABLE, reply), -EPROTO, "at %ld", at);
	cr_assert_eq(pwrite(result_fd, kept, size, at), (ssize_t)size);
	cr_assert_eq(take_as(PARSE_TABLE, reply), 0);
}

/* They end on a terminal. */
Test(parser, tables_are_checked)
{
	struct parser_reply reply = { 0 };
	size_t size;
	const struct table_view good = view_of_this_program(&size);
	struct table_view bad[] = { good, good, good, good, good, good, good, good, good, good };
	struct table_section section = { .name = "x", .size = 1, .covered = 2 };

	reply.table_size = size;
	cr_assert_eq(good.n_refusals, 0);
	cr_assert_eq(take_as(PARSE_FACTS, &reply), -EPROTO);
	bad[0].build_id[0] = '\033';
	memset(bad[1].packer, 'x', sizeof(bad[1].packer));
	bad[2].labels[0] = '\n';
	bad[3].labels_at[0] = '\n';
	bad[4].source = ELF_N_SOURCES;
	bad[5].is_debug_frame = 2;
	bad[6].covered_bytes = bad[6].code_bytes + 1;
	bad[7].n_sections = UINT64_MAX / sizeof(struct table_section) + 2;
	bad[8].n_refusals = UINT64_MAX / sizeof(struct image_refusal) + 2;
	bad[9].rows_size--;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		try_table(&reply, &bad[i], sizeof(bad[i]), 0);
	try_table(&reply, &section, sizeof(section), SECTION);
	memset(section.name, 'x', sizeof(section.name));
	section.covered = 0;
	try_table(&reply, &section, sizeof(section), SECTION);
	try_table(&reply, "\033", 1, (off_t)ROWS(good));
	try_table(&reply, " ", 1, (off_t)size - 1);
	reply.table_size = sizeof(struct table_view) - 1;
	cr_assert_eq(ftruncate(result_fd, (off_t)reply.table_size), 0);
	cr_assert_eq(take_as(PARSE_TABLE, &reply), -EPROTO);
	reply.table_size = 0;
	cr_assert_eq(ftruncate(result_fd, 0), 0);
	cr_assert_eq(take_as(PARSE_TABLE, &reply), -EPROTO);
}

/* So do instructions. */
Test(parser, code_is_checked)
{
	struct code_line line = { .address = 1, .size = 1, .text = "ret" };
	struct parser_reply reply = { .n_lines = 1 };

	cr_assert_eq(ftruncate(result_fd, 0), 0);
	cr_assert_eq(pwrite(result_fd, &line, sizeof(line), 0), sizeof(line));
	cr_assert_eq(take_as(PARSE_CODE, &reply), 0);
	cr_assert_eq(take_as(PARSE_FACTS, &reply), -EPROTO);
	line.text[0] = '\033';
	cr_assert_eq(pwrite(result_fd, &line, sizeof(line), 0), sizeof(line));
	cr_assert_eq(take_as(PARSE_CODE, &reply), -EPROTO);
	reply.n_lines = CODE_LINES_MAX + 1;
	cr_assert_eq(ftruncate(result_fd, (off_t)(reply.n_lines * sizeof(line))), 0);
	cr_assert_eq(take_as(PARSE_CODE, &reply), -EPROTO);
	reply.n_lines = 0;
	cr_assert_eq(ftruncate(result_fd, 0), 0);
	cr_assert_eq(take_as(PARSE_CODE, &reply), -EPROTO);
}

/* Whatever it is, others read it as a stranger's file. */
Test(parser, an_object_is_bounded)
{
	struct parser_reply reply = { .object_size = 4 };
	struct parse_result result;

	cr_assert_eq(ftruncate(result_fd, 0), 0);
	cr_assert_eq(pwrite(result_fd, "code", 4, 0), 4);
	cr_assert_eq(parser_take(PARSE_OBJECT, &reply, result_fd, 1, &result), 0);
	cr_assert_eq(result.object_size, 4);
	cr_assert_eq(memcmp(result.object, "code", 4), 0);
	parse_result_done(&result);
	cr_assert_eq(take_as(PARSE_FACTS, &reply), -EPROTO);
	reply.object_size = 5;
	cr_assert_eq(take_as(PARSE_OBJECT, &reply), -EPROTO);
	reply.object_size = 2 * JIT_OBJECT_SIZE + 1;
	cr_assert_eq(ftruncate(result_fd, (off_t)reply.object_size), 0);
	cr_assert_eq(take_as(PARSE_OBJECT, &reply), -EPROTO);
	reply.object_size = 0;
	cr_assert_eq(ftruncate(result_fd, 0), 0);
	cr_assert_eq(take_as(PARSE_OBJECT, &reply), -EPROTO);
}

/* Whatever a refusal says, there are words for it. */
Test(parser, refusals_are_checked)
{
	struct {
		struct table_view view;
		struct image_refusal refusal;
	} all = { .view = { .labels = "none", .n_refusals = 1 } };
	const struct image_refusal good = {
		.start = 1, .end = 2, .why = RULE_CFI, .cfi.reason = CFI_BAD_STACK
	};
	struct image_refusal bad[] = { good, good, good, good };
	const struct parser_reply reply = { .table_size = sizeof(all) };

	bad[0].why = RULE_N_REFUSALS;
	bad[1].why = RULE_NONE;
	bad[2].cfi.reason = CFI_N_REASONS;
	bad[3].start = 3;
	all.refusal = good;
	cr_assert_eq(ftruncate(result_fd, 0), 0);
	cr_assert_eq(pwrite(result_fd, &all, sizeof(all), 0), sizeof(all));
	cr_assert_eq(take_as(PARSE_TABLE, &reply), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		try_table(&reply, &bad[i], sizeof(good), sizeof(all.view));
}

Test(parser, functions_are_checked)
{
	struct parser_reply reply = honest;
	char bytes[35] = "";
	off_t at = lseek(result_fd, 0, SEEK_END);

	bytes[32] = 'f';
	reply.functions_size = sizeof(bytes);
	cr_assert_eq(take_as(PARSE_IMAGE, &reply), -EPROTO, "they are not there");
	cr_assert_eq(pwrite(result_fd, bytes, sizeof(bytes), at), sizeof(bytes));
	cr_assert_eq(take_as(PARSE_IMAGE, &reply), 0);
	bytes[34] = 'f';
	cr_assert_eq(pwrite(result_fd, bytes, sizeof(bytes), at), sizeof(bytes));
	cr_assert_eq(take_as(PARSE_IMAGE, &reply), -EPROTO, "a name without an end");
}

Test(parser, errors_are_checked)
{
	static const int refused[] = { -ESHUTDOWN, -ECONNABORTED, -ETIME, -EPROTO, -EPIPE,
				       1,          INT_MIN };
	struct parser_reply reply = honest;

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		reply.err = refused[i];
		cr_assert_eq(take(&reply), -EPROTO, "%d", refused[i]);
	}
	reply.err = -ENOEXEC;
	cr_assert_eq(take(&reply), -ENOEXEC);
}

/* The caller frees the result, whatever happens. */
Test(parse, leaves_nothing_of_what_is_no_elf_file)
{
	const struct parse_request request = { .kind = PARSE_FACTS, .fd = -1, .other = -1 };
	struct parse_result results[2];

	memset(results, 0xff, sizeof(results));
	cr_assert(parse_here(&request, &results[0]) < 0);
	cr_assert(parse_memory(PARSE_FACTS, "text", 4, &results[1]) < 0);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		cr_assert(!results[i].facts.segments && !results[i].facts.code &&
			  !results[i].image.cells);
}
