// SPDX-License-Identifier: Apache-2.0
/* Native frames and those of an interpreter, in all numbers. The process is this test's. */
#include <criterion/criterion.h>
#include <unistd.h>

#include "limits/limits.h"
#include "samples/runtime_join.h"
#include "symbols/code_source.h"
#include "symbols/jit.h"

/* Where the evaluation loop is in its file, its cold part, what leads there, and what calls it. */
#define LOOP 0x1000
#define COLD 0x8000
#define HELPER 0x5000
#define CALLER 0x6000
#define OTHER 0x7000

#define MAX_FRAMES 64

static struct names *names;
static struct process_table table;
static struct process process;
static struct runtime_join join;
static enum dp_runtime_kind kind;
static struct binary binary;
static struct table unwind;
static struct dp_runtime_image image;
static struct module module, other_module;
static struct mapping mapping;
static struct snapshot snapshot;

struct process *__wrap_process_table_find(const struct process_table *t, pid_t pid);

struct process *__wrap_process_table_find(const struct process_table *t, pid_t pid)
{
	return pid == process.pid ? &process : NULL;
}

static void begin(void)
{
	cr_assert_eq(names_new(&(struct names_options){ 0 }, &names), 0);
	table.jitted.names = names;
	process.pid = process.thread = getpid();
	image.ranges[0] = (struct dp_runtime_range){ LOOP, LOOP + 0x1000, true };
	image.ranges[1] = (struct dp_runtime_range){ COLD, COLD + 0x10, true };
	image.ranges[2] = (struct dp_runtime_range){ HELPER, HELPER + 0x100, false };
	image.ranges[3] = (struct dp_runtime_range){ CALLER, CALLER + 0x100, .calls = true };
	unwind = (struct table){ .runtime = &image, .runtime_kind = DP_RUNTIME_PYTHON };
	binary = (struct binary){ .module = &module, .table = &unwind };
	mapping = (struct mapping){ .binary = &binary };
	snapshot = (struct snapshot){ .mappings = &mapping, .n_mappings = 1, .runtime = 1 };
	kind = DP_RUNTIME_PYTHON;
	cr_assert_eq(runtime_join_init(&join, &table), 0);
}

static void end(void)
{
	runtime_join_done(&join);
	jitted_drop(process.jitted);
	jitted_store_done(&table.jitted);
	names_free(names);
}

TestSuite(runtime_join, .init = begin, .fini = end);

static struct frame native[MAX_FRAMES];
static struct {
	struct dp_runtime head;
	struct dp_runtime_frame frames[MAX_FRAMES];
} sent;

static uint64_t position_of(char c)
{
	if (c < 'A')
		return kind == DP_RUNTIME_RUBY ? DP_RUNTIME_C : DP_RUNTIME_ENTRY | DP_PERL_IDLE;
	return c & 0x20 ? 0 : DP_RUNTIME_ENTRY;
}

static void send_frames(const char *frames, enum dp_runtime_outcome outcome)
{
	sent.head = (struct dp_runtime){ .kind = (__u8)kind, .outcome = (__u8)outcome };
	for (const char *c = frames; *c; c++)
		sent.frames[sent.head.n++] = (struct dp_runtime_frame){
			.code = *c == '-' ? 0 : (__u64)(*c | 0x20),
			.position = position_of(*c),
		};
}

/*
 * Joins stacks, leaf first: L a loop, b its first bytes, c its cold part, h a helper, k what native
 * code calls one with, o other code, f code of another file. Frames of Python are letters, too; a
 * capital one enters its loop. Of Perl's, a digit may also be without one, and - is a loop that is
 * no function. Of Ruby's, a digit is in C. Returns the result: p and P for those, in order.
 */
static const char *joined(const char *natives, const char *frames, enum dp_outcome outcome,
			  enum dp_runtime_outcome runtime_outcome)
{
	static char text[2 * MAX_FRAMES];
	struct sample sample = { .pid = process.pid,
				 .outcome = outcome,
				 .user = *natives ? native : NULL };
	size_t n = 0;

