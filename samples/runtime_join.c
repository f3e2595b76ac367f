// SPDX-License-Identifier: Apache-2.0
#include "samples/runtime_join.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "runtimes/runtime.h"
#include "samples/java_join.h"
#include "samples/javascript_join.h"
#include "samples/runtime_names.h"

/* Bytes of an evaluation loop in which it has no frame of its own yet; no more than a few. */
#define LOOP_BEGINNING 128

/* docatch() of Perl, and the op that calls it, if that is no tail call. */
#define MAX_CATCH_FRAMES 2

/* What native frames are, and which groups of the runtime's frames replace them. */
struct plan {
	const struct dp_runtime_image *image;
	unsigned int kind;
	const struct binary *binary; /* that contains the runtime */
	const struct dp_runtime_frame *frames;
	size_t n_frames;
	size_t n_loops;
	size_t n_groups;
	size_t n_bare; /* innermost loops without a group */
};

int runtime_join_init(struct runtime_join *ret, struct process_table *table)
{
	*ret = (struct runtime_join){ .table = table };
	ret->frames = calloc(2 * (size_t)DP_MAX_FRAMES, sizeof(*ret->frames));
	return ret->frames ? 0 : -ENOMEM;
}

void runtime_join_done(struct runtime_join *join)
{
	free(join->frames);
}

/* The range of the runtime's code that a native frame is in, or NULL. */
static const struct dp_runtime_range *range_of(const struct plan *plan, const struct frame *frame)
{
	uint64_t at = frame->offset - !frame_is_exact(frame);

	for (size_t i = 0; frame->module == plan->binary->module && i < DP_RUNTIME_RANGES; i++) {
		const struct dp_runtime_range *r = &plan->image->ranges[i];

		if (at >= r->start && at < r->end)
			return r;
	}
	return NULL;
}

static bool is_loop(const struct plan *plan, const struct sample *sample, size_t i)
{
	const struct dp_runtime_range *r =
		i < sample->n_user ? range_of(plan, &sample->user[i]) : NULL;

	return r && r->is_loop;
}

/*
 * If another loop runs what is left of this loop's innermost function, the number of frames between both,
 * else 0. Where nobody else would catch what dies, Perl's eval begins one (docatch() in pp_ctl.c). Calls
 * from native code have more frames, other code, or what is known to call.
 */
static size_t catch_size(const struct plan *plan, const struct sample *sample, size_t i)
{
	const struct dp_runtime_range *caller;
	size_t n = 0;

	if (plan->kind != DP_RUNTIME_PERL || !is_loop(plan, sample, i))
		return 0;
	while (n < MAX_CATCH_FRAMES && n < i && !is_loop(plan, sample, i - n - 1) &&
	       sample->user[i - n - 1].module == plan->binary->module)
		n++;
	if (n == 0 || n == i || !is_loop(plan, sample, i - n - 1))
		return 0;
	caller = range_of(plan, &sample->user[i - n]);
	return caller && caller->calls ? 0 : n;
}

/* True of the frame of an instruction that a loop has called (see runtimes/python/find.c). */
static bool is_instruction(const struct plan *plan, const struct sample *sample, size_t i)
{
	return plan->kind == DP_RUNTIME_PYTHON && plan->image->names.calls_each &&
	       sample->user[i].module == plan->binary->module && is_loop(plan, sample, i + 1);
}

/* True of a frame that users of the language do not know. */
static bool is_folded(const struct plan *plan, const struct sample *sample, size_t i)
{
	const struct dp_runtime_range *r = range_of(plan, &sample->user[i]);

	if ((r && !r->calls) || is_instruction(plan, sample, i))
		return true;
	for (size_t n = 1; n <= MAX_CATCH_FRAMES; n++)
		if (catch_size(plan, sample, i + n) >= n)
			return true;
	return false;
}

/* Whether the runtime's frame number i is of a function in C, which has no loop. */
static bool is_c(const struct plan *plan, size_t i)
{
	return plan->kind == DP_RUNTIME_RUBY && i < plan->n_frames &&
	       (plan->frames[i].position & DP_RUNTIME_C) != 0;
}

/*
 * Whether a native frame calls a function in C. One that has called a loop has called what is not
 * one, though what has called it is in the same place.
 */
static bool calls_c(const struct plan *plan, const struct sample *sample, size_t i)
{
	const struct dp_runtime_range *r = range_of(plan, &sample->user[i]);

	return plan->kind == DP_RUNTIME_RUBY && r && r->calls &&
	       (i == 0 || !is_loop(plan, sample, i - 1));
}

