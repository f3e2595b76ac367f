// SPDX-License-Identifier: Apache-2.0
#include "samples/resolver.h"

#include "binaries/binary.h"
#include "kernel/ring_record.h"
#include "process/process_table.h"
#include "report/sample.h"
#include "samples/return_check.h"
#include "samples/unwinder.h"

/* By a compiler, which may replace it. */
static void note_generated(const struct resolver *r, const struct mapping *m)
{
	if (m && r->owner && (m->binary ? m->binary->object_size > 0 : !m->is_unread))
		jit_objects_expect(r->owner);
}

/* Where its names are. */
static void set_module(struct frame *f, const struct mapping *m, pid_t pid)
{
	if (m->jitted) {
		jitted_meet(m->jitted);
		f->module = m->jitted->module;
	} else if (m->binary) {
		mapping_use(m, pid);
		f->module = m->binary->module;
		f->offset = f->address - m->bias;
	}
}

size_t resolver_frames(const struct resolver *r, const struct snapshot *s, const struct process *p,
		       struct unwinder_result *walk, const struct dp_sample *raw, struct frame *ret)
{
	const __u64 *frames = walk->frames;
	bool in_doubt = p && s && s->n_ended != p->mappings.n_ended;
	size_t n = walk->n_frames;
	struct table *last = NULL;
	bool is_unread = false;

	for (size_t i = 0; i < n && i < DP_MAX_FRAMES; i++) {
		struct frame *f = &ret[i];
		const struct mapping *m = s ? snapshot_find(s, frame_code(frames[i])) : NULL;
		const struct mapping *now = m;

		last = NULL;
		is_unread = m && m->is_unread;
		*f = (struct frame){ .address = DP_FRAME_ADDRESS(frames[i]),
				     .method = (enum dp_method)DP_FRAME_METHOD(frames[i]) };
		if (m && in_doubt)
			now = process_find(p, frame_code(frames[i]), raw->time_ns);
		switch (return_check_frame(r->return_check, s, now, (pid_t)raw->tid, walk, i)) {
		case RETURN_CALLED:
			break;
		case RETURN_LANDS:
			f->method = DP_METHOD_LANDING_PAD;
			break;
		case RETURN_NOT_CALLED:
			walk->outcome = DP_NO_CALL;
			return i;
		}
		if (now != m && !mapping_is_same_code(m, now)) {
			walk->outcome = DP_TABLES_CHANGED;
			n = i + 1;
			m = NULL;
		}
		if (m)
			set_module(f, m, s->pid);
		note_generated(r, m);
		if (!m || !m->binary)
			continue;
		last = m->binary->table;
		table_use(last, raw->time_ns);
	}
	/* Only the last frame could not be left. */
	if (walk->outcome == DP_NO_TABLE && is_unread)
		walk->outcome = DP_FILE_NOT_READABLE;
	if (walk->outcome == DP_TABLE_EVICTED && last)
		table_want(r->tables, last, raw->time_ns);
	return n;
}

/*
 * The kernel found other code than it knew, or no cookie, at the frame after those it sent. Has a
 * record explained that?
 */
static bool knows_code(struct process_table *table, const struct process *p,
		       const struct dp_sample *raw, const struct unwinder_result *walk,
		       const struct snapshot *snapshot)
{
	const struct snapshot *before = snapshot_store_find(&table->snapshots, raw->snapshot);
	const struct mapping *m, *now;
	uint64_t address;

	if (!before || walk->n_frames <= raw->n_user)
		return true;
	address = frame_code(walk->frames[raw->n_user]);
	m = snapshot_find(snapshot, address);
	if (!mapping_is_same_code(snapshot_find(before, address), m))
		return true;
	if (raw->outcome != DP_TABLES_CHANGED)
		return raw->outcome != DP_CODE_CHANGED;
	/* Memory now shows the state at that time only if it is still the same mapping. */
	now = process_find(p, address, TIME_NEVER - 1);
	return !now || now->born != m->born || !process_cookie_differs(table, p, now);
}

/*
 * Whether the walk has found all frames that the kernel has sent, if it has sent functions of HotSpot or
 * V8, which belong to native frames by their numbers. It cannot read what the kernel finds a JVM's frames
 * by, so it may end in front of them, or take others for their callers.
 */
static bool has_all(const struct named_sample *sent, const struct unwinder_result *walk)
{
	const struct dp_runtime *runtime = sample_runtime(sent);
	size_t n = sent->sample.n_user, i = 0;

	if (!runtime || (!(runtime->kind & DP_RUNTIME_TWO) && runtime->kind != DP_RUNTIME_HOTSPOT &&
			 runtime->kind != DP_RUNTIME_V8))
		return true;
	while (i < n && i < walk->n_frames &&
	       DP_FRAME_ADDRESS(walk->frames[i]) == DP_FRAME_ADDRESS(sent->frames[i]))
		i++;
	return i == n;
}

bool resolver_is_certain(struct process_table *table, struct process *p,
			 const struct named_sample *sent, const struct unwinder_result *walk,
			 const struct snapshot *snapshot)
{
	if (!knows_code(table, p, &sent->sample, walk, snapshot)) {
		process_table_doubt(p, sent->sample.time_ns);
		return false;
	}
	return walk->runtime || has_all(sent, walk);
}