	for (const char *c = natives; *c; c++)
		native[sample.n_user++] = (struct frame){
			.module = *c == 'f' ? &other_module : &module,
			.method = c == natives ? DP_METHOD_LEAF : DP_METHOD_TABLE,
			/* A return address may be the end of its function. */
			.offset = *c == 'L' ? LOOP + 0x200 :
				  *c == 'b' ? LOOP + 0x10 :
				  *c == 'c' ? COLD + 0x10 :
				  *c == 'h' ? HELPER + 8 :
				  *c == 'k' ? CALLER + 8 :
					      OTHER,
		};
	send_frames(frames, runtime_outcome);
	runtime_join_sample(&join, &snapshot, &sent.head, &sample);
	for (size_t i = 0; i < sample.n_user; i++) {
		const struct frame *f = &sample.user[i];

		if (frame_is_interpreted(f))
			text[n++] = (char)f->address;
		else
			text[n++] = f->module != &module    ? 'F' :
				    f->offset == OTHER      ? 'O' :
				    f->offset == CALLER + 8 ? 'K' :
				    f->offset == HELPER + 8 ? 'H' :
				    f->offset >= COLD       ? 'C' :
							      'L';
	}
	text[n] = '\0';
	return text;
}

#define EXPECT(natives, frames, wanted)                                                            \
	cr_expect_str_eq(joined(natives, frames, DP_COMPLETE, DP_RUNTIME_COMPLETE), wanted)

static void be_ruby(void)
{
	kind = unwind.runtime_kind = DP_RUNTIME_RUBY;
}

Test(runtime_join, loops_are_replaced_by_their_frames)
{
	EXPECT("oLo", "xY", "OxyO");
	EXPECT("LoLo", "XyZ", "xOyzO");
	EXPECT("ohLhhLoh", "abCD", "OabcdO");
	EXPECT("oco", "X", "OxO");
	/* A thread without Python frames. */
	EXPECT("oo", "", "OO");
	cr_expect_eq(join.n_apart, 0);
}

Test(runtime_join, a_loop_may_have_no_frame_yet)
{
	EXPECT("oLoLo", "xY", "OLOxyO");
	EXPECT("Lo", "", "LO");
	cr_expect_eq(join.n_apart, 0);
	/* What it has in its first bytes may be an earlier one, in some versions. */
	EXPECT("boLo", "aBcD", "abOcdO");
	image.python.c_frame = 1;
	EXPECT("boLo", "aBcD", "LOcdO");
	cr_expect_eq(join.n_apart, 0);
	image.python.c_frame = 0;
}

Test(runtime_join, instructions_may_be_functions)
{
	image.names.calls_each = 1;
	EXPECT("oLo", "xY", "xyO");
	EXPECT("ohoLoooLo", "AB", "OaOObO");
	/* A loop is being entered. */
	EXPECT("Lo", "", "LO");
	EXPECT("oLooLo", "xY", "LOxyO");
	/* Other files have none. */
	EXPECT("fLo", "X", "FxO");
	join.keeps_native = true;
	EXPECT("ooLo", "xY", "OOxyLO");
	join.keeps_native = false;
	cr_expect_eq(join.n_apart, 0);
}

Test(runtime_join, others_have_no_such_functions)
{
	image.names.calls_each = 1;
	be_ruby();
	EXPECT("oLo", "xY", "OxyO");
}

Test(runtime_join, others_make_the_frame_before_the_loop)
{
	be_ruby();
	EXPECT("ooLo", "XyZ", "OOyzO");
	EXPECT("oLo", "xY", "OxyO");
	EXPECT("oLoLo", "xY", "OLOxyO");
	cr_expect_eq(join.n_apart, 0);
	EXPECT("Lo", "XYZ", "LO");
	cr_expect_eq(join.n_apart, 1);
}

Test(runtime_join, functions_in_c_are_where_they_are_called)
{
	be_ruby();
	EXPECT("LookoLo", "X1Y", "xOO1OyO");
	EXPECT("LokokoLo", "X12yZ", "xO1O2OyzO");
	EXPECT("okoLokLo", "1X2Y", "O1OxO2yO");
	/* What calls them has called one in Ruby, too. */
	EXPECT("LkokoLo", "X1Y", "xKO1OyO");
	join.keeps_native = true;
	EXPECT("LokoLo", "X1Y", "xLO1KOyLO");
	join.keeps_native = false;
	cr_expect_eq(join.n_apart, 0);
}

Test(runtime_join, the_innermost_function_in_c_may_be_none_yet)
{
	be_ruby();
	EXPECT("okokoLo", "1X", "OKO1OxO");
	EXPECT("koLo", "X", "KOxO");
	EXPECT("koLo", "1X", "1OxO");
	/* A function in Ruby is: its loop follows. */
	EXPECT("okoLo", "Z1X", "O1OxO");
}

