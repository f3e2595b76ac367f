// SPDX-License-Identifier: Apache-2.0
#include "samples/runtime_join.h"

#include <errno.h>
#include <stdlib.h>

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
	ret->frames = calloc(DP_MAX_FRAMES, sizeof(*ret->frames));
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
static bool fit(struct plan *plan, const struct dp_runtime *runtime, const struct sample *sample)
{
	if (runtime->outcome == DP_RUNTIME_COMPLETE && sample->outcome == DP_COMPLETE) {
		/* Others make a function's frame before they enter the loop that executes it. */
		if (plan->kind != DP_RUNTIME_PYTHON && plan->n_groups == plan->n_loops + 1) {
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
	bool is_cut;
};

static void put(struct joined *j, const struct frame *frame)
{
	if (j->n < DP_MAX_FRAMES)
		j->frames[j->n++] = *frame;
	else
		j->is_cut = true;
}

/* Adds the frames of an evaluation loop. False: there are none. */
static bool put_group(struct joined *j)
{
	while (j->at < j->plan->n_frames) {
		const struct dp_runtime_frame *f = &j->plan->frames[j->at++];

		/* 0: more of the function that is next, as a block that sort() calls */
		if (f->code != 0)
			put(j, &(struct frame){ .address = f->code,
						.offset = runtime_names_put(j->names, f),
						.module = j->module,
						.method = j->method });
		if (f->position & DP_RUNTIME_ENTRY)
			return true;
	}
	return false;
}

static void put_all(struct joined *j, const struct sample *sample, bool keeps_native)
{
	size_t n_loops = 0;

	for (size_t i = 0; i < sample->n_user; i++) {
		bool is_bare = is_loop(j->plan, sample, i) && catch_size(j->plan, sample, i) == 0 &&
			       (n_loops++ < j->plan->n_bare || !put_group(j));

		if (!is_folded(j->plan, sample, i) || is_bare || keeps_native)
			put(j, &sample->user[i]);
	}
}

void runtime_join_sample(struct runtime_join *join, const struct snapshot *snapshot,
			 const struct dp_runtime *runtime, struct sample *sample)
{
	const struct mapping *m = runtime && snapshot && snapshot->runtime > 0 ?
					  &snapshot->mappings[snapshot->runtime - 1] :
					  NULL;
	const struct runtime_source *source = runtime ? runtime_source(runtime->kind) : NULL;
	struct joined joined = { .frames = join->frames };
	struct process *p;
	struct plan plan;

	if (runtime && runtime->kind == DP_RUNTIME_HOTSPOT) {
		java_join_sample(join->table, runtime, join->frames, sample);
		return;
	}
	if (runtime && runtime->kind == DP_RUNTIME_V8) {
		javascript_join_sample(join, m, runtime, sample);
		return;
	}
	if (!source || !m || !m->binary || !m->binary->table || !m->binary->table->runtime ||
	    m->binary->table->runtime_kind != runtime->kind)
		return;
	plan = (struct plan){
		.binary = m->binary,
		.image = m->binary->table->runtime,
		.kind = runtime->kind,
		.frames = (const void *)(runtime + 1),
		.n_frames = runtime->n,
	};
	count(&plan, sample);
	if (plan.n_loops == 0)
		return;
	if (!fit(&plan, runtime, sample)) {
		join->n_apart++;
		return;
	}
	joined.plan = &plan;
	joined.method = source->method;
	p = process_table_find(join->table, sample->pid);
	joined.names = p ? runtime_names_find(join->table, p, runtime->kind, plan.image) : NULL;
	if (!joined.names)
		return;
	joined.module = p->jitted->module;
	put_all(&joined, sample, join->keeps_native);
	if (joined.is_cut)
		sample->outcome = DP_DEPTH_LIMIT;
	sample->n_user = joined.n;
	sample->user = joined.frames;
}
