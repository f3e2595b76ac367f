// SPDX-License-Identifier: Apache-2.0
#include "samples/java_join.h"

#include <string.h>

#include "process/process_table.h"
#include "report/sample.h"
#include "samples/runtime_join.h"
#include "samples/runtime_names.h"

/*
 * The position of an interpreted frame. It has stored where it is when it calls Java, but not always when
 * it calls the JVM.
 */
static uint64_t interpreted(const struct hotspot_layout *layout, uint64_t position, bool is_stored)
{
	uint32_t distance = (uint32_t)position;

	if (!is_stored || layout->const_size == 0 || distance < layout->const_size)
		return DP_HOTSPOT_INTERPRETED;
	return DP_HOTSPOT_INTERPRETED | (distance - layout->const_size + 1);
}

void java_join_sample(struct process_table *table, const struct runtime_frames *runtime,
		      struct frame *frames, struct sample *sample)
{
	const struct dp_runtime_frame *known = runtime->frames;
	struct process *p = process_table_find(table, sample->pid);
	const struct hotspot_layout *layout = p ? hotspot_layout(p->hotspot) : NULL;
	struct runtime_names *names;
	size_t next = 0; /* the caller of the one before */

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
		if (frame.position & DP_HOTSPOT_INTERPRETED)
			frame.position =
				interpreted(layout, frame.position, number == 0 || number == next);
		else if (frame_is_exact(f))
			frame.position |= DP_HOTSPOT_EXACT;
		next = number + 1;
		f->offset = runtime_names_put(names, DP_RUNTIME_HOTSPOT, &frame);
		f->module = p->jitted->module;
		f->method = DP_METHOD_JAVA;
	}
}
