// SPDX-License-Identifier: Apache-2.0
/* Whether a call of a probed function may be on a stack, by its frames and mappings. */
#include "samples/probed_code.h"

#include <criterion/criterion.h>
#include <string.h>

#include "process/snapshot.h"
#include "report/sample.h"

static struct binary binary = { .id = { .device = 8, .inode = 12 } };
static struct binary other = { .id = { .device = 8, .inode = 13 } };
static struct mapping mappings[2];
static struct snapshot snapshot = { .n_mappings = 2, .mappings = mappings };
/* 32 bytes at 0x1100 of the file, 16 bytes of it at 0x1800 */
static struct probed_code code;
static struct frame frames[2];
static struct sample sample;

static void begin(void)
{
	mappings[0] = (struct mapping){
		.start = 0x40000, .end = 0x41000, .offset = 0x1000, .binary = &binary
	};
	mappings[1] = (struct mapping){
		.start = 0x50000, .end = 0x52000, .offset = 0x1000, .binary = &other
	};
	code = (struct probed_code){ .device = 8, .inode = 12, .n = 1, .starts = { 0x1100 } };
	code.places.of[0] = (struct dp_span_place){ 32, 0x700, 16, 1 };
	sample = (struct sample){ .user = frames, .n_user = 2, .outcome = DP_COMPLETE };
	frames[0] = (struct frame){ .address = 0x40000, .method = DP_METHOD_LEAF };
	frames[1] = (struct frame){ .address = 0x50101, .method = DP_METHOD_TABLE };
}

TestSuite(probed_code, .init = begin);

static bool runs_at(uint64_t address, enum dp_method method)
{
	frames[0] = (struct frame){ .address = address, .method = method };
	return probed_code_may_run(&code, &snapshot, &sample);
}

Test(probed_code, runs_where_it_is)
{
	cr_assert(!runs_at(0x400ff, DP_METHOD_LEAF));
	cr_assert(runs_at(0x40101, DP_METHOD_LEAF));
	cr_assert(runs_at(0x4011f, DP_METHOD_LEAF));
	cr_assert(!runs_at(0x40120, DP_METHOD_LEAF));
	cr_assert(!runs_at(0x407ff, DP_METHOD_LEAF));
	cr_assert(runs_at(0x40800, DP_METHOD_LEAF));
	cr_assert(runs_at(0x4080f, DP_METHOD_LEAF));
	cr_assert(!runs_at(0x40810, DP_METHOD_LEAF));
	cr_assert(!runs_at(0x50101, DP_METHOD_LEAF), "another file");
	cr_assert(!runs_at(0x60000, DP_METHOD_LEAF), "no mapping");
}

/* The probe is hit at its first instruction. */
Test(probed_code, has_not_begun_at_its_start)
{
	cr_assert(!runs_at(0x40100, DP_METHOD_LEAF));
	code.places.of[0].begun = 2;
	cr_assert(!runs_at(0x40101, DP_METHOD_LEAF), "at its breakpoint");
	cr_assert(runs_at(0x40102, DP_METHOD_LEAF));
	cr_assert(runs_at(0x40101, DP_METHOD_TABLE));
}

Test(probed_code, calls_before_return_addresses)
{
	cr_assert(!runs_at(0x40100, DP_METHOD_TABLE));
	cr_assert(runs_at(0x40101, DP_METHOD_TABLE));
	cr_assert(runs_at(0x40120, DP_METHOD_TABLE));
	cr_assert(!runs_at(0x40121, DP_METHOD_TABLE));
}

/* Where the kernel sees no call, there may be one. */
Test(probed_code, may_be_elsewhere)
{
	static struct code_extent maybe[] = { { 0x1300, 16 }, { 0x1400, 16 } };

	cr_assert(!runs_at(0x40400, DP_METHOD_LEAF));
	code.maybe = maybe;
	code.n_maybe = 2;
	cr_assert(runs_at(0x40300, DP_METHOD_LEAF));
	cr_assert(runs_at(0x40400, DP_METHOD_LEAF));
	cr_assert(runs_at(0x4040f, DP_METHOD_LEAF));
	cr_assert(!runs_at(0x40410, DP_METHOD_LEAF));
	cr_assert(!runs_at(0x403ff, DP_METHOD_LEAF));
}

static bool hides(uint64_t inner, uint64_t outer)
{
	frames[0] = (struct frame){ .address = inner, .method = DP_METHOD_LEAF };
	frames[1] = (struct frame){ .address = outer, .method = DP_METHOD_TABLE };
	return probed_code_may_hide(&code, &snapshot, &sample);
}

Test(probed_code, hides_calls_further_out)
{
	static struct code_extent maybe[] = { { 0x1400, 16 } };

	cr_assert(!hides(0x40400, 0x40104));
	code.maybe = maybe;
	code.n_maybe = 1;
	cr_assert(hides(0x40400, 0x40104));
	cr_assert(hides(0x50000, 0x40404));
	cr_assert(!hides(0x40104, 0x40404), "a call that the kernel has seen is the innermost");
	cr_assert(!hides(0x50000, 0x40104));
}

