// SPDX-License-Identifier: Apache-2.0
#include "samples/java_join.h"

#include <string.h>

#include "process/process.h"
#include "report/sample.h"
#include "samples/runtime_names.h"

void java_join_sample(struct process_table *table, const struct dp_runtime *runtime,
		      struct frame *frames, struct sample *sample)
{
	const struct dp_runtime_frame *known = (const void *)(runtime + 1);
	struct process *p = process_table_find(table, sample->pid);
	const struct hotspot_layout *layout = p ? hotspot_layout(p->hotspot) : NULL;
	struct runtime_names *names;

	if (!layout || sample->n_user == 0)
		return;
	names = runtime_names_find(table, p, DP_RUNTIME_HOTSPOT, layout);
	if (!names)
		return;
	memcpy(frames, sample->user, sample->n_user * sizeof(*frames));
	sample->user = frames;
	for (size_t i = 0; i < runtime->n; i++) {
		size_t number = DP_NOTE_NUMBER(known[i].position);
		struct dp_runtime_frame frame = known[i];
		struct frame *f = &frames[number];

		if (number >= sample->n_user)
			continue;
		frame.position &= DP_HOTSPOT_INTERPRETED | UINT32_MAX;
		/* Of interpreted code the position is not known. */
		if (!(frame.position & DP_HOTSPOT_INTERPRETED) && frame_is_exact(f))
			frame.position |= DP_HOTSPOT_EXACT;
		f->offset = runtime_names_put(names, &frame);
		f->module = p->jitted->module;
		f->method = DP_METHOD_JAVA;
	}
}
