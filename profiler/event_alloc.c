// SPDX-License-Identifier: Apache-2.0
/* Memory that is allocated, and what is still held at the end. */
#include "kernel/session.h"
#include "profiler/event.h"
#include "profiler/profiler_options.h"

static int attach(const struct event_means *means, const struct profiler_options *o,
		  struct event_text *ret)
{
	snprintf(ret->name, sizeof(ret->name), "alloc");
	if (o->alloc_interval > 1)
		snprintf(ret->how, sizeof(ret->how), "every %u bytes on average that are allocated",
			 o->alloc_interval);
	else
		snprintf(ret->how, sizeof(ret->how), "at each allocation of memory");
	return session_sample_allocs(means->session);
}

const struct event_source event_alloc = {
	.name = "alloc",
	.programs = EVENT_BIT(DP_EVENT_ALLOC),
	.levels = DP_UPROBE_LEVELS,
	.counts = "alloc_objects",
	.user_only = true,
	.missing = "allocated no memory that can be seen",
	.attach = attach,
};
