/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_SPAN_TIMES_BPF_H
#define DP_BPF_SPAN_TIMES_BPF_H

/*
 * How long the calls take that samples are in. All calls are counted here, by their times. A sample has
 * a list of the calls on its stack (struct dp_spans). User space is told of a call when a sample first
 * meets it, and then of its end: it decides which samples are in calls that took long enough.
 *
 * Calls are seen to end at the instructions that leave the function, which have probes of their own. A
 * uretprobe would replace the return address: an exception that is thrown through it finds no unwind
 * information there, and ends the program. Included by dwarfprof.bpf.c.
 */

/* The least time in which user space is interested. */
const volatile __u64 dp_span_min_ns;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dp_span_times);
} dp_span_times SEC(".maps");

/* Counted atomically: a program that is preempted may go on after another one on its CPU. */
static __always_inline struct dp_span_times *span_times(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&dp_span_times, &zero);
}

/* If the ring is full, samples in this call are not known to be in one that took long enough. */
static __always_inline void span_send_end(const struct span *s, __u32 how, __u64 end_ns)
{
	struct dp_span_end end = {
		.part = { DP_RECORD_SPAN_END, sizeof(end) },
		.tid = s->begin.tid,
		.begin_ns = s->begin.begin_ns,
		.end_ns = end_ns,
		.how = how,
	};
	__u32 key = bpf_get_smp_processor_id() + dp_off_cpu_rings;
	void *ring = bpf_map_lookup_elem(&dp_rings, &key);

	if (ring)
		bpf_ringbuf_output(ring, &end, sizeof(end), wakeup_flags(ring));
}

/* Another call takes the room of one, which may not have been seen to end; and its place on the stack? */
static __always_inline void span_give_up(const struct span_key *key, const struct span *s,
					 bool is_replaced)
{
	if (key->is_sent && !key->is_over)
		span_send_end(s, is_replaced ? DP_SPAN_REPLACED : DP_SPAN_FORGOTTEN,
			      bpf_ktime_get_ns());
}

/* The last thing before the call goes on, so that our own time is no part of it. */
static __always_inline void span_note_begin(struct span_key *key, struct span *s, __u32 tid)
{
	struct dp_span_times *times = span_times();

	if (times)
		__sync_fetch_and_add(&times->n_begun, 1);
	key->is_sent = 0;
	key->is_over = 0;
	s->begin.part.type = DP_RECORD_SPAN_BEGIN;
	s->begin.part.size =
		(__u16)(sizeof(s->begin) + sizeof(s->head) + key->n_cells * DP_CELL_SIZE);
	s->begin.tid = tid;
	s->begin.begin_ns = bpf_ktime_get_ns();
}

static __always_inline void span_count(__u64 ns)
{
	struct dp_span_times *times = span_times();

	if (!times)
		return;
	if (ns >= dp_span_min_ns)
		__sync_fetch_and_add(&times->n_long, 1);
	__sync_fetch_and_add(&times->n_returned[port_index(dp_span_step(ns), DP_SPAN_STEPS)], 1);
}

static __always_inline void span_return(struct pt_regs *ctx, __u64 pid_tgid, __u64 now)
{
	__u32 id = DP_SPAN_ID_OF(bpf_get_attach_cookie(ctx));
	struct thread_spans *t = bpf_map_lookup_elem(&dp_spans, &pid_tgid);
	__u32 found = span_with_cfa(t, DP_FRAME_CFA(REGS_SP(ctx)), id) - 1;
	struct dp_span_times *times;
	struct span_key *key;
	struct span *s;

	if (!t || found >= SPANS || t->keys[port_index(found, SPANS)].is_over) {
		times = span_times();
		if (times)
			__sync_fetch_and_add(&times->n_unknown, 1);
		return;
	}
	key = &t->keys[port_index(found, SPANS)];
	s = &t->of[port_index(found, SPANS)];
	s->end_ns = now;
	/* A sample may interrupt this. Either it or what follows then tells of the end, or both do. */
	*(volatile __u8 *)&key->is_over = 1;
	if (*(volatile __u8 *)&key->is_sent)
		span_send_end(s, DP_SPAN_RETURNED, now);
	span_count(now - s->begin.begin_ns);
}

struct span_calls {
	struct walk *w;
	const struct dp_span_places *places;
	const struct span_code *code;
	const struct thread_spans *spans; /* NULL: the thread has none */
	__u32 at;                         /* where among the frames the list is */
};

/*
 * While a list is made, w->out.span has the number of its calls, and above it a bit for each kept one
 * that is in it. On the stack, Linux 6.1 would take them for what they are after the first step.
 */
#define CALLS_MASK 255
#define CALLS_MET(i) (1U << (8 + (i)))
DP_ASSERT(SPANS < CALLS_MASK && SPANS <= 24, "both have room");

/* Adds a call that the stack has; 0: one that is not known. Nonzero: the list is full. */
static __always_inline long span_calls_add(struct span_calls *c, __u64 begin_ns)
{
	__u32 n = c->w->out.span & CALLS_MASK, at = c->at + n;

	at = port_opaque(at);
	if (n > SPANS || at >= sizeof(c->w->out.frames) / sizeof(*c->w->out.frames))
		return 1;
	c->w->out.frames[at] = begin_ns;
	c->w->out.span++;
	return 0;
}

