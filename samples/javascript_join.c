// SPDX-License-Identifier: Apache-2.0
#include "samples/javascript_join.h"

#include "process/process_table.h"
#include "runtimes/runtime.h"
#include "samples/runtime_names.h"

struct javascript {
	const struct binary *binary; /* with V8 */
	const struct dp_runtime_image *image;
	const struct dp_runtime_frame *notes, *end;
	struct runtime_names *names;
	struct module *module; /* of the names */
	bool keeps_native;
	struct frame *frames;
	size_t n;
	bool is_cut;
};

static void put(struct javascript *j, const struct frame *frame)
{
	if (j->n < DP_MAX_FRAMES)
		j->frames[j->n++] = *frame;
	else
		j->is_cut = true;
}

static bool is_in_file(const struct javascript *j, const struct frame *frame)
{
	return frame->module && frame->module == j->binary->module;
}

static bool is_trampoline(const struct javascript *j, const struct frame *frame)
{
	uint64_t at = frame->offset - !frame_is_exact(frame);

	for (size_t i = 0; is_in_file(j, frame) && i < DP_RUNTIME_RANGES; i++)
		if (at >= j->image->ranges[i].start && at < j->image->ranges[i].end)
			return true;
	return false;
}

/* The function that a frame is noted for. An interpreter's frame, in V8's file, has a position in bytecode. */
static void put_function(struct javascript *j, const struct frame *native,
			 const struct dp_runtime_frame *note)
{
	struct dp_runtime_frame f = *note;

	if (is_in_file(j, native))
		f.position = (uint32_t)f.position;
	else
		f.position = DP_V8_COMPILED | (frame_is_exact(native) ? DP_V8_EXACT : 0) |
			     DP_V8_POSITION(native->address);
	put(j, &(struct frame){ .address = native->address,
				.offset = runtime_names_put(j->names, DP_RUNTIME_V8, &f),
				.module = j->module,
				.method = DP_METHOD_JAVASCRIPT });
}

static void put_all(struct javascript *j, const struct sample *sample)
{
	for (size_t i = 0; i < sample->n_user; i++) {
		const struct frame *native = &sample->user[i];
		const struct dp_runtime_frame *note = NULL;

		if (j->notes < j->end && DP_NOTE_NUMBER(j->notes->position) == i)
			note = j->notes++;
		if (j->keeps_native || (!note && !is_trampoline(j, native)))
			put(j, native);
		if (note)
			put_function(j, native, note);
	}
}

void javascript_join_sample(struct runtime_join *join, const struct mapping *mapping,
			    const struct runtime_frames *runtime, struct frame *frames,
			    struct sample *sample)
{
	struct process *p = process_table_find(join->table, sample->pid);
	struct javascript j;

	if (!p || !mapping || !mapping->binary || !mapping->binary->table ||
	    !mapping->binary->table->runtime ||
	    mapping->binary->table->runtime_kind != DP_RUNTIME_V8)
		return;
	j = (struct javascript){
		.binary = mapping->binary,
		.image = mapping->binary->table->runtime,
		.notes = runtime->frames,
		.keeps_native = join->keeps_native,
		.frames = frames,
	};
	j.end = j.notes + runtime->n;
	j.names = runtime_names_find(join->table, p, DP_RUNTIME_V8, j.image);
	if (!j.names)
		return;
	j.module = p->jitted->module;
	put_all(&j, sample);
	if (j.is_cut)
		sample->outcome = DP_DEPTH_LIMIT;
	sample->n_user = j.n;
	sample->user = j.frames;
}
