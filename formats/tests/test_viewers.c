// SPDX-License-Identifier: Apache-2.0
/* Profiles for viewers, with stacks in tables: they must give the sampled stacks. */
#include <jansson.h>

#include "base/cleanup.h"
#include "formats/tests/samples.h"

#define STARTED_NS 100000000

static json_t *profile;

/*
 * A thread that calls a function and returns; and the process's first thread, where this was
 * called.
 */
static void write_profile(const char *format)
{
	struct sample calls = sample_of(DP_COMPLETE), returns, other;

	strcpy(program.build_id, "0123456789abcdef01234567");
	returns = calls;
	returns.time_ns += 5000000;
	returns.user = frames + 1;
	returns.n_user = 2;
	other = returns;
	other.tid = other.pid;
	other.time_ns += 2000000;
	other.weight = 3;
	begin_with(format, &(struct report_context){ .target = "prog",
						     .event = "cpu-clock",
						     .hz = 100,
						     .events = EVENT_BIT(DP_EVENT_CPU),
						     .started_ns = STARTED_NS,
						     .symbols = true });
	add(calls);
	add(returns);
	add(other);
	finish();
	profile = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	cr_assert(profile, "%s", text);
}

static void end(void)
{
	json_decref(profile);
	free(text);
}

TestSuite(firefox, .fini = end);
TestSuite(speedscope, .fini = end);

/* "root;leaf" */
static void fold(char **folded, const char *name)
{
	char *longer;

	cr_assert(name);
	cr_assert(asprintf(&longer, "%s%s%s", *folded ? *folded : "", *folded ? ";" : "", name) >
		  0);
	free(*folded);
	*folded = longer;
}

/* An item of the array with that key in an object. */
static const json_t *item_of(const json_t *object, const char *key, size_t i)
{
	const json_t *item = json_array_get(json_object_get(object, key), i);

	cr_assert(item, "%s[%zu]", key, i);
	return item;
}

static size_t number_of(const json_t *table, const char *column, size_t row)
{
	const json_t *number = item_of(table, column, row);

	cr_assert(json_is_integer(number), "%s[%zu]", column, row);
	return (size_t)json_integer_value(number);
}

static void fold_node(const json_t *thread, size_t node, char **folded)
{
	const json_t *stacks = json_object_get(thread, "stackTable"), *prefix;
	size_t frame = number_of(stacks, "frame", node);
	size_t function = number_of(json_object_get(thread, "frameTable"), "func", frame);
	size_t name = number_of(json_object_get(thread, "funcTable"), "name", function);

	prefix = item_of(stacks, "prefix", node);
	if (!json_is_null(prefix)) {
		cr_assert_lt(number_of(stacks, "prefix", node), node);
		fold_node(thread, number_of(stacks, "prefix", node), folded);
	}
	fold(folded,
	     json_string_value(item_of(json_object_get(profile, "shared"), "stringArray", name)));
}

static void expect_sample(size_t thread, size_t i, const char *stack, double time_ms)
{
	const json_t *t = item_of(profile, "threads", thread);
	const json_t *samples = json_object_get(t, "samples");
	_cleanup_free_ char *folded = NULL;

	fold_node(t, number_of(samples, "stack", i), &folded);
	cr_expect_str_eq(folded, stack);
	cr_expect_float_eq(json_real_value(item_of(samples, "time", i)), time_ms, 1e-6);
}

/* Each thread has its own tables; times count from the start. */
Test(firefox, has_the_stacks_of_each_thread)
{
	write_profile("firefox");
	cr_assert_eq(json_array_size(json_object_get(profile, "threads")), 2);
	expect_sample(0, 0, "0x7777;[prog+0x1120]", 30.456789);
	expect_sample(1, 0, "0x7777;[prog+0x1120];[prog+0x1010]", 23.456789);
	expect_sample(1, 1, "0x7777;[prog+0x1120]", 28.456789);
}

/* Symbol servers know a build by Breakpad's id, others by its build id. */
Test(firefox, names_builds_as_servers_of_symbols_do)
{
	const json_t *lib;

	write_profile("firefox");
	lib = item_of(profile, "libs", 0);
	cr_assert_str_eq(json_string_value(json_object_get(lib, "path")), "/usr/bin/prog");
	cr_assert_str_eq(json_string_value(json_object_get(lib, "codeId")),
			 "0123456789abcdef01234567");
	cr_assert_str_eq(json_string_value(json_object_get(lib, "breakpadId")),
			 "67452301AB89EFCD01234567000000000");
}

static void expect_weight(size_t number, size_t i, const char *stack, size_t weight)
{
	const json_t *p = item_of(profile, "profiles", number);
	const json_t *functions = item_of(p, "samples", i);
	_cleanup_free_ char *folded = NULL;

	for (size_t f = 0; f < json_array_size(functions); f++) {
		size_t function = (size_t)json_integer_value(json_array_get(functions, f));

		fold(&folded,
		     json_string_value(json_object_get(item_of(json_object_get(profile, "shared"),
							       "frames", function),
						       "name")));
	}
	cr_expect_str_eq(folded, stack);
	cr_expect_eq(number_of(p, "weights", i), weight);
}

static void expect_kind(const char *name, const char *kind)
{
	const json_t *list = json_object_get(json_object_get(profile, "shared"), "frames");
	const json_t *function;
	size_t i, n = 0;

	json_array_foreach(list, i, function)
	{
		const char *found = json_string_value(json_object_get(function, "kind"));

		if (strcmp(json_string_value(json_object_get(function, "name")), name) != 0)
			continue;
		n++;
		cr_expect(kind ? found && strcmp(found, kind) == 0 : !found, "%s: %s", name, found);
	}
	cr_expect_eq(n, 1);
}

/* All threads together, below their processes' names; and each alone. */
Test(speedscope, has_the_stacks_of_all_threads_and_of_each)
{
	write_profile("speedscope");
	cr_assert_eq(json_array_size(json_object_get(profile, "profiles")), 3);
	expect_weight(0, 0, "my prog;0x7777;[prog+0x1120];[prog+0x1010]", 10000000);
	expect_weight(0, 1, "my prog;0x7777;[prog+0x1120]", 40000000);
	expect_weight(1, 0, "0x7777;[prog+0x1120]", 30000000);
	expect_weight(2, 0, "0x7777;[prog+0x1120];[prog+0x1010]", 10000000);
	expect_weight(2, 1, "0x7777;[prog+0x1120]", 10000000);
}

/* The process's name, which stands at the root, is of no kind. */
Test(speedscope, tells_of_what_kind_functions_are)
{
	struct frame python = { 0x6010, 0, NULL, DP_METHOD_PYTHON };
	struct sample sample = sample_of(DP_COMPLETE);

	sample.user = &python;
	sample.n_user = 1;
	begin("speedscope");
	add(sample);
	sample = sample_of(DP_COMPLETE);
	sample.kernel = kernel;
	sample.n_kernel = 1;
	add(sample);
	finish();
	profile = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	expect_kind("my prog", NULL);
	expect_kind("[python]", "python");
	expect_kind("[prog+0x1010]", "native");
	expect_kind("0xffffffff81000001", "kernel");
}
