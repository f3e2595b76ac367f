// SPDX-License-Identifier: Apache-2.0
/* What names the functions of samples that wait for tables, as a drain meets them (drain_world.h). */
#include "samples/tests/drain_world.h"

/* All code is that of a loop. */
static struct dp_runtime_image image = { .ranges[0] = { 0, UINT64_MAX, true } };
static struct module module;
static struct table unwind = { .runtime = &image, .runtime_kind = DP_RUNTIME_PHP };
static struct binary binary = { .module = &module, .table = &unwind };

static void set_runtime(struct snapshot *s, struct binary *of)
{
	s->mappings[0].binary = of;
	s->runtime = of != NULL;
}

/* When they are released, their process may have ended. */
Test(drain, reads_the_code_of_held_samples)
{
	const uint64_t words[8] = { STACK + 0x10, 0x1024, 0, 0x1036 };
	struct process *p = await_list(7);

	set_runtime(p->snapshot, &binary);
	is_full = true;
	add_late_function(DP_RUNTIME_PHP, 0, words);
	run(false);
	cr_assert(drain.held.n == 1 && n_code == 0);
	is_full = false;
	for (size_t i = 0; i < 2; i++) {
		add_late_function(DP_RUNTIME_PHP, 0, words);
		run(false);
		cr_assert(drain.held.n == 2 + i && n_code == 1);
	}
	cr_assert(code[0].module == p->jitted->module && code[0].method == DP_METHOD_PHP);
	cr_assert(code[0].address == 0x5000 && n_reported == 0);
	set_runtime(p->snapshot, NULL);
}

static void add_blocked_function(void)
{
	struct named_sample *s = add_sample(0, now - 300 * MS);
	struct record *r = &records[n_records - 1];
	struct {
		struct dp_runtime head;
		struct dp_runtime_frame frame;
	} runtime = { { { DP_RECORD_RUNTIME, sizeof(runtime) }, DP_RUNTIME_PHP, 0, 1 },
		      { .code = 0x5000, .position = DP_RUNTIME_ENTRY } };

	s->sample.event = DP_EVENT_OFF_CPU;
	s->sample.n_kernel = 0;
	s->sample.n_user = 1;
	s->sample.flags |= DP_SAMPLE_RUNTIME;
	s->sample.part.size = (__u32)(sizeof(s->sample) + sizeof(*s->frames));
	memcpy(&s->frames[1], &runtime, sizeof(runtime));
	r->size = sizeof(*s) + sizeof(*s->frames) + sizeof(runtime);
}

/* And when they wake up. */
Test(drain, reads_the_code_of_threads_that_are_blocked)
{
	struct process *p = process_table_find(&table, PID(0));

	set_runtime(p->snapshot, &binary);
	is_full = true;
	add_blocked_function();
	run(false);
	cr_assert_eq(n_code, 0);
	is_full = false;
	for (size_t i = 0; i < 2; i++) {
		added_ns += 300 * MS;
		run(false);
		cr_assert_eq(n_code, 1);
	}
	cr_assert(code[0].module == p->jitted->module && code[0].method == DP_METHOD_PHP);
	cr_assert(code[0].address == 0x5000 && n_reported == 0);
	set_runtime(p->snapshot, NULL);
}
