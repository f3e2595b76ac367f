// SPDX-License-Identifier: Apache-2.0
#include "samples/probed_code.h"

#include <string.h>

#include "process/snapshot.h"
#include "report/sample.h"

/*
 * Or a copy, whose calls are not known. The kernel sets probes in what an overlay is above, whoever has mapped
 * it by another name: then, these have another device.
 */
static bool is_file(const struct probed_code *code, const struct mapping *m)
{
	const struct binary *b = m->binary;

	if (!b)
		return false;
	return (b->id.inode == code->inode && b->id.device == code->device) ||
	       (code->build_id[0] && strcmp(code->build_id, b->elf.origin.build_id) == 0);
}

/* By whichever name: is_file(). */
static bool are_one_file(const struct probed_code *a, const struct probed_code *b)
{
	return (a->inode == b->inode && a->device == b->device) ||
	       (a->build_id[0] && strcmp(a->build_id, b->build_id) == 0);
}

bool probed_code_is_shared(const struct probed_code *a, const struct probed_code *b)
{
	if (!are_one_file(a, b))
		return false;
	for (size_t i = 0; i < a->n; i++)
		for (size_t j = 0; j < b->n; j++)
			if (a->starts[i] == b->starts[j])
				return true;
	return false;
}

/* Where the thread is at less than place->begun, the call has not been seen by the probe. */
static bool has(const struct dp_span_place *place, uint64_t offset, bool is_caller)
{
	if (!is_caller && offset < place->begun)
		return false;
	return offset < place->size || offset - (uint64_t)place->cold < place->cold_size;
}

enum place {
	OUTSIDE,
	MAYBE_INSIDE,
	INSIDE,
};

/* *ret_number: of the function that it is inside. */
static enum place find_place(const struct probed_code *code, const struct snapshot *snapshot,
			     const struct frame *frame, size_t *ret_number)
{
	bool is_exact = frame_is_exact(frame);
	uint64_t address = frame->address - !is_exact, in_file;
	const struct mapping *m = snapshot_find(snapshot, address);

	if (!m && snapshot->lacks_some)
		return MAYBE_INSIDE;
	if (!m || !is_file(code, m))
		return OUTSIDE;
	in_file = address - m->start + m->offset;
	for (size_t i = 0; i < code->n; i++) {
		uint64_t offset = in_file - code->starts[i];

		*ret_number = i;
		if (has(&code->places.of[i], offset, !is_exact))
			return INSIDE;
	}
	for (size_t i = 0; i < code->n_maybe; i++)
		if (in_file - code->maybe[i].offset < code->maybe[i].size)
			return MAYBE_INSIDE;
	return OUTSIDE;
}

static enum place place_of(const struct probed_code *code, const struct snapshot *snapshot,
			   const struct frame *frame)
{
	return find_place(code, snapshot, frame, &(size_t){ 0 });
}

bool probed_code_may_run(const struct probed_code *code, const struct snapshot *snapshot,
			 const struct sample *sample)
{
	for (size_t i = 0; i < sample->n_user; i++)
		if (place_of(code, snapshot, &sample->user[i]) != OUTSIDE)
			return true;
	if (sample->outcome == DP_COMPLETE)
		return false;
	for (size_t i = 0; i < snapshot->n_mappings; i++)
		if (is_file(code, &snapshot->mappings[i]))
			return true;
	return snapshot->lacks_some;
}

bool probed_code_may_hide(const struct probed_code *code, const struct snapshot *snapshot,
			  const struct sample *sample)
{
	enum place place = OUTSIDE;
	bool may_be = code->n_maybe > 0 || snapshot->lacks_some;

	for (size_t i = 0; may_be && place == OUTSIDE && i < sample->n_user; i++)
		place = place_of(code, snapshot, &sample->user[i]);
	return place == MAYBE_INSIDE;
}

/* The number of the innermost frame in one of the functions, and that one's; sample->n_user: there is none. */
static size_t innermost(const struct probed_code *code, const struct snapshot *snapshot,
			const struct sample *sample, size_t *ret_place)
{
	size_t i = 0;

	*ret_place = 0;
	while (i < sample->n_user &&
	       find_place(code, snapshot, &sample->user[i], ret_place) != INSIDE)
		i++;
	return i;
}

void probed_code_mark(const struct probed_code *code, const struct snapshot *snapshot,
		      const struct sample *sample, unsigned int probe, bool all,
		      struct frame *frames)
{
	bool is_found = false;

	for (size_t i = 0; i < sample->n_user && (all || !is_found); i++) {
		if (place_of(code, snapshot, &frames[i]) != INSIDE)
			continue;
		frames[i].probe = (unsigned char)probe;
		is_found = true;
	}
}

uint64_t probed_code_cfa(const struct probed_code *code, const struct snapshot *snapshot,
			 const struct sample *sample, const uint64_t *cfas, size_t *ret_place)
{
	size_t i = innermost(code, snapshot, sample, ret_place);

	return i < sample->n_user ? cfas[i] : 0;
}