Test(runtime_join, it_may_not_be_known_what_calls_functions_in_c)
{
	be_ruby();
	EXPECT("LooLo", "X1Y", "xOO1yO");
	EXPECT("LokoLo", "X12Y", "xOKO12yO");
	EXPECT("LkokokoLo", "X1Y", "xKOKOKO1yO");
	/* A loop that is being left is not the one that they are called by. */
	EXPECT("LokoLo", "1X", "LO1OxO");
	EXPECT("LooLo", "1X", "LOO1xO");
	cr_expect_eq(join.n_apart, 0);
}

Test(runtime_join, no_loop_may_have_called_functions_in_c)
{
	be_ruby();
	EXPECT("LokoLoko", "X1Y2", "xO1OyO2O");
	EXPECT("LokoLo", "X1Y2", "xO1Oy2O");
	EXPECT("okoko", "12", "O1O2O");
	EXPECT("oko", "12", "12OKO");
	EXPECT("oo", "1", "1OO");
	EXPECT("", "1", "");
	cr_expect_eq(join.n_apart, 0);
	/* The stack ends, or the list. */
	cr_expect_str_eq(joined("Loko", "X12Y", DP_READ_FAULT, DP_RUNTIME_COMPLETE), "xO1O");
	cr_expect_str_eq(joined("Lokoko", "X1", DP_COMPLETE, DP_RUNTIME_MANY_FRAMES), "xO1OKO");
}

static void be_perl(void)
{
	kind = unwind.runtime_kind = DP_RUNTIME_PERL;
}

Test(runtime_join, an_eval_goes_on_in_a_loop_of_its_own)
{
	be_perl();
	EXPECT("oLoLfoLo", "xYZ", "OxyFOzO");
	EXPECT("oLooLfoLo", "xYZ", "OxyFOzO");
	EXPECT("oLoLooLo", "xY", "OxyO");
	join.keeps_native = true;
	EXPECT("oLooLfoLo", "xYZ", "OxyLOOLFOzLO");
	join.keeps_native = false;
	cr_expect_eq(join.n_apart, 0);
}

Test(runtime_join, others_have_no_such_loop)
{
	be_ruby();
	EXPECT("oLoLfoLo", "xYZ", "OLOxyFOzO");
}

Test(runtime_join, calls_of_native_code_do_not_go_on)
{
	be_perl();
	EXPECT("oLkoLo", "xYZ", "OxyKOzO");
	EXPECT("oLkLo", "xYZ", "OxyKzO");
	EXPECT("oLofLo", "xYZ", "OxyOFzO");
	EXPECT("oLoooLo", "xYZ", "OxyOOOzO");
	EXPECT("okoLo", "X", "OKOxO");
	/* Only what begins a loop is one. */
	EXPECT("oLokLo", "xY", "OxyO");
	cr_expect_eq(join.n_apart, 0);
}

Test(runtime_join, a_loop_may_run_more_of_its_caller)
{
	be_perl();
	EXPECT("LoooLo", "-X", "OOOxO");
	EXPECT("ooLo", "-X", "OOxO");
	cr_expect_eq(join.n_apart, 0);
}

Test(runtime_join, native_code_may_have_a_function_ready)
{
	be_perl();
	EXPECT("LfoLo", "1Y", "1FOyO");
	EXPECT("ooLo", "1Y", "OOyO");
	EXPECT("ooLo", "XY", "OOyO");
	EXPECT("LfoLfoLo", "X1Y", "xFO1FOyO");
	cr_expect_eq(join.n_apart, 0);
	/* It may be this one, or the first. */
	EXPECT("LfoLo", "X1Y", "LFOLO");
	cr_expect_eq(join.n_apart, 1);
}

Test(runtime_join, what_does_not_fit_is_left_and_counted)
{
	EXPECT("LoLoLo", "X", "LOLOLO");
	EXPECT("Lo", "XYZ", "LO");
	cr_expect_eq(join.n_apart, 2);
	cr_expect_str_eq(joined("LoLo", "", DP_COMPLETE, DP_RUNTIME_NO_THREAD), "LOLO");
	cr_expect_eq(join.n_apart, 3);
}

