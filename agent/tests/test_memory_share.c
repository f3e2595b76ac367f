// SPDX-License-Identifier: Apache-2.0
/* What waits for backends in memory, within what the agent may have. */
#include <criterion/criterion.h>

#include "agent/memory_share.h"

TestSuite(memory_share);

Test(memory_share, spools_in_memory_share_an_eighth)
{
	struct agent_options o = { .memory = 8000, .spool_size = 2000, .n_backends = 1 };

	cr_assert_eq(memory_share_spool_bytes(&o), 1000);
	o.n_backends = 4;
	cr_assert_eq(memory_share_spool_bytes(&o), 250);
	o.spool_size = 100;
	cr_assert_eq(memory_share_spool_bytes(&o), 100);
	o.spool_size = 2000;
	o.spool = "/directory";
	cr_assert_eq(memory_share_spool_bytes(&o), 2000);
	o.spool = NULL;
	o.memory = 0;
	cr_assert_eq(memory_share_spool_bytes(&o), 2000);
	o = (struct agent_options){ .memory = 8000, .spool_size = 2000 };
	cr_assert_eq(memory_share_spool_bytes(&o), 2000);
}

Test(memory_share, what_waits_is_no_reason_to_begin_anew)
{
	struct agent_options o = { .memory = 8000 };

	cr_assert_not(memory_share_is_exceeded(&o, 8000, 0));
	cr_assert(memory_share_is_exceeded(&o, 8001, 0));
	cr_assert_not(memory_share_is_exceeded(&o, 8500, 500));
	cr_assert(memory_share_is_exceeded(&o, 8501, 500));
	cr_assert_not(memory_share_is_exceeded(&o, 100, 500));
	o.spool = "/directory";
	cr_assert(memory_share_is_exceeded(&o, 8500, 500));
	o.memory = 0;
	cr_assert_not(memory_share_is_exceeded(&o, 8500, 500));
}
