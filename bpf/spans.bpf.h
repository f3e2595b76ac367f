/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_SPANS_BPF_H
#define DP_BPF_SPANS_BPF_H

/*
 * Labels of samples by the calls on their stack. A probe at a function's entry keeps the values of
 * the call with its CFA, for the thread. A sample has the label if its walk meets a frame with that
 * CFA and an address within that function. Nothing is done when a call returns: exceptions, longjmp()
 * and tail calls need no care. A frame within a function that no kept call fits has an unknown label:
 * also one on a stack that another thread has begun the call on, such as a goroutine's, where what this
 * thread keeps is of an earlier call.
 */

#include "bpf/probe_slots.bpf.h"
#include "bpf/values.bpf.h"

/* Constants of the loaded program, as the options are. */
const volatile bool dp_has_spans;
/* What matters is how long calls take (span_times.bpf.h): samples have no values. */
const volatile bool dp_has_span_times;
/* How many probes there may be whose calls label samples: with more than one, a sample has a struct dp_calls. */
const volatile __u32 dp_label_probes;

#define SPANS DP_MAX_SPANS
#define SPAN_CELLS (WALK_SPAN_CELLS - sizeof(struct dp_values) / DP_CELL_SIZE)

struct span_key {
	__u64 cfa;     /* 0: none */
	__u32 id;      /* of its place */
	__u16 n_cells; /* of its values */
	/* With dp_has_span_times: */
	__u8 is_sent; /* user space has its begin */
	__u8 is_over; /* it has returned, or is just returning */
};

struct span {
	__u64 end_ns; /* once it is over */
	struct dp_span_begin begin;
	struct dp_values head;
	__u64 cells[SPAN_CELLS];
};
DP_ASSERT(__builtin_offsetof(struct span, cells) ==
		  __builtin_offsetof(struct span, head) + sizeof(struct dp_values),
	  "the values follow their head");
DP_ASSERT(__builtin_offsetof(struct span, head) ==
		  __builtin_offsetof(struct span, begin) + sizeof(struct dp_span_begin),
	  "and this the begin, so that one copy sends both");

/* Written by the thread alone, once it runs (fork_span.bpf.h). The event that samples it may interrupt that. */
struct thread_spans {
	struct span_key keys[SPANS]; /* in two cache lines: a sample looks at all of them */
	__u32 moves[SPANS];          /* of span_code, when they began */
	struct span of[SPANS];
	struct dp_regs regs; /* of the last call, and its values */
	struct values values;
};

/* By process and thread, as in its samples. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct thread_spans);
} dp_spans SEC(".maps");

/* Where a process has the probed functions. */
struct span_code {
	__u32 moves; /* how often stacks of the process have moved, from any number on */
	/* A call has begun at a CFA at which another thread had begun one, or the map of owners has forgotten that. */
	bool has_shared;
	struct {
		__u64 start; /* 0: not known, as the process has not called it yet */
		__u32 id;    /* of which place that is */
	} of[DP_MAX_SPAN_PLACES];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct span_code);
} dp_span_code SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dp_span_places);
} dp_span_places SEC(".maps");

/*
 * Entries added to the two maps, less those removed on purpose. What user space does not find of these was
 * evicted by the LRU, or has ended.
 */
__u64 dp_span_threads;
__u64 dp_span_processes;

static __always_inline void thread_spans_drop(const __u64 *pid_tgid)
{
	if (bpf_map_delete_elem(&dp_spans, pid_tgid) == 0)
		__sync_fetch_and_add(&dp_span_threads, -1);
}

static __always_inline void span_code_drop(const __u32 *pid)
{
	if (bpf_map_delete_elem(&dp_span_code, pid) == 0)
		__sync_fetch_and_add(&dp_span_processes, -1);
}

static __always_inline int thread_spans_add(const __u64 *pid_tgid, const struct thread_spans *t)
{
	int err = (int)bpf_map_update_elem(&dp_spans, pid_tgid, t, BPF_NOEXIST);

	if (err == 0)
		__sync_fetch_and_add(&dp_span_threads, 1);
	return err;
}

static __always_inline int span_code_add(const __u32 *pid, const struct span_code *code)
{
	int err = (int)bpf_map_update_elem(&dp_span_code, pid, code, BPF_NOEXIST);

	if (err == 0)
		__sync_fetch_and_add(&dp_span_processes, 1);
	return err;
}