Test(runtime_join, one_side_may_end_early)
{
	cr_expect_str_eq(joined("oLo", "aBCD", DP_READ_FAULT, DP_RUNTIME_COMPLETE), "OabO");
	cr_expect_str_eq(joined("oLoLoLo", "aBC", DP_COMPLETE, DP_RUNTIME_READ_FAULT), "OabOcOLO");
	/* In the middle of a loop's frames. */
	cr_expect_str_eq(joined("LoLo", "aBc", DP_COMPLETE, DP_RUNTIME_MANY_FRAMES), "abOcLO");
	cr_expect_str_eq(joined("LoLo", "A", DP_READ_FAULT, DP_RUNTIME_COMPLETE), "LOLO");
	cr_expect_eq(join.n_apart, 1);
}

Test(runtime_join, native_frames_may_be_kept)
{
	join.keeps_native = true;
	EXPECT("ohLhLo", "aBC", "OHabLHcLO");
}

Test(runtime_join, others_binaries_have_no_loops)
{
	struct module other = { 0 };

	binary.module = &other;
	EXPECT("oLo", "X", "OLO");
	cr_expect_eq(join.n_apart, 0);
}

/* Of Python and Ruby. Returns the snapshot. */
static const struct snapshot *send_both(const char *pythons, const char *rubies)
{
	static struct dp_runtime_image ruby_image = { .ranges = { { LOOP, LOOP + 0x1000, true } } };
	static struct table ruby = { .runtime = &ruby_image, .runtime_kind = DP_RUNTIME_RUBY };
	static struct binary ruby_binary = { .module = &other_module, .table = &ruby };
	static struct mapping mappings[2];
	static const struct snapshot both = {
		.mappings = mappings, .n_mappings = 2, .runtime = 1, .other_runtime = 2
	};
	size_t n = 0, n_first = strlen(pythons);

	mappings[0].binary = &binary;
	mappings[1].binary = &ruby_binary;
	for (; *pythons || *rubies; n++) {
		char c = *pythons ? *pythons++ : *rubies++;

		sent.frames[n] = (struct dp_runtime_frame){ .code = (__u64)(c | 0x20),
							    .position = position_of(c) };
	}
	sent.frames[n] =
		(struct dp_runtime_frame){ .code = n_first,
					   .position = DP_RUNTIME_RUBY | DP_RUNTIME_COMPLETE << 8 };
	sent.head = (struct dp_runtime){ .kind = DP_RUNTIME_PYTHON | DP_RUNTIME_TWO,
					 .outcome = DP_RUNTIME_COMPLETE,
					 .n = (__u16)(n + 1) };
	return &both;
}

/* R is a loop of Ruby, which is in the other file. */
static const char *joined_both(const char *natives, const char *pythons, const char *rubies)
{
	static char text[2 * MAX_FRAMES];
	struct sample sample = { .pid = process.pid, .outcome = DP_COMPLETE, .user = native };
	size_t n;

	for (const char *c = natives; *c; c++)
		native[sample.n_user++] = (struct frame){
			.module = *c == 'R' ? &other_module : &module,
			.method = DP_METHOD_TABLE,
			.offset = *c == 'o' ? OTHER : LOOP + 0x200,
		};
	runtime_join_sample(&join, send_both(pythons, rubies), &sent.head, &sample);
	for (n = 0; n < sample.n_user; n++)
		text[n] = frame_is_interpreted(&sample.user[n]) ? (char)sample.user[n].address :
			  sample.user[n].module != &module      ? 'F' :
			  sample.user[n].offset == OTHER        ? 'O' :
								  'L';
	text[n] = '\0';
	return text;
}

Test(runtime_join, two_runtimes_have_places_of_their_own)
{
	cr_expect_str_eq(joined_both("oLoRoLoRo", "aBC", "vWX"), "OabOvwOcOxO");
	cr_expect_str_eq(joined_both("Ro", "", "V"), "vO");
	cr_expect_str_eq(joined_both("Lo", "A", ""), "aO");
	cr_expect_eq(join.n_apart, 0);
	/* What does not fit leaves the others. */
	cr_expect_str_eq(joined_both("LoRo", "A", "VWX"), "aOFO");
	cr_expect_str_eq(joined_both("LoRo", "ABC", "V"), "LOvO");
	cr_expect_eq(join.n_apart, 2);
}

