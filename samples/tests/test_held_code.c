// SPDX-License-Identifier: Apache-2.0
/* What names the functions of samples that wait for tables, as a drain meets them (drain_world.h). */
#include "samples/tests/drain_world.h"

/* When they are released, their process may have ended. */
Test(drain, reads_the_code_of_held_samples)
{
	static struct dp_runtime_image image;
	static struct module module;
	static struct table unwind = { .runtime = &image, .runtime_kind = DP_RUNTIME_PHP };
	static struct binary binary = { .module = &module, .table = &unwind };
	const uint64_t words[8] = { STACK + 0x10, 0x1024, 0, 0x1036 };
	struct process *p = await_list(7);
	struct snapshot *s = p->snapshot;

	s->mappings[0].binary = &binary;
	s->runtime = 1;
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
	s->mappings[0].binary = NULL;
	s->runtime = 0;
}
