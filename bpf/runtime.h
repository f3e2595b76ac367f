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
 * Reads the runtime's frames of the thread whose stack was (or was to be) walked into w->runtime. The
 * thread is interrupted, so its own do not change. Returns 1 if there is anything to send.
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
	w->runtime.head = (struct dp_runtime){ .kind = (__u8)image->runtime_kind };
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
	return w->runtime.head.n > 0 || w->runtime.head.outcome != DP_RUNTIME_COMPLETE;
}

#endif
