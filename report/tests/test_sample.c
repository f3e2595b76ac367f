// SPDX-License-Identifier: Apache-2.0
#include "report/frame_kind.h"
#include "report/sample.h"

#include <sys/mman.h>

#include "symbols/code_source.h"
#include "symbols/jit.h"
#include "symbols/tests/jit_dump_bytes.h"
#include "symbols/tests/some_names.h"

static struct module compiled = { .path = (char *)MODULE_JIT, .name = MODULE_JIT, .fd = -1 };

static void expect_location(uint64_t address, enum dp_method method, const char *function,
			    unsigned int line)
{
	struct frame frame = { .address = address, .module = &compiled, .method = method };
	const struct source_location *locations;

	frame_locate(&frame, UINT64_MAX);
	cr_assert_eq(frame_locations(&frame, true, &locations), 1);
	cr_expect_str_eq(locations[0].function, function);
	cr_expect_eq(locations[0].line, line, "%u", locations[0].line);
}

/* A call returns to the next line, or to the start of another function. */
Test(frame, is_where_its_call_is_in_compiled_code)
{
	int dump = memfd_create("dump", MFD_CLOEXEC);

	compiled.names = some_names();
	cr_assert_eq(jit_new(compiled.names, &compiled.jit), 0);
	put(dump, &good_header, sizeof(good_header));
	put_lines(dump, 0x1000, 0x1000, 0x1008);
	put_load(dump, 0, 0x1000, 16, "caller");
	put_load(dump, 0, 0x1010, 16, "next");
	jit_set_dump(compiled.jit, dump, getuid());
	expect_location(0x1008, DP_METHOD_LEAF, "caller", 8);
	expect_location(0x1008, DP_METHOD_TABLE, "caller", 7);
	expect_location(0x100a, DP_METHOD_TABLE, "caller", 8);
	expect_location(0x1010, DP_METHOD_TABLE, "caller", 8);
	expect_location(0x1010, DP_METHOD_LEAF, "next", 0);
	jit_free(compiled.jit);
}

static uint64_t number_read;

static void note_read(struct code_source *source, uint64_t number)
{
	(void)source;
	number_read = number;
}

static size_t locate_two(struct code_source *source, uint64_t number, const uint64_t **ret,
			 bool *ret_is_near)
{
	static const uint64_t located[] = { 1, 2 };

	(void)source;
	*ret = located;
	*ret_is_near = number == 7;
	return 2;
}

Test(frame, is_marked_if_its_functions_are_those_of_a_place_near_it)
{
	struct code_source source = { .read = note_read, .locate = locate_two };
	struct frame frame = { .offset = 7, .module = &compiled, .method = DP_METHOD_JAVA };
	struct frame found[DP_MAX_FRAMES];
	bool is_cut;

	compiled.names = some_names();
	cr_assert_eq(jit_new(compiled.names, &compiled.jit), 0);
	compiled.code = &source;
	cr_assert_eq(frames_locate(&frame, 1, UINT64_MAX, found, &is_cut), 2);
	for (size_t i = 0; i < 2; i++) {
		cr_expect(frame_is_near(&found[i]) && frame_is_interpreted(&found[i]));
		cr_expect_str_eq(frame_path(&found[i]), "[java]");
		cr_expect_eq(found[i].offset, i + 1);
	}
	frame.offset = 6;
	cr_assert_eq(frames_locate(&frame, 1, UINT64_MAX, found, &is_cut), 2);
	cr_expect(!frame_is_near(&found[0]) && !frame_is_near(&found[1]));
	cr_expect_eq(number_read, 0, "by another thread");
	frame.offset = 7;
	frame_locate(&frame, UINT64_MAX);
	cr_expect_eq(number_read, 7);
	cr_expect(frame_is_near(&frame) && frame.offset == 2);
	compiled.code = NULL;
	jit_free(compiled.jit);
}

Test(sample, has_the_kind_of_its_leaf)
{
	const __u64 kernel[] = { 0 };
	const struct frame user[] = { { .method = DP_METHOD_JAVA }, { .method = DP_METHOD_TABLE } };
	struct sample sample = { .event = DP_EVENT_CPU };
	enum frame_kind kind;

	cr_expect_not(frame_kind_of_sample(&sample, &kind));
	sample.user = user;
	sample.n_user = 2;
	cr_assert(frame_kind_of_sample(&sample, &kind));
	cr_expect_str_eq(frame_kind_word(kind), "java");
	cr_expect_str_eq(frame_kind_word(frame_kind(&user[1])), "native");
	sample.kernel = kernel;
	sample.n_kernel = 1;
	cr_assert(frame_kind_of_sample(&sample, &kind));
	cr_expect_str_eq(frame_kind_word(kind), "kernel");
	sample.event = DP_EVENT_OFF_CPU;
	cr_assert(frame_kind_of_sample(&sample, &kind));
	cr_expect_str_eq(frame_kind_word(kind), "java");
}