static void count(struct plan *plan, const struct sample *sample)
{
	for (size_t i = 0; i < sample->n_user; i++)
		plan->n_loops += is_loop(plan, sample, i) && catch_size(plan, sample, i) == 0;
	for (size_t i = 0; i < plan->n_frames; i++)
		plan->n_groups += (plan->frames[i].position & DP_RUNTIME_ENTRY) != 0;
}

/*
 * True if the thread has just entered a loop of a version in which that makes a structure for its first
 * frame before it stores the frame there (python_leave_new_loop()): what the kernel read may be a frame
 * that was there before.
 */
static bool is_entering(const struct plan *plan, const struct sample *sample)
{
	const struct dp_runtime_range *r = range_of(plan, &sample->user[0]);

	return plan->kind == DP_RUNTIME_PYTHON && plan->image->python.c_frame != 0 && r &&
	       r->is_loop && frame_is_exact(&sample->user[0]) &&
	       sample->user[0].offset - r->start < LOOP_BEGINNING;
}

static void skip_group(struct plan *plan)
{
	while (plan->n_frames > 0) {
		plan->n_frames--;
		if (plan->frames++->position & DP_RUNTIME_ENTRY)
			return;
	}
}

/*
 * True if it is not known which group has no loop: Perl's native code that calls a function again and
 * again keeps its context meanwhile, and may itself have led to the innermost call.
 */
static bool is_ambiguous(const struct plan *plan)
{
	bool is_first = true, is_idle = false;

	if (plan->kind != DP_RUNTIME_PERL)
		return false;
	for (size_t i = 0; i < plan->n_frames; i++) {
		uint64_t position = plan->frames[i].position;

		if (!(position & DP_RUNTIME_ENTRY))
			continue;
		if (is_first && position & DP_PERL_IDLE)
			return false;
		is_first = false;
		is_idle |= (position & DP_PERL_IDLE) != 0;
	}
	return is_idle;
}

/* Decides which loops have groups. False: that is not known. */
static bool fit(struct plan *plan, const struct runtime_frames *runtime,
		const struct sample *sample)
{
	if (runtime->outcome == DP_RUNTIME_COMPLETE && sample->outcome == DP_COMPLETE) {
		/* Others make a function's frame before they enter the loop that executes it. */
		if (plan->kind != DP_RUNTIME_PYTHON && plan->n_groups == plan->n_loops + 1 &&
		    !is_c(plan, 0)) {
			if (is_ambiguous(plan))
				return false;
			skip_group(plan);
			return true;
		}
		plan->n_bare = plan->n_loops - plan->n_groups;
		if (plan->n_bare == 0 && is_entering(plan, sample)) {
			skip_group(plan);
			plan->n_bare = 1;
		}
		return plan->n_loops == plan->n_groups || plan->n_loops == plan->n_groups + 1;
	}
	/* One of both ends early: the loops that it reaches, from the leaf. */
	plan->n_bare = 0;
	if (plan->n_frames == 0 || is_entering(plan, sample))
		return false;
	return sample->outcome != DP_COMPLETE ? plan->n_loops <= plan->n_groups :
						plan->n_loops >= plan->n_groups;
}

/* What the frames of a sample are replaced by. */
struct joined {
	const struct plan *plan;
	struct runtime_names *names;
	struct module *module;
	enum dp_method method;
	struct frame *frames;
	size_t n, at; /* `at`: of the runtime's frames, the next one */
	size_t n_skipped,
		n_placed; /* calls of functions in C up to the next loop: without one, with one */
	bool is_partial;  /* the stack ends early, or the runtime's frames do */
	bool is_cut;
};

static void put(struct joined *j, const struct frame *frame)
{
	if (j->n < DP_MAX_FRAMES)
		j->frames[j->n++] = *frame;
	else
		j->is_cut = true;
}

/* Adds the runtime's next frame. */
static void put_next(struct joined *j)
{
	const struct dp_runtime_frame *f = &j->plan->frames[j->at++];

	/* 0: more of the function that is next, as a block that sort() calls */
	if (f->code != 0)
		put(j, &(struct frame){ .address = f->code,
					.offset = runtime_names_put(j->names, j->plan->kind, f),
					.module = j->module,
					.method = j->method });
}

/* Adds the frames of an evaluation loop. False: there are none. */
static bool put_group(struct joined *j)
{
	while (j->at < j->plan->n_frames) {
		put_next(j);
		if (j->plan->frames[j->at - 1].position & DP_RUNTIME_ENTRY)
			return true;
	}
	return false;
}

/* The number of functions in C that are next. */
static size_t count_c(const struct joined *j)
{
	size_t n = 0;

	while (is_c(j->plan, j->at + n))
		n++;
	return n;
}

/*
 * Decides which native frames, from one to the next loop's, are replaced by the functions in C that
 * they call. If the numbers differ, that is not known: then these are called by the loop's
 * innermost function. But the thread itself may be where it makes or drops the innermost one's
 * frame.
 */