struct span_owner_key {
	__u64 cfa;
	__u32 pid, id;
};

/* The thread that began the last call with a CFA. A sample looks only if there may be another one: see span_is_own(). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct span_owner_key);
	__type(value, __u32);
} dp_span_owners SEC(".maps");

/* How many owners the map is sure to keep, and how many it has been given, which is counted up to that. */
const volatile __u32 dp_span_owners_kept;
__u32 dp_span_owners_added;

/* What a sample's walk has found of each probe, in a byte of walk_output.span: nothing, a call and 1, or this. */
#define SPAN_UNKNOWN (SPANS + 1)
#define SPAN_BITS 8
#define SPAN_MASK ((1U << SPAN_BITS) - 1)
/* Or a call and 1, with this bit: user space will walk the stack, and this is the innermost one that may be on it. */
#define SPAN_GUESSED (1U << (SPAN_BITS - 1))
DP_ASSERT(SPAN_UNKNOWN < SPAN_GUESSED && DP_MAX_LABEL_PROBES * SPAN_BITS <= 32, "there is room");

/* Has the probe of a place more calls than its share? */
static __always_inline bool span_is_more(__u32 counts, __u32 id)
{
	return (counts >> DP_SPAN_PROBE(id) * SPAN_BITS & SPAN_MASK) > SPANS / DP_MAX_LABEL_PROBES;
}

/*
 * Where a call is kept: in place of one with the same CFA, which is over; else where there is room,
 * or one has returned; else in place of one below it, which is over too unless it is on another stack;
 * else in place of the outermost one of a probe that would have more than its share: recursion does not
 * displace calls of other probes. Of equal ones, the one with the greatest CFA.
 */
static __always_inline __u32 span_choose(const struct thread_spans *t, __u64 cfa, __u32 probe)
{
	__u32 best = 0, counts = 1U << probe * SPAN_BITS;
	__u64 best_score = 0;

	for (__u32 i = 0; dp_label_probes > 1 && i < SPANS; i++)
		counts += 1U << DP_SPAN_PROBE(t->keys[port_index(i, SPANS)].id) * SPAN_BITS;
	for (__u32 i = 0; i < SPANS; i++) {
		__u64 other = t->keys[port_index(i, SPANS)].cfa;
		__u64 score = other == cfa ? 5 : other == 0 ? 4 : other < cfa ? 3 : 1;

		if (dp_has_span_times && score < 4 && t->keys[port_index(i, SPANS)].is_over)
			score = 4;
		/* CFAs have fewer bits, and the outermost of some has the greatest one. */
		score = score << 60 | other;
		if (dp_label_probes > 1 && span_is_more(counts, t->keys[port_index(i, SPANS)].id))
			score += 1ULL << 59;
		if (score > best_score) {
			best = i;
			best_score = score;
		}
	}
	return best;
}

static __always_inline struct thread_spans *thread_spans_of(__u64 pid_tgid)
{
	static const struct thread_spans fresh;
	struct thread_spans *t = bpf_map_lookup_elem(&dp_spans, &pid_tgid);

	if (t)
		return t;
	thread_spans_add(&pid_tgid, &fresh);
	return bpf_map_lookup_elem(&dp_spans, &pid_tgid);
}

/* Notes where the process has the function. Returns its moves. */
static __always_inline __u32 span_code_note(__u32 pid, __u32 id, __u64 start)
{
	static const struct span_code fresh;
	struct span_code *code = bpf_map_lookup_elem(&dp_span_code, &pid);
	__u32 place = id & (DP_MAX_SPAN_PLACES - 1);

	if (!code) {
		span_code_add(&pid, &fresh);
		code = bpf_map_lookup_elem(&dp_span_code, &pid);
	}
	if (!code)
		return 0;
	/* Any number but one that the map has had of it before; whichever of its threads sets it. */
	if (code->moves == 0)
		__sync_val_compare_and_swap(&code->moves, 0, (__u32)bpf_ktime_get_ns() | 1);
	/* In this order: a sample may interrupt this. */
	*(volatile __u64 *)&code->of[port_index(place, DP_MAX_SPAN_PLACES)].start = start;
	*(volatile __u32 *)&code->of[port_index(place, DP_MAX_SPAN_PLACES)].id = id;
	return code->moves;
}

