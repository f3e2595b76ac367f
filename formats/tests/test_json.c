// SPDX-License-Identifier: Apache-2.0
/* The JSON profile of a few samples, read by jansson: fields, errors, times, inlined functions. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <jansson.h>

#include "formats/tests/samples.h"
#include "report/outcome.h"
#include "report/span_times.h"
#include "report/verified.h"
#include "symbols/failures.h"

static json_t *json;

static void begin_cpu(void)
{
	begin_with("json", &(struct report_context){ .target = "prog (PID 42)",
						     .event = "cpu-clock",
						     .hz = 99,
						     .events = EVENT_BIT(DP_EVENT_CPU),
						     .symbols = true,
						     .host = "machine",
						     .started_real_ns = 123 });
}

static void finish_json(void)
{
	finish();
	json = json_loads(text, 0, NULL);
	cr_assert(json, "%s", text);
}

static void done(void)
{
	json_decref(json);
	free(text);
	memset(&totals, 0, sizeof(totals));
}

static json_t *part(const char *name)
{
	return json_object_get(json, name);
}

static json_t *stack(size_t i)
{
	return json_array_get(part("stacks"), i);
}

static const char *string_at(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static json_int_t number_at(const json_t *object, const char *key)
{
	cr_assert(json_is_integer(json_object_get(object, key)), "%s", key);
	return json_integer_value(json_object_get(object, key));
}

static bool is_null_at(const json_t *object, const char *key)
{
	return json_is_null(json_object_get(object, key));
}

Test(json, tells_what_could_not_be_read)
{
	begin_cpu();
	add(sample_of(DP_COMPLETE));
	for (int i = 0; i <= PARSERS_SHOWN_FAILURES; i++)
		(void)failures_add(names_failures(some_names()), strdup("\xff has no table"));
	finish_json();
	cr_assert_eq(number_at(part("failures"), "count"), PARSERS_SHOWN_FAILURES + 1);
	cr_assert_eq(json_array_size(json_object_get(part("failures"), "first")),
		     PARSERS_SHOWN_FAILURES);
	cr_assert_str_eq(
		json_string_value(json_array_get(json_object_get(part("failures"), "first"), 0)),
		"? has no table");
	done();
}

Test(json, tells_what_was_profiled)
{
	begin_cpu();
	add(sample_of(DP_COMPLETE));
	add(sample_of(DP_NO_RULE));
	totals.lost = 7;
	totals.duration_ns = 456;
	finish_json();
	cr_assert_str_eq(string_at(part("metadata"), "target"), "prog (PID 42)");
	cr_assert_str_eq(string_at(part("metadata"), "event"), "cpu-clock");
	cr_assert_str_eq(string_at(part("metadata"), "host"), "machine");
	cr_assert(is_null_at(part("metadata"), "command"));
	cr_assert_eq(number_at(part("metadata"), "hz"), 99);
	cr_assert_eq(number_at(part("metadata"), "started_ns"), 123);
	cr_assert_eq(number_at(part("metadata"), "duration_ns"), 456);
	cr_assert_eq(number_at(part("totals"), "samples"), 2);
	cr_assert_eq(number_at(part("totals"), "with_user_stack"), 2);
	cr_assert_eq(number_at(part("totals"), "count"), 2);
	cr_assert_eq(number_at(part("totals"), "lost"), 7);
	cr_assert(is_null_at(part("totals"), "time_ns") && is_null_at(part("totals"), "verified"));
	cr_assert_eq(number_at(json_object_get(part("totals"), "outcomes"), "no_rule"), 1);
	cr_assert_eq(json_object_size(json_object_get(part("totals"), "outcomes")), 2);
	done();
}

Test(json, counts_stacks_of_threads)
{
	struct sample other = sample_of(DP_COMPLETE);

	begin_cpu();
	add(other);
	other.cpu = 3; /* which does not distinguish stacks */
	other.weight = 5;
	add(other);
	other.tid = 44;
	add(other);
	finish_json();
	cr_assert_eq(json_array_size(part("stacks")), 2);
	cr_assert_eq(number_at(stack(0), "count"), 6);
	cr_assert_eq(number_at(stack(0), "pid"), 42);
	cr_assert_eq(number_at(stack(0), "tid"), 43);
	cr_assert_str_eq(string_at(stack(0), "comm"), "my prog");
	cr_assert_str_eq(string_at(stack(0), "thread_name"), "worker");
	cr_assert(is_null_at(stack(0), "state") && is_null_at(stack(0), "time_ns"));
	cr_assert_eq(number_at(stack(1), "count"), 5);
	cr_assert_eq(number_at(stack(1), "tid"), 44);
	done();
}