static void begin_calls(struct joined *j, const struct sample *sample, size_t first, bool is_bare)
{
	size_t n = 0, n_c = is_bare ? 0 : count_c(j), i = first;

	for (; i < sample->n_user && !is_loop(j->plan, sample, i); i++)
		n += calls_c(j->plan, sample, i);
	j->n_skipped = first == 0 && n == n_c + 1;
	j->n_placed = n == n_c + j->n_skipped || (i == sample->n_user && j->is_partial) ? n_c : 0;
	/* No loop has them, as in a thread of its own that calls only these. */
	while (i == sample->n_user && n_c > j->n_placed && n_c-- > 0)
		put_next(j);
}

/* Adds the function that a native frame calls, if that is known. False: it is not. */
static bool put_call(struct joined *j, const struct sample *sample, size_t i)
{
	if (!calls_c(j->plan, sample, i))
		return false;
	if (j->n_skipped > 0) {
		j->n_skipped--;
		return false;
	}
	if (j->n_placed == 0)
		return false;
	j->n_placed--;
	put_next(j);
	return true;
}

static void put_all(struct joined *j, const struct sample *sample, bool keeps_native)
{
	size_t n_loops = 0;
	bool begins = true;

	for (size_t i = 0; i < sample->n_user; i++) {
		bool is_own = is_loop(j->plan, sample, i) && catch_size(j->plan, sample, i) == 0;
		bool is_bare;

		if (begins && j->plan->kind == DP_RUNTIME_RUBY)
			begin_calls(j, sample, i, n_loops < j->plan->n_bare);
		begins = is_own;
		is_bare = is_own && (n_loops++ < j->plan->n_bare || !put_group(j));
		if (put_call(j, sample, i) ?
			    keeps_native :
			    !is_folded(j->plan, sample, i) || is_bare || keeps_native)
			put(j, &sample->user[i]);
	}
}

/* What is to be joined: of the mapping whose image describes the runtime. False: not known. */
static bool plan_init(struct plan *ret, const struct mapping *m,
		      const struct runtime_frames *runtime)
{
	if (!m || !m->binary || !m->binary->table || !m->binary->table->runtime ||
	    m->binary->table->runtime_kind != runtime->kind)
		return false;
	*ret = (struct plan){
		.binary = m->binary,
		.image = m->binary->table->runtime,
		.kind = runtime->kind,
		.frames = runtime->frames,
		.n_frames = runtime->n,
	};
	return true;
}

/* To be filled. False: memory is short, or nothing is known of the process. */
static bool joined_init(struct joined *ret, const struct runtime_join *join,
			const struct plan *plan, struct frame *frames, pid_t pid)
{
	const struct runtime_source *source = runtime_source(plan->kind);
	struct process *p = source ? process_table_find(join->table, pid) : NULL;

	*ret = (struct joined){ .plan = plan, .frames = frames };
	if (p)
		ret->names = runtime_names_find(join->table, p, plan->kind, plan->image);
	if (!ret->names)
		return false;
	ret->method = source->method;
	ret->module = p->jitted->module;
	return true;
}

static void joined_take(const struct joined *j, struct sample *sample)
{
	if (j->is_cut)
		sample->outcome = DP_DEPTH_LIMIT;
	sample->n_user = j->n;
	sample->user = j->frames;
}

/* Replaces the native frames of evaluation loops, into `frames`. */
static void join_loops(struct runtime_join *join, const struct mapping *m,
		       const struct runtime_frames *runtime, struct frame *frames,
		       struct sample *sample)
{
	struct joined joined;
	struct plan plan;

	if (!plan_init(&plan, m, runtime))
		return;
	count(&plan, sample);
	if (plan.n_loops == 0 && (sample->n_user == 0 || !is_c(&plan, 0)))
		return;
	if (!fit(&plan, runtime, sample)) {
		join->n_apart++;
		return;
	}
	if (!joined_init(&joined, join, &plan, frames, sample->pid))
		return;
	joined.is_partial =
		sample->outcome != DP_COMPLETE || runtime->outcome != DP_RUNTIME_COMPLETE;
	put_all(&joined, sample, join->keeps_native);
	joined_take(&joined, sample);
}

/* Replaces all frames by those of the runtime, behind those of another one. */
static void list_loops(struct runtime_join *join, const struct mapping *m,
		       const struct runtime_frames *runtime, struct frame *frames,
		       struct sample *sample)
{
	struct joined joined;
	struct plan plan;

	if (!plan_init(&plan, m, runtime) ||
	    !joined_init(&joined, join, &plan, frames, sample->pid))
		return;
	for (size_t i = 0; i < sample->n_user; i++)
		if (frame_is_interpreted(&sample->user[i]))
			put(&joined, &sample->user[i]);
	while (joined.at < plan.n_frames)
		put_next(&joined);
	joined_take(&joined, sample);
}