/* A stack of the process is free: what is kept of it is over, and another one may be moved there. */
static __always_inline void span_code_move(__u32 pid)
{
	struct span_code *code = bpf_map_lookup_elem(&dp_span_code, &pid);

	if (code)
		__sync_fetch_and_add(&code->moves, 1);
}

static __always_inline void span_own(__u64 cfa, __u64 pid_tgid, __u32 id)
{
	struct span_owner_key key = { cfa, pid_tgid >> 32, id };
	__u32 tid = (__u32)pid_tgid, pid = pid_tgid >> 32, *owner;
	struct span_code *code;

	owner = bpf_map_lookup_elem(&dp_span_owners, &key);
	if (owner && *owner == tid)
		return;
	if (bpf_map_update_elem(&dp_span_owners, &key, &tid, BPF_ANY) == 0 && !owner &&
	    dp_span_owners_added < dp_span_owners_kept) {
		__sync_fetch_and_add(&dp_span_owners_added, 1);
		return;
	}
	code = bpf_map_lookup_elem(&dp_span_code, &pid);
	if (code)
		*(volatile bool *)&code->has_shared = true;
}

/* Is a kept call the last one that began at its CFA? It is if no two threads have begun one with the same. */
static __always_inline bool span_is_own(const struct span_code *code, const struct span_key *kept,
					__u32 pid, __u32 tid)
{
	struct span_owner_key key = { kept->cfa, pid, kept->id };
	const __u32 *owner;

	if (!code->has_shared)
		return true;
	owner = bpf_map_lookup_elem(&dp_span_owners, &key);
	return owner && *owner == tid;
}

struct span_search {
	struct walk *w;
	const struct dp_span_places *places;
	const struct span_code *code;
	struct thread_spans *spans; /* NULL: the thread has none */
	__u32 found;                /* as walk_output.span */
	__u32 left;                 /* probes without one so far, a bit for each */
};

/* Where the thread is at less than place->begun, the probe may not have been hit. */
static __always_inline bool span_has(const struct dp_span_place *place, __u64 offset,
				     bool is_caller)
{
	if (!is_caller && offset < place->begun)
		return false;
	return offset < place->size || offset - (__u64)place->cold < place->cold_size;
}

/* The number of a function that has the frame's address, and 1; 0: none. */
static __always_inline __u32 span_place_of(const struct dp_span_places *places,
					   const struct span_code *code, __u64 frame)
{
	__u32 is_caller = DP_METHOD_IS_CALLER(DP_FRAME_METHOD(frame));

	for (__u32 i = 0; i < DP_MAX_SPAN_PLACES && i < places->n; i++) {
		const struct dp_span_place *place = &places->of[port_index(i, DP_MAX_SPAN_PLACES)];
		__u64 start = code->of[port_index(i, DP_MAX_SPAN_PLACES)].start;
		__u64 offset = DP_FRAME_ADDRESS(frame) - start - is_caller;

		if (start && code->of[port_index(i, DP_MAX_SPAN_PLACES)].id == place->id &&
		    span_has(place, offset, is_caller))
			return i + 1;
	}
	return 0;
}

static __always_inline __u32 span_with_cfa(const struct thread_spans *t, __u64 cfa, __u32 id)
{
	for (__u32 i = 0; t && i < SPANS; i++) {
		const struct span_key *key = &t->keys[port_index(i, SPANS)];

		if (key->cfa == cfa && key->id == id)
			return i + 1;
	}
	return SPAN_UNKNOWN;
}

static __always_inline __u32 span_id(const struct dp_span_places *places, __u32 place)
{
	return places->of[port_index(place, DP_MAX_SPAN_PLACES)].id;
}

/* Is a kept call of a probe that is over? Later ones are not kept, and may have its place on the stack. */
static __always_inline bool span_is_over(const struct dp_span_places *places,
					 const struct span_key *key)
{
	return dp_has_slots &&
	       probe_is_over(places->of[port_index(key->id, DP_MAX_SPAN_PLACES)].slot);
}

