// SPDX-License-Identifier: Apache-2.0
#include "samples/runtime_join.h"

#include <errno.h>
#include <stdlib.h>

#include "runtimes/runtime.h"
#include "samples/runtime_names.h"

/* What native frames are, and which groups of the runtime's frames replace them. */
struct plan {
	const struct dp_runtime_image *image;
	const struct binary *binary; /* that contains the runtime */
	const struct dp_runtime_frame *frames;
	size_t n_frames;
	size_t n_loops;
	size_t n_groups;
	size_t n_bare; /* innermost loops without a group */
};

int runtime_join_init(struct runtime_join *ret, struct process_table *table,
		      struct fetchers *fetchers)
{
	*ret = (struct runtime_join){ .table = table, .fetchers = fetchers };
	ret->frames = calloc(RUNTIME_JOIN_MAX, sizeof(*ret->frames));
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

static void count(struct plan *plan, const struct sample *sample)
{
	for (size_t i = 0; i < sample->n_user; i++) {
		const struct dp_runtime_range *r = range_of(plan, &sample->user[i]);

		plan->n_loops += r && r->is_loop;
	}
	for (size_t i = 0; i < plan->n_frames; i++)
		plan->n_groups += (plan->frames[i].position & DP_RUNTIME_ENTRY) != 0;
}

/* Decides which loops have groups. False: that is not known. */
static bool fit(struct plan *plan, const struct dp_runtime *runtime, const struct sample *sample)
{
	if (runtime->outcome == DP_RUNTIME_COMPLETE && sample->outcome == DP_COMPLETE) {
		plan->n_bare = plan->n_loops - plan->n_groups;
		return plan->n_loops == plan->n_groups || plan->n_loops == plan->n_groups + 1;
	}
	/* One of both ends early: the loops that it reaches, from the leaf. */
	plan->n_bare = 0;
	return sample->outcome != DP_COMPLETE ? plan->n_loops <= plan->n_groups :
						plan->n_loops >= plan->n_groups;
}

/* The process's names of this runtime. NULL: memory is short, or the process is not known. */
static struct runtime_names *find_names(struct runtime_join *join, pid_t pid,
					const struct plan *plan, unsigned int kind,
					struct module **ret)
{
	struct process *p = process_table_find(join->table, pid);
	struct runtime_names *names;
	struct module *module;

	if (!p)
		return NULL;
	if (!p->jitted)
		p->jitted = jitted_new(&join->table->jitted, pid);
	if (!p->jitted)
		return NULL;
	jitted_meet(p->jitted);
	*ret = module = p->jitted->module;
	if (module->code)
		return (struct runtime_names *)module->code;
	return runtime_names_new(module, join->fetchers, pid, kind, plan->image, &names) == 0 ?
		       names :
		       NULL;
}

/* Replaces the native frames. Returns the number of frames. */
static size_t put_together(struct runtime_join *join, const struct plan *plan,
			   const struct sample *sample, struct runtime_names *names,
			   struct module *module, enum dp_method method)
{
	struct frame *to = join->frames, *end = to + RUNTIME_JOIN_MAX;
	size_t n_loops = 0, at = 0;

	for (size_t i = 0; i < sample->n_user && to < end; i++) {
		const struct dp_runtime_range *r = range_of(plan, &sample->user[i]);
		bool enters = r && r->is_loop && n_loops++ >= plan->n_bare;
		bool is_last = false;

		while (enters && !is_last && at < plan->n_frames && to < end) {
			const struct dp_runtime_frame *f = &plan->frames[at++];

			is_last = (f->position & DP_RUNTIME_ENTRY) != 0;
			*to++ = (struct frame){ .address = f->code,
						.offset = runtime_names_put(names, f),
						.module = module,
						.method = method };
		}
		if ((!r || join->keeps_native || (r->is_loop && !is_last)) && to < end)
			*to++ = sample->user[i];
	}
	return (size_t)(to - join->frames);
}

void runtime_join_sample(struct runtime_join *join, const struct snapshot *snapshot,
			 const struct dp_runtime *runtime, struct sample *sample)
{
	const struct mapping *m = snapshot && snapshot->runtime > 0 ?
					  &snapshot->mappings[snapshot->runtime - 1] :
					  NULL;
	const struct runtime_source *source = runtime_source(runtime->kind);
	struct runtime_names *names;
	struct module *module;
	struct plan plan = {
		.frames = (const struct dp_runtime_frame *)(runtime + 1),
		.n_frames = runtime->n,
	};

	if (!source || !m || !m->binary || !m->binary->table || !m->binary->table->runtime ||
	    m->binary->table->runtime_kind != runtime->kind)
		return;
	plan.binary = m->binary;
	plan.image = m->binary->table->runtime;
	count(&plan, sample);
	if (plan.n_loops == 0)
		return;
	if (!fit(&plan, runtime, sample)) {
		join->n_apart++;
		return;
	}
	names = find_names(join, sample->pid, &plan, runtime->kind, &module);
	if (!names)
		return;
	sample->n_user = put_together(join, &plan, sample, names, module, source->method);
	sample->user = join->frames;
}
