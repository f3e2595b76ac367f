// SPDX-License-Identifier: Apache-2.0
#include "samples/java_join.h"

#include <string.h>

#include "process/process.h"
#include "report/sample.h"
#include "samples/runtime_names.h"

/* The process's names. NULL: memory is short, or the process or its JVM is not known. */
static struct runtime_names *find_names(struct process_table *table, struct fetchers *fetchers,
					pid_t pid, struct module **ret)
{
	struct process *p = process_table_find(table, pid);
	const struct hotspot_layout *layout = p ? hotspot_layout(p->hotspot) : NULL;
	struct runtime_names *names;

	if (!layout)
		return NULL;
	if (!p->jitted)
		p->jitted = jitted_new(&table->jitted, pid);
	if (!p->jitted)
		return NULL;
	jitted_meet(p->jitted);
	*ret = p->jitted->module;
	names = (struct runtime_names *)p->jitted->module->code;
	/* A module has names of one runtime: in a process with two, of the first that was met. */
	if (names)
		return runtime_names_kind(names) == DP_RUNTIME_HOTSPOT ? names : NULL;
	return runtime_names_new(p->jitted->module, fetchers, p->thread, DP_RUNTIME_HOTSPOT, layout,
				 &names) == 0 ?
		       names :
		       NULL;
}

void java_join_sample(struct process_table *table, struct fetchers *fetchers,
		      const struct dp_runtime *runtime, struct frame *frames, struct sample *sample)
{
	const struct dp_runtime_frame *known = (const void *)(runtime + 1);
	struct module *module = NULL;
	struct runtime_names *names = find_names(table, fetchers, sample->pid, &module);

	if (!names || sample->n_user == 0)
		return;
	memcpy(frames, sample->user, sample->n_user * sizeof(*frames));
	sample->user = frames;
	for (size_t i = 0; i < runtime->n; i++) {
		size_t number = DP_HOTSPOT_NUMBER(known[i].position);
		struct dp_runtime_frame frame = known[i];
		struct frame *f = &frames[number];

		if (number >= sample->n_user)
			continue;
		/* A function has one name, wherever in it the frame is. */
		frame.position &= DP_HOTSPOT_INTERPRETED;
		f->offset = runtime_names_put(names, &frame);
		f->module = module;
		f->method = DP_METHOD_JAVA;
	}
}