/* The probes of which the process has called a function. */
static __always_inline __u32 span_probes(const struct dp_span_places *places,
					 const struct span_code *code)
{
	__u32 probes = 0;

	for (__u32 i = 0; i < DP_MAX_SPAN_PLACES && i < places->n; i++) {
		__u32 id = places->of[i].id;

		if (code->of[i].start && code->of[i].id == id)
			probes |= 1U << DP_SPAN_PROBE(id);
	}
	return probes;
}

static long span_step(__u32 i, void *ctx)
{
	struct span_search *search = ctx;
	struct walk *w = search->w;
	const struct walk_trail *t = walk_trail(w, i);
	__u32 place = span_place_of(search->places, search->code, t->frame), id, probe, found;

	if (place == 0)
		return 0;
	id = span_id(search->places, place - 1);
	probe = DP_SPAN_PROBE(id);
	/* Of nested calls, the innermost one counts. */
	if (!(search->left >> probe & 1))
		return 0;
	/* The last frame was not left, so its CFA is not known. */
	found = i + 1 < w->at.n_frames ? span_with_cfa(search->spans, t->cfa, id) : SPAN_UNKNOWN;
	search->found |= found << probe * SPAN_BITS;
	search->left &= ~(1U << probe);
	return search->left == 0;
}

/* What user space will walk: a call above the stack pointer may be on the stack. */
static long span_guess_step(__u32 i, void *ctx)
{
	struct span_search *search = ctx;
	const struct thread_spans *t = search->spans;
	const struct span_key *key;
	__u32 probe, shift, best;

	if (!t)
		return 1;
	key = &t->keys[port_index(i, SPANS)];
	probe = DP_SPAN_PROBE(key->id);
	shift = probe * SPAN_BITS;
	best = search->found >> shift & SPAN_MASK;
	if (!(search->left >> probe & 1) || key->cfa <= search->w->in.regs.reg[DP_REG_SP] ||
	    span_id(search->places, key->id & (DP_MAX_SPAN_PLACES - 1)) != key->id)
		return 0;
	if (best != 0 && t->keys[port_index(best - 1, SPANS)].cfa < key->cfa)
		return 0;
	search->found = (search->found & ~(SPAN_MASK << shift)) | (i + 1) << shift;
	return 0;
}

/* What holds of a probe, when the walk has been searched. */
static __always_inline __u32 span_judge(const struct span_search *search, __u32 probe)
{
	const struct dp_sample *sample = &search->w->out.sample;
	__u32 found = search->found >> probe * SPAN_BITS & SPAN_MASK;
	const struct span_key *key;

	if (found == 0)
		return (search->left >> probe & 1) && sample->outcome != DP_COMPLETE ?
			       SPAN_UNKNOWN :
			       0;
	if (!search->spans || found >= SPAN_UNKNOWN)
		return SPAN_UNKNOWN;
	key = &search->spans->keys[port_index(found - 1, SPANS)];
	if (search->spans->moves[port_index(found - 1, SPANS)] != search->code->moves)
		return SPAN_UNKNOWN;
	return span_is_own(search->code, key, sample->pid, sample->tid) &&
			       !span_is_over(search->places, key) ?
		       found :
		       SPAN_UNKNOWN;
}

/*
 * Finds the innermost call of each probe on the stack. search->w->out.span: first, was it walked? Then what is found.
 */
static __always_inline void span_find(struct span_search *search)
{
	struct walk *w = search->w;
	__u32 pid = w->out.sample.pid, is_walked = w->out.span, zero = 0;
	__u64 key = (__u64)pid << 32 | w->out.sample.tid;

	w->out.span = 0;
	search->code = bpf_map_lookup_elem(&dp_span_code, &pid);
	search->places = bpf_map_lookup_elem(&dp_span_places, &zero);
	if (!search->code || !search->places)
		return;
	search->left = span_probes(search->places, search->code);
	if (search->left == 0)
		return;
	search->spans = bpf_map_lookup_elem(&dp_spans, &key);
	if (is_walked)
		bpf_loop(w->at.n_frames, span_step, search, 0);
	if (w->out.sample.flags & DP_SAMPLE_LATE)
		bpf_loop(SPANS, span_guess_step, search, 0);
	for (__u32 i = 0; i < DP_MAX_LABEL_PROBES && i < dp_label_probes; i++) {
		__u32 found = span_judge(search, i);

		if ((search->left >> i & 1) && found != 0 && found != SPAN_UNKNOWN)
			found |= SPAN_GUESSED;
		w->out.span |= found << i * SPAN_BITS;
	}
}