Test(json, has_addresses_where_there_is_no_name)
{
	struct sample sample = sample_of(DP_COMPLETE);
	json_t *frame;

	sample.kernel = kernel;
	sample.n_kernel = 2;
	begin_cpu();
	add(sample);
	finish_json();
	cr_assert_eq(json_array_size(json_object_get(stack(0), "user_stack")), 3);
	frame = json_array_get(json_object_get(stack(0), "user_stack"), 1);
	cr_assert_str_eq(string_at(frame, "module"), "/usr/bin/prog");
	cr_assert_str_eq(string_at(frame, "offset"), "0x1120");
	cr_assert(is_null_at(frame, "address") && is_null_at(frame, "symbol") &&
		  is_null_at(frame, "source_location"));
	cr_assert(json_is_false(json_object_get(frame, "inlined")));
	frame = json_array_get(json_object_get(stack(0), "user_stack"), 2);
	cr_assert_str_eq(string_at(frame, "address"), "0x7777");
	cr_assert(is_null_at(frame, "module") && is_null_at(frame, "offset"));
	cr_assert_eq(json_array_size(json_object_get(stack(0), "kernel_stack")), 2);
	frame = json_array_get(json_object_get(stack(0), "kernel_stack"), 0);
	cr_assert_str_eq(string_at(frame, "address"), "0xffffffff81000001");
	cr_assert(is_null_at(frame, "module") && is_null_at(frame, "symbol"));
	done();
}

/* Other formats' marks are not frames here. */
Test(json, tells_errors_apart)
{
	struct sample sample = sample_of(DP_READ_FAULT);

	begin_cpu();
	add(sample_of(DP_COMPLETE));
	add(sample);
	sample.kernel_error = -14;
	add(sample);
	sample.kernel_error = DP_KERNEL_HIDDEN;
	add(sample);
	finish_json();
	cr_assert_eq(json_array_size(part("stacks")), 4);
	cr_assert(is_null_at(stack(0), "user_stack_error"));
	cr_assert_str_eq(string_at(stack(0), "outcome"), "complete");
	cr_assert_str_eq(string_at(stack(1), "outcome"), "read_fault");
	cr_assert_str_eq(string_at(stack(1), "user_stack_error"), outcome_sentence(DP_READ_FAULT));
	cr_assert(is_null_at(stack(1), "kernel_stack_error"));
	cr_assert_str_eq(string_at(stack(2), "kernel_stack_error"), "EFAULT");
	cr_assert_str_eq(string_at(stack(3), "kernel_stack_error"), "addresses_hidden");
	for (size_t i = 0; i < 4; i++) {
		cr_assert_eq(json_array_size(json_object_get(stack(i), "user_stack")), 3);
		cr_assert_eq(json_array_size(json_object_get(stack(i), "kernel_stack")), 0);
	}
	done();
}

Test(json, has_times_of_blocks)
{
	struct verified verified = { .results = { [VERIFIED_EQUAL] = 3 }, .frames = 9 };
	struct sample sample = sample_of(DP_COMPLETE);

	sample.event = DP_EVENT_OFF_CPU;
	sample.state = DP_STATE_SLEEPING;
	sample.value_ns = 1500;
	sample.weight = 2;
	begin_with("json", &(struct report_context){
				   .target = "", .event = "cpu-clock", .hz = 99, .events = WALL });
	add(sample);
	totals.lost_ns = 77;
	totals.verified = &verified;
	finish_json();
	cr_assert_str_eq(string_at(stack(0), "state"), "S");
	cr_assert_eq(number_at(stack(0), "count"), 2);
	cr_assert_eq(number_at(stack(0), "time_ns"), 3000);
	cr_assert_eq(json_array_size(json_object_get(stack(0), "user_stack")), 3);
	cr_assert_eq(number_at(part("totals"), "time_ns"), 3000);
	cr_assert_eq(number_at(part("totals"), "lost_ns"), 77);
	cr_assert(json_is_true(json_object_get(part("metadata"), "off_cpu")));
	json_t *said = json_object_get(part("totals"), "verified");
	cr_assert_eq(number_at(said, "frames"), 9);
	cr_assert_eq(number_at(json_object_get(said, "stacks"), "equal"), 3);
	done();
}

static void expect_value(size_t i, const char *name, const char *unit)
{
	const json_t *type = json_array_get(json_object_get(part("metadata"), "values"), i);

	cr_assert_str_eq(string_at(type, "name"), name);
	cr_assert_str_eq(string_at(type, "unit"), unit);
}

static json_int_t value_at(size_t stack_number, size_t i)
{
	return json_integer_value(
		json_array_get(json_object_get(stack(stack_number), "values"), i));
}