Test(probed_code, may_run_where_the_walk_did_not_get_to)
{
	cr_assert(!probed_code_may_run(&code, &snapshot, &sample));
	sample.outcome = DP_READ_FAULT;
	cr_assert(probed_code_may_run(&code, &snapshot, &sample));
	mappings[0].binary = NULL;
	cr_assert(!probed_code_may_run(&code, &snapshot, &sample), "no process with the file");
	mappings[0].binary = &binary;
	code.device = 9;
	cr_assert(!probed_code_may_run(&code, &snapshot, &sample), "a file of another device");
	snapshot.lacks_some = true;
	cr_assert(probed_code_may_run(&code, &snapshot, &sample), "what is pending may have it");
	sample.outcome = DP_COMPLETE;
	cr_assert(!probed_code_may_run(&code, &snapshot, &sample));
}

Test(probed_code, may_be_in_code_that_is_pending)
{
	cr_assert(!runs_at(0x60000, DP_METHOD_LEAF));
	snapshot.lacks_some = true;
	cr_assert(runs_at(0x60000, DP_METHOD_LEAF));
	cr_assert(!runs_at(0x50101, DP_METHOD_LEAF), "another file");
	snapshot.lacks_some = false;
	cr_assert(!hides(0x60000, 0x40104));
	snapshot.lacks_some = true;
	cr_assert(hides(0x60000, 0x40104));
}

/* As mapped by way of an overlay, it has another device and inode. */
Test(probed_code, is_known_by_its_build_id)
{
	cr_assert(!runs_at(0x50101, DP_METHOD_LEAF));
	strcpy(other.elf.origin.build_id, "0123");
	cr_assert(!runs_at(0x50101, DP_METHOD_LEAF));
	strcpy(code.build_id, "0123");
	cr_assert(runs_at(0x50101, DP_METHOD_LEAF));
	strcpy(code.build_id, "01");
	cr_assert(!runs_at(0x50101, DP_METHOD_LEAF));
}

static void set_frames(uint64_t inner, uint64_t outer)
{
	frames[0] = (struct frame){ .address = inner, .method = DP_METHOD_LEAF };
	frames[1] = (struct frame){ .address = outer, .method = DP_METHOD_TABLE };
}

static bool are_marked(uint64_t inner, uint64_t outer, bool all, unsigned int first,
		       unsigned int second)
{
	set_frames(inner, outer);
	probed_code_mark(&code, &snapshot, &sample, 3, all, frames);
	return frames[0].probe == first && frames[1].probe == second;
}

/* The innermost, whose call labels the sample. */
Test(probed_code, marks_frames)
{
	cr_assert(are_marked(0x50101, 0x40120, false, 0, 3));
	cr_assert(are_marked(0x40101, 0x40120, false, 3, 0));
	cr_assert(are_marked(0x40101, 0x40120, true, 3, 3));
	cr_assert(are_marked(0x50101, 0x50120, false, 0, 0));
	cr_assert(are_marked(0x40100, 0x50120, true, 0, 0), "it has not begun");
}

Test(probed_code, has_the_frames_cfa)
{
	const uint64_t cfas[] = { 0x7010, 0x7040 };
	size_t place;

	code.n = 2;
	code.starts[1] = 0x1300;
	code.places.of[1].size = 16;
	set_frames(0x50101, 0x40120);
	cr_assert_eq(probed_code_cfa(&code, &snapshot, &sample, cfas, &place), 0x7040);
	cr_assert_eq(place, 0);
	set_frames(0x40301, 0x40120);
	cr_assert_eq(probed_code_cfa(&code, &snapshot, &sample, cfas, &place), 0x7010);
	cr_assert_eq(place, 1);
	set_frames(0x50101, 0x50120);
	cr_assert_eq(probed_code_cfa(&code, &snapshot, &sample, cfas, &place), 0);
}

Test(probed_code, has_a_function_in_common)
{
	struct probed_code second = {
		.device = 8, .inode = 12, .n = 2, .starts = { 0x1200, 0x1100 }
	};

	cr_assert(probed_code_is_shared(&code, &second));
	cr_assert(probed_code_is_shared(&second, &code));
	second.device = 9;
	cr_assert(!probed_code_is_shared(&code, &second));
	strcpy(second.build_id, "ab");
	cr_assert(!probed_code_is_shared(&code, &second));
	strcpy(code.build_id, second.build_id);
	cr_assert(probed_code_is_shared(&code, &second), "as on an overlay and below it");
	second.device = 8;
	code.build_id[0] = '\0';
	second.inode = 13;
	cr_assert(!probed_code_is_shared(&code, &second));
	second.inode = 12;
	second.n = 1;
	cr_assert(!probed_code_is_shared(&code, &second));
}