/* As many frames are the first one's as there are, at most. */
Test(runtime_join, what_says_of_two_runtimes_may_lie)
{
	struct sample sample = { .pid = process.pid, .outcome = DP_COMPLETE, .user = native };

	native[0] = (struct frame){ .module = &module, .offset = LOOP + 0x200 };
	sample.n_user = 1;
	sent.frames[0] = (struct dp_runtime_frame){ .code = 1, .position = DP_RUNTIME_PYTHON };
	sent.head = (struct dp_runtime){ .kind = DP_RUNTIME_PYTHON | DP_RUNTIME_TWO, .n = 1 };
	runtime_join_sample(&join, &snapshot, &sent.head, &sample);
	cr_expect_eq(sample.user, native);
	sent.head.n = 0;
	runtime_join_sample(&join, &snapshot, &sent.head, &sample);
	cr_expect_eq(sample.user, native);
}

Test(runtime_join, code_that_cannot_be_read_is_unloaded)
{
	const struct source_location *location;
	struct frame frame;

	EXPECT("Lo", "X", "xO");
	frame = join.frames[0];
	frame_locate(&frame, 0);
	cr_assert_eq(frame_locations(&frame, true, &location), 1);
	cr_assert_str_eq(location->function, "[python, unloaded]");
	cr_assert_null(location->file);
}

Test(runtime_join, names_are_bounded)
{
	const struct source_location *location;
	struct frame frame;

	EXPECT("Lo", "X", "xO");
	frame = join.frames[0];
	for (size_t size = JIT_MEMORY; size > 0; size /= 2)
		while (jit_take_memory(frame.module->jit, size))
			;
	EXPECT("Lo", "X", "xO");
	cr_assert_eq(join.frames[0].offset, frame.offset);
	EXPECT("Lo", "Y", "yO");
	cr_assert_eq(join.frames[0].offset, DP_RUNTIME_PYTHON);
	frame = join.frames[0];
	frame_locate(&frame, 0);
	cr_assert_eq(frame_locations(&frame, true, &location), 1);
	cr_assert_str_eq(location->function, "[python, unloaded]");
}

/* What is new in the sent frames of a sample whose walk has ended at its first frame, of which nothing is known. */
static const char *new_code(const struct snapshot *in)
{
	static _Alignas(8) char record[4096], text[2 * MAX_FRAMES];
	struct named_sample *held = (void *)record;
	const struct frame *code;
	size_t n;

	*held = (struct named_sample){
		.sample = { .pid = (__u32)process.pid, .n_user = 1, .flags = DP_SAMPLE_RUNTIME }
	};
	held->frames[0] = LOOP + 0x10;
	memcpy(&held->frames[1], &sent, sizeof(sent));
	n = runtime_join_code(&join, in, held, &code);
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(code[i].module, process.jitted->module);
		text[i] = (char)code[i].address;
	}
	text[n] = '\0';
	return text;
}

Test(runtime_join, code_is_known_before_its_stack)
{
	uint64_t number;

	send_frames("xYx-Z", DP_RUNTIME_COMPLETE);
	cr_expect_str_eq(new_code(&snapshot), "xyz");
	cr_expect_str_eq(new_code(&snapshot), "");
	cr_expect_str_eq(new_code(NULL), "");
	send_frames("yW", DP_RUNTIME_COMPLETE);
	cr_expect_str_eq(new_code(&snapshot), "w");
	number = join.frames[0].offset;
	EXPECT("Lo", "W", "wO");
	cr_expect_eq(join.frames[0].offset, number);
	cr_expect_eq(join.n_apart, 0);
}

Test(runtime_join, code_of_two_runtimes)
{
	const struct snapshot *both = send_both("aB", "vWv");

	cr_expect_str_eq(new_code(both), "abvw");
	cr_expect_str_eq(new_code(both), "");
}

/* It has a native frame, which tells what its position means. */
Test(runtime_join, code_of_a_compiler)
{
	struct sample sample = { .pid = process.pid, .user = native, .n_user = 1 };

	kind = unwind.runtime_kind = DP_RUNTIME_V8;
	mapping.start = LOOP;
	mapping.end = LOOP + 0x1000;
	sent.head = (struct dp_runtime){ .kind = DP_RUNTIME_V8, .n = 1 };
	sent.frames[0] = (struct dp_runtime_frame){ .code = 1, .position = 7 };
	native[0] = (struct frame){ .module = &module, .address = LOOP + 0x10 };
	runtime_join_sample(&join, &snapshot, &sent.head, &sample);
	cr_assert(sample.n_user == 1 && frame_is_interpreted(&sample.user[0]));
	native[0] = sample.user[0];
	cr_expect_eq(strlen(new_code(&snapshot)), 1);
	cr_expect_eq(join.frames[0].offset, native[0].offset);
}