/* As in a pprof profile. */
Test(json, has_values_of_each_kind_of_event)
{
	begin_times("json", false);
	report->context.hz = 100;
	report->context.events = WALL;
	add(block_of(DP_STATE_SLEEPING, 1500));
	add((struct sample){ .weight = 3, .value_ns = 10 });
	finish_json();
	cr_assert_eq(json_array_size(json_object_get(part("metadata"), "values")), 4);
	expect_value(0, "events", "count");
	expect_value(1, "cpu", "nanoseconds");
	expect_value(2, "off_cpu", "nanoseconds");
	expect_value(3, "wall", "nanoseconds");
	cr_assert(value_at(0, 0) == 1 && value_at(0, 1) == 0 && value_at(0, 2) == 1500 &&
		  value_at(0, 3) == 1500);
	cr_assert(value_at(1, 0) == 3 && value_at(1, 1) == 30 && value_at(1, 2) == 0 &&
		  value_at(1, 3) == 30);
	done();
}

Test(json, calls_what_it_counts_as_the_event_does)
{
	begin_cpu();
	report->context.hz = 0;
	report->context.counts = "page_faults";
	add((struct sample){ .weight = 3 });
	finish_json();
	cr_assert_eq(json_array_size(json_object_get(part("metadata"), "values")), 1);
	expect_value(0, "page_faults", "count");
	cr_assert_eq(value_at(0, 0), 3);
	done();
}

Test(json, is_whole_without_a_sample)
{
	begin_cpu();
	finish_json();
	cr_assert_eq(json_array_size(part("stacks")), 0);
	done();
}

static uintptr_t call_address;

__attribute__((noinline)) static void note_call(void)
{
	call_address = (uintptr_t)__builtin_return_address(0);
}

static inline __attribute__((always_inline)) void inner(void)
{
	note_call();
	totals.lost = 0;
}

__attribute__((noinline)) static void outer(void)
{
	inner();
	totals.samples = 0;
}

Test(json, has_inlined_functions_as_frames)
{
	extern const char __executable_start;
	struct module *module = module_new(some_names(), "/proc/self/exe", "",
					   open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	struct frame frame;
	json_t *shown;

	outer();
	frame = (struct frame){ call_address, call_address - (uintptr_t)&__executable_start, module,
				DP_METHOD_TABLE };
	begin_cpu();
	add((struct sample){ .weight = 1, .user = &frame, .n_user = 1 });
	finish_json();
	shown = json_object_get(stack(0), "user_stack");
	cr_assert_eq(json_array_size(shown), 2);
	for (size_t i = 0; i < 2; i++) {
		json_t *function = json_array_get(shown, i);
		json_t *location = json_object_get(function, "source_location");

		cr_assert_str_eq(string_at(function, "symbol"), i == 0 ? "inner" : "outer");
		cr_assert_eq(json_is_true(json_object_get(function, "inlined")), i == 0);
		cr_assert(strstr(string_at(location, "file"), "/test_json.c"));
		cr_assert(number_at(location, "line") > 0 && number_at(location, "column") > 0);
	}
	done();
	module_free(module);
}

Test(json, has_the_times_of_calls)
{
	struct span_times calls = {
		.name = "handle", .min_ns = 5000, .n_begun = 9, .n_long = 3, .n_unbegun = 2
	};
	json_t *shown, *row;

	calls.n_returned[dp_span_step(5000)] = 4;
	calls.n_left[dp_span_step(UINT64_MAX)] = 1;
	begin_cpu();
	add(sample_of(DP_COMPLETE));
	totals.calls = &calls;
	totals.outside = 17;
	totals.in_unknown = 6;
	finish_json();
	shown = json_object_get(part("totals"), "calls");
	cr_assert_str_eq(string_at(shown, "name"), "handle");
	cr_assert(number_at(shown, "min_ns") == 5000 && number_at(shown, "count") == 9);
	cr_assert(number_at(shown, "long") == 3 && number_at(shown, "not_begun") == 2);
	cr_assert_eq(number_at(shown, "not_returned"), 5);
	cr_assert_eq(number_at(shown, "samples_outside"), 17);
	cr_assert_eq(number_at(shown, "samples_unknown"), 6);
	cr_assert_eq(json_array_size(json_object_get(shown, "times")), 2);
	row = json_array_get(json_object_get(shown, "times"), 0);
	cr_assert(number_at(row, "from_ns") == 4096 && number_at(row, "to_ns") == 5120);
	cr_assert(number_at(row, "returned") == 4 && number_at(row, "at_least") == 0);
	row = json_array_get(json_object_get(shown, "times"), 1);
	cr_assert(is_null_at(row, "to_ns") && number_at(row, "at_least") == 1);
	done();
}

Test(json, has_no_times_of_calls_unless_wanted)
{
	begin_cpu();
	add(sample_of(DP_COMPLETE));
	finish_json();
	cr_assert_null(json_object_get(part("totals"), "calls"));
	done();
}