DP_ASSERT(1 + DP_MAX_LABEL_PROBES * (WALK_SPAN_CELLS + 1) <= WALK_CALLS_CELLS,
	  "each may be a guess");

/* Says that the values behind n cells are those of a call that may not be on the stack. Returns the cell more. */
static __always_inline __u32 span_put_guess(struct walk *w, __u32 n, __u32 n_cells,
					    const struct span_key *key)
{
	__u32 at = n + sizeof(struct dp_values) / DP_CELL_SIZE + n_cells;
	struct dp_values *head = (void *)&w->out.frames[n];

	head->is_unknown = 1;
	at = port_opaque(at);
	if (at >= sizeof(w->out.frames) / sizeof(*w->out.frames))
		return 0;
	w->out.frames[at] = key->cfa;
	head->part.size += DP_CELL_SIZE;
	head->is_unknown = DP_CALL_GUESSED(key->id);
	return 1;
}

/* Appends the values of a probe's call after n cells. t: NULL if there are none. Returns the cells that they take. */
PORT_GLOBAL int sample_put_span(struct walk *w, struct thread_spans *t, __u32 n, __u32 probe)
{
	struct dp_values unknown = { .part = { DP_RECORD_VALUES, sizeof(unknown) },
				     .is_unknown = 1 };
	__u32 cells = sizeof(unknown) / DP_CELL_SIZE, found, is_guess;

	n = port_opaque(n);
	if (!w || n > DP_MAX_FRAMES + DP_MAX_KERNEL_FRAMES + WALK_LABELS_CELLS + WALK_CALLS_CELLS -
				  WALK_SPAN_CELLS)
		return 0;
	found = w->out.span >> (probe & (DP_MAX_LABEL_PROBES - 1)) * SPAN_BITS & SPAN_MASK;
	if (found == 0)
		return 0;
	is_guess = found & SPAN_GUESSED;
	found &= SPAN_GUESSED - 1;
	if (t && found < SPAN_UNKNOWN) {
		__u32 at = port_index(found - 1, SPANS);
		const struct span *s = &t->of[at];
		__u32 n_cells = t->keys[at].n_cells;

		n_cells = port_opaque(n_cells);
		if (n_cells <= SPAN_CELLS &&
		    copy_cells(&w->out.frames[n], sizeof(s->head) + n_cells * DP_CELL_SIZE,
			       &s->head) == 0) {
			if (is_guess)
				cells += span_put_guess(w, n, n_cells, &t->keys[at]);
			return (int)(cells + n_cells);
		}
	}
	copy_cells(&w->out.frames[n], sizeof(unknown), &unknown);
	return (int)cells;
}

/* The same of each probe, if there may be several. */
static __always_inline int sample_put_each(struct walk *w, struct thread_spans *t, __u32 n)
{
	struct dp_calls head = { .part.type = DP_RECORD_CALLS };
	__u32 cells = sizeof(head) / DP_CELL_SIZE;

	for (__u32 i = 0; i < DP_MAX_LABEL_PROBES; i++) {
		__u32 own = (__u32)sample_put_span(w, t, n + cells, i);

		cells += own;
		head.probes |= (own != 0) << i;
	}
	head.part.size = (__u16)(cells * DP_CELL_SIZE);
	if (copy_cells(&w->out.frames[n], sizeof(head), &head) < 0)
		return 0;
	w->out.sample.flags |= DP_SAMPLE_CALLS;
	return (int)cells;
}

/* Appends the values of the calls on the stack after n cells. w->out.span: was it walked? */
PORT_GLOBAL int sample_put_spans(struct walk *w, __u32 n)
{
	struct span_search search = { .w = w };
	int cells;

	n = port_opaque(n);
	if (!w || n > DP_MAX_FRAMES + DP_MAX_KERNEL_FRAMES + WALK_LABELS_CELLS)
		return 0;
	span_find(&search);
	if (w->out.span == 0)
		return 0;
	if (dp_label_probes > 1)
		return sample_put_each(w, search.spans, n);
	cells = sample_put_span(w, search.spans, n, 0);
	if (cells > 0)
		w->out.sample.flags |= DP_SAMPLE_VALUES;
	return cells;
}

#endif
