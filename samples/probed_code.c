// SPDX-License-Identifier: Apache-2.0
#include "samples/probed_code.h"

#include "process/snapshot.h"
#include "report/sample.h"

static bool is_file(const struct probed_code *code, const struct mapping *m)
{
	return m->binary && m->binary->id.inode == code->inode &&
	       m->binary->id.device == code->device;
}

static bool has(const struct dp_span_place *place, uint64_t offset)
{
	return offset < place->size || offset - (uint64_t)place->cold < place->cold_size;
}

enum place {
	OUTSIDE,
	MAYBE_INSIDE,
	INSIDE,
};

static enum place place_of(const struct probed_code *code, const struct snapshot *snapshot,
			   const struct frame *frame)
{
	bool is_exact = frame_is_exact(frame);
	uint64_t address = frame->address - !is_exact, in_file;
	const struct mapping *m = snapshot_find(snapshot, address);

	if (!m || !is_file(code, m))
		return OUTSIDE;
	in_file = address - m->start + m->offset;
	for (size_t i = 0; i < code->n; i++) {
		uint64_t offset = in_file - code->starts[i];

		/* At its first instruction, the call has not been seen by the probe. */
		if ((offset > 0 || !is_exact) && has(&code->places.of[i], offset))
			return INSIDE;
	}
	for (size_t i = 0; i < code->n_maybe; i++)
		if (in_file - code->maybe[i].offset < code->maybe[i].size)
			return MAYBE_INSIDE;
	return OUTSIDE;
}

bool probed_code_may_run(const struct probed_code *code, const struct snapshot *snapshot,
			 const struct sample *sample)
{
	for (size_t i = 0; i < sample->n_user; i++)
		if (place_of(code, snapshot, &sample->user[i]) != OUTSIDE)
			return true;
	for (size_t i = 0; sample->outcome != DP_COMPLETE && i < snapshot->n_mappings; i++)
		if (is_file(code, &snapshot->mappings[i]))
			return true;
	return false;
}

bool probed_code_may_hide(const struct probed_code *code, const struct snapshot *snapshot,
			  const struct sample *sample)
{
	enum place place = OUTSIDE;

	for (size_t i = 0; code->n_maybe > 0 && place == OUTSIDE && i < sample->n_user; i++)
		place = place_of(code, snapshot, &sample->user[i]);
	return place == MAYBE_INSIDE;
}