static long span_calls_step(__u32 i, void *ctx)
{
	struct span_calls *c = ctx;
	struct walk *w = c->w;
	const struct walk_trail *t = walk_trail(w, i);
	__u32 place = span_place_of(c->places, c->code, t->frame), found = SPAN_UNKNOWN;

	if (place == 0)
		return 0;
	/* Further ones are not known. */
	if ((w->out.span & CALLS_MASK) == SPANS) {
		span_calls_add(c, 0);
		return 1;
	}
	/* The last frame was not left, so its CFA is not known. */
	if (i + 1 < w->at.n_frames)
		found = span_with_cfa(c->spans, t->cfa, span_id(c->places, place - 1));
	if (!c->spans || found == SPAN_UNKNOWN ||
	    c->spans->moves[port_index(found - 1, SPANS)] != c->code->moves ||
	    !span_is_own(c->code, &c->spans->keys[port_index(found - 1, SPANS)], w->out.sample.pid,
			 w->out.sample.tid))
		return span_calls_add(c, 0);
	w->out.span |= CALLS_MET((found - 1) & (SPANS - 1));
	return span_calls_add(c, c->spans->of[port_index(found - 1, SPANS)].begin.begin_ns);
}

/* Tells user space of a call that a sample has met. */
PORT_GLOBAL int span_tell(struct walk *w, __u32 number)
{
	struct thread_spans *t;
	struct span_key *key;
	__u32 n_cells;
	struct span *s;
	void *ring;
	__u64 id;

	if (!w)
		return 0;
	id = (__u64)w->out.sample.pid << 32 | w->out.sample.tid;
	t = bpf_map_lookup_elem(&dp_spans, &id);
	ring = sample_ring(&w->out.sample);
	if (!t || !ring)
		return 0;
	key = &t->keys[port_index(number, SPANS)];
	s = &t->of[port_index(number, SPANS)];
	n_cells = key->n_cells;
	n_cells = port_opaque(n_cells);
	if (n_cells > SPAN_CELLS)
		return 0;
	if (!key->is_sent &&
	    bpf_ringbuf_output(ring, &s->begin,
			       sizeof(s->begin) + sizeof(s->head) + n_cells * DP_CELL_SIZE,
			       wakeup_flags(ring)) < 0)
		return 0;
	key->is_sent = 1;
	/* It returns just now, so that nothing else may tell of it. */
	if (*(volatile __u8 *)&key->is_over)
		span_send_end(s, DP_SPAN_RETURNED, s->end_ns);
	return 0;
}

/*
 * Of a probe that is over, later calls are not kept, and may have the places of those that are. One whose
 * calls are timed is alone (samples/call_table.h), so its first place is number 0.
 */
static __always_inline struct thread_spans *spans_that_count(const struct dp_span_places *places,
							     __u64 id)
{
	if (dp_has_slots && probe_is_over(places->of[0].slot))
		return NULL;
	return bpf_map_lookup_elem(&dp_spans, &id);
}

/* Appends the list of calls after n frames. Returns the cells that it takes. */
PORT_GLOBAL int sample_put_calls(struct walk *w, __u32 n)
{
	struct span_calls c = { .w = w, .at = n + sizeof(struct dp_spans) / DP_CELL_SIZE };
	struct dp_spans head = { .part.type = DP_RECORD_SPANS };
	__u32 pid, is_walked, zero = 0;
	__u64 id;

	n = port_opaque(n);
	if (!w || n > DP_MAX_FRAMES + DP_MAX_KERNEL_FRAMES + WALK_LABELS_CELLS)
		return 0;
	is_walked = w->out.span;
	w->out.span = 0;
	pid = w->out.sample.pid;
	id = (__u64)pid << 32 | w->out.sample.tid;
	c.code = bpf_map_lookup_elem(&dp_span_code, &pid);
	c.places = bpf_map_lookup_elem(&dp_span_places, &zero);
	if (!c.code || !c.places)
		return 0;
	c.spans = spans_that_count(c.places, id);
	if (is_walked)
		bpf_loop(w->at.n_frames, span_calls_step, &c, 0);
	if (w->out.sample.outcome != DP_COMPLETE)
		span_calls_add(&c, 0);
	else if (is_walked && w->at.n_frames > 1)
		head.root = walk_trail(w, w->at.n_frames - 2)->cfa;
	head.n = w->out.span & CALLS_MASK;
	if (head.n == 0 && !c.spans)
		return 0;
	for (__u32 i = 0; i < SPANS; i++)
		if (w->out.span & CALLS_MET(i))
			span_tell(w, i);
	head.part.size = (__u16)(sizeof(head) + head.n * DP_CELL_SIZE);
	if (copy_cells(&w->out.frames[n], sizeof(head), &head) < 0)
		return 0;
	w->out.sample.flags |= DP_SAMPLE_SPANS;
	return (int)(sizeof(head) / DP_CELL_SIZE + head.n);
}

/* Do samples list the calls of the probe that was added? */
PORT_GLOBAL int spans_are_timed(void)
{
	const struct dp_span_places *places;
	__u32 zero = 0;

	places = bpf_map_lookup_elem(&dp_span_places, &zero);
	return places && places->are_timed;
}

/* Appends what is known of the probed calls on the stack. w->out.span: was it walked? */
static __always_inline __u32 sample_put_probed(struct walk *w, __u32 n)
{
	if (dp_has_slots ? spans_are_timed() != 0 : dp_has_span_times)
		return (__u32)sample_put_calls(w, port_opaque(n));
	return (__u32)sample_put_spans(w, port_opaque(n));
}

#endif
