/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_RUNTIME_H
#define DP_BPF_RUNTIME_H

/*
 * Reads the frames of a language's runtime after the walk: a bounded step for each kind of runtime.
 * The walk itself knows only native frames; user space puts these in their places.
 */

#include "bpf/chain.h"
#include "bpf/lookup.h"
#include "bpf/perl.h"
#include "bpf/python.h"
#include "bpf/v8.h"

/*
 * Reads the frames of the runtime of w->runtime.mapping, of the thread whose stack was (or was to
 * be) walked into w->runtime. The thread is interrupted, so its own do not change. Returns 1 if
 * there is anything to send.
 */
PORT_GLOBAL int runtime_read(struct walk *w)
{
	const struct dp_mapping *m;
	const struct dp_image *image;
	const struct dp_runtime_image *runtime;

	if (!w)
		return 0;
	m = port_pool(w, dp_mapping_cell(w->in.snapshot_cell, w->runtime.mapping));
	if (!m || m->image < DP_FIRST_CELL)
		return 0;
	image = port_pool(w, m->image);
	if (!image)
		return 0;
	w->runtime.bias = m->bias;
	w->runtime.head = (struct dp_runtime){ .kind = (__u8)image->runtime_kind,
					       .n = (__u16)w->runtime.first };
	runtime = port_pool(w, m->image + sizeof(*image) / DP_CELL_SIZE);
	if (!runtime)
		return 0;
	switch (image->runtime_kind) {
	case DP_RUNTIME_PYTHON:
		python_read(w, runtime);
		break;
	case DP_RUNTIME_V8:
		v8_read(w, runtime);
		break;
	case DP_RUNTIME_RUBY:
	case DP_RUNTIME_PHP:
		chain_read(w, runtime);
		break;
	case DP_RUNTIME_PERL:
		perl_read(w, runtime);
		break;
	default:
		return 0;
	}
	return w->runtime.head.n > w->runtime.first ||
	       w->runtime.head.outcome != DP_RUNTIME_COMPLETE;
}

/* Adds the frames of another runtime, or only how the reading of them failed. */
static __always_inline void runtime_add(struct walk *w)
{
	struct walk_runtime *r = &w->runtime;
	struct dp_runtime first = r->head;
	struct dp_runtime_frame *f;
	__u32 n;

	if (first.n >= DP_MAX_RUNTIME_FRAMES - 1)
		return;
	r->first = first.n;
	if (runtime_read(w) == 0) {
		r->head = first;
		r->first = 0;
		return;
	}
	r->first = 0;
	n = r->head.n;
	if (n >= DP_MAX_RUNTIME_FRAMES) {
		n = DP_MAX_RUNTIME_FRAMES - 1;
		r->head.outcome = DP_RUNTIME_MANY_FRAMES;
	}
	f = &r->frames[port_index(n & (DP_MAX_RUNTIME_FRAMES - 1), DP_MAX_RUNTIME_FRAMES)];
	f->code = first.n;
	f->position = r->head.kind | (__u64)r->head.outcome << DP_RUNTIME_OTHER_OUTCOME_SHIFT;
	f->tag = 0;
	r->head.kind = first.kind | DP_RUNTIME_TWO;
	r->head.outcome = first.outcome;
	r->head.n = (__u16)(n + 1);
}

/*
 * Reads the frames of all runtimes of the thread, as runtime_read(): those that the walk itself has
 * noted, and those of mappings; of two at most. Returns 1 if there is anything to send.
 */
PORT_GLOBAL int runtime_read_all(struct walk *w)
{
	struct walk_runtime *r;
	int found;

	if (!w)
		return 0;
	r = &w->runtime;
	found = r->head.n > 0;
	if (!found && r->mapping != 0) {
		found = runtime_read(w);
		r->mapping = r->other;
	}
	if (r->mapping != 0)
		runtime_add(w);
	return found || r->head.n > 0;
}

#endif
