// SPDX-License-Identifier: Apache-2.0
#include "report/frame_kind.h"
#include "report/sample.h"

#include <sys/mman.h>

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