/* The mapping of the snapshot with a runtime of this kind, or NULL. */
static const struct mapping *mapping_of(const struct snapshot *snapshot, unsigned int kind)
{
	const uint32_t numbers[] = { snapshot ? snapshot->runtime : 0,
				     snapshot ? snapshot->other_runtime : 0 };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		const struct mapping *m =
			numbers[i] > 0 ? &snapshot->mappings[numbers[i] - 1] : NULL;

		if (m && m->binary && m->binary->table && m->binary->table->runtime_kind == kind)
			return m;
	}
	return NULL;
}

/* What becomes of frames that are executed by evaluation loops. */
typedef void loops_fn(struct runtime_join *join, const struct mapping *m,
		      const struct runtime_frames *runtime, struct frame *frames,
		      struct sample *sample);

static void join_one(struct runtime_join *join, const struct snapshot *snapshot,
		     const struct runtime_frames *runtime, loops_fn *loops, struct sample *sample)
{
	const struct mapping *m = mapping_of(snapshot, runtime->kind);
	struct frame *frames =
		sample->user == join->frames ? join->frames + DP_MAX_FRAMES : join->frames;

	if (runtime->kind == DP_RUNTIME_HOTSPOT)
		java_join_sample(join->table, runtime, frames, sample);
	else if (runtime->kind == DP_RUNTIME_V8)
		javascript_join_sample(join, m, runtime, frames, sample);
	else
		loops(join, m, runtime, frames, sample);
}

static void join_all(struct runtime_join *join, const struct snapshot *snapshot,
		     const struct dp_runtime *runtime, loops_fn *loops, struct sample *sample)
{
	const struct dp_runtime_frame *frames, *last;
	struct runtime_frames one;
	uint64_t n_apart;

	if (!runtime)
		return;
	frames = (const void *)(runtime + 1);
	one = (struct runtime_frames){ .kind = runtime->kind & (DP_RUNTIME_TWO - 1),
				       .outcome = runtime->outcome,
				       .frames = frames,
				       .n = runtime->n };
	if (!(runtime->kind & DP_RUNTIME_TWO)) {
		join_one(join, snapshot, &one, loops, sample);
		return;
	}
	last = runtime->n > 0 ? &frames[runtime->n - 1] : NULL;
	if (!last || last->code >= runtime->n)
		return;
	n_apart = join->n_apart;
	one.n = last->code;
	join_one(join, snapshot, &one, loops, sample);
	one.kind = (uint8_t)last->position;
	one.outcome = (uint8_t)(last->position >> DP_RUNTIME_OTHER_OUTCOME_SHIFT);
	one.frames = frames + last->code;
	one.n = runtime->n - 1 - last->code;
	join_one(join, snapshot, &one, loops, sample);
	if (join->n_apart > n_apart)
		join->n_apart = n_apart + 1; /* it counts samples */
}

void runtime_join_sample(struct runtime_join *join, const struct snapshot *snapshot,
			 const struct dp_runtime *runtime, struct sample *sample)
{
	join_all(join, snapshot, runtime, join_loops, sample);
}

/* As far as frames of runtimes need them; some are noted by the numbers of these. */
static size_t native_frames(const struct snapshot *snapshot, const struct named_sample *sent,
			    struct frame *ret)
{
	size_t n = sent->sample.n_user < DP_MAX_FRAMES ? sent->sample.n_user : DP_MAX_FRAMES;

	for (size_t i = 0; i < n; i++) {
		const __u64 frame = sent->frames[i];
		const struct mapping *m =
			snapshot ? snapshot_find(snapshot, frame_code(frame)) : NULL;

		ret[i] = (struct frame){ .address = DP_FRAME_ADDRESS(frame),
					 .module = m && m->binary ? m->binary->module : NULL,
					 .method = (enum dp_method)DP_FRAME_METHOD(frame) };
	}
	return n;
}

size_t runtime_join_code(struct runtime_join *join, const struct snapshot *snapshot,
			 const struct named_sample *sent, const struct frame **ret)
{
	struct frame *native = join->frames + DP_MAX_FRAMES;
	struct sample sample = { .pid = (pid_t)sent->sample.pid, .user = native };
	size_t n = 0;

	sample.n_user = native_frames(snapshot, sent, native);
	join_all(join, snapshot, sample_runtime(sent), list_loops, &sample);
	for (size_t i = 0; i < sample.n_user; i++)
		if (runtime_names_want(&sample.user[i]))
			join->frames[n++] = sample.user[i];
	*ret = join->frames;
	return n;
}
