// SPDX-License-Identifier: Apache-2.0
#include "samples/verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "log/log.h"
#include "sandbox/verifiers.h"

struct verify {
	struct verifiers *verifiers;
	unsigned int max_frames;
	/* Of the current walk */
	struct second_frame *found;
	struct frame *frames;
	struct second_result result;
};

/* 0 is no file's number there. */
static void put_mappings(const struct verify_maps *maps, struct second_mapping *ret, int *ret_fds)
{
	for (size_t i = 0; i < maps->n_mappings; i++) {
		const struct verify_mapping *m = &maps->mappings[i];

		ret_fds[i] = m->file ? m->file->fd : -1;
		ret[i] = (struct second_mapping){
			.start = m->start,
			.end = m->end,
			.bias = m->bias,
			.file = m->file ? m->file->number + 1 : 0,
			.file_start = m->file ? m->file->start : 0,
			.has_segments = m->file && m->file->has_segments,
		};
	}
}

static size_t size_of(const struct stack_copy *copy)
{
	size_t size = 0;

	for (size_t i = 0; i < copy->n_parts; i++)
		size += copy->parts[i].size;
	return size;
}

static void put_parts(const struct stack_copy *copy, struct second_part *ret, uint8_t *ret_bytes)
{
	for (size_t i = 0; i < copy->n_parts; i++) {
		const struct stack_part *p = &copy->parts[i];

		ret[i] = (struct second_part){ p->start, p->size, p->cut };
		memcpy(ret_bytes, p->bytes, p->size);
		ret_bytes += p->size;
	}
}

static int walk(struct verify *v, const struct verify_maps *maps, const struct stack_copy *copy)
{
	size_t n = maps->n_mappings, n_bytes = size_of(copy);
	_cleanup_free_ struct second_mapping *mappings = calloc(n + 1, sizeof(*mappings));
	_cleanup_free_ int *fds = calloc(n + 1, sizeof(*fds));
	_cleanup_free_ struct second_part *parts = calloc(copy->n_parts + 1, sizeof(*parts));
	_cleanup_free_ uint8_t *bytes = malloc(n_bytes + 1);
	const struct second_stack stack = {
		.maps = maps->number,
		.pid = maps->pid,
		.tid = (pid_t)copy->tid,
		.user = maps->user,
		.regs = copy->regs,
		.mappings = mappings,
		.n_mappings = n,
		.parts = parts,
		.n_parts = copy->n_parts,
		.bytes = bytes,
		.n_bytes = n_bytes,
	};

	if (!mappings || !fds || !parts || !bytes)
		return -ENOMEM;
	put_mappings(maps, mappings, fds);
	put_parts(copy, parts, bytes);
	return verifiers_walk(v->verifiers, &stack, fds, v->max_frames, v->found, &v->result);
}

static bool is_exact(const struct frame *f)
{
	return !DP_METHOD_IS_CALLER(f->method);
}

/* As the sample's frames are. */
static void put_frames(struct verify *v, const struct verify_maps *maps)
{
	for (size_t i = 0; i < v->result.n_frames; i++) {
		const struct second_frame *found = &v->found[i];
		const struct verify_mapping *m;
		struct frame *f = &v->frames[i];

		*f = (struct frame){ .address = found->address, .method = DP_METHOD_LEAF };
		if (i > 0)
			f->method = found->is_activation ? DP_METHOD_SIGNAL : DP_METHOD_TABLE;
		m = verify_maps_find(maps, f->address - !is_exact(f));
		if (!m || !m->file)
			continue;
		f->module = m->module;
		f->offset = f->address - m->bias;
	}
}

static void compare(struct verify *v, const struct frame *ours, size_t n_ours,
		    struct verified_stack *s)
{
	const struct frame *last;
	int rule;

	s->frames = v->frames;
	s->n_frames = v->result.n_frames;
	s->end = v->result.end;
	s->result = verified_compare(ours, n_ours, s->frames, s->n_frames, v->result.is_beyond_copy,
				     &s->n_equal);
	if (!verified_is_difference(s->result) || s->n_equal == 0)
		return;
	last = &v->frames[s->n_equal - 1];
	rule = verifiers_have_rule(v->verifiers, last->address - !is_exact(last));
	if (rule < 0)
		s->result = VERIFIED_LEFT_OUT;
	if (rule != 0)
		return;
	/* It used the frame pointer: a guess that proves nothing. */
	s->result = VERIFIED_NO_INFORMATION;
	if (s->n_equal < s->n_frames)
		v->frames[s->n_equal].method = DP_METHOD_FRAME_POINTER;
}

void verify_stack(struct verify *v, const struct verify_maps *maps, const struct stack_copy *copy,
		  const struct frame *ours, size_t n_ours, struct verified_stack *ret)
{
	int err = walk(v, maps, copy);

	*ret = (struct verified_stack){ .result = VERIFIED_NO_START };
	/* second_walk_run() */
	if (err < 0 && err != -ENOENT && err != -ENOEXEC && err != -EINVAL)
		ret->result = VERIFIED_LEFT_OUT;
	if (err < 0) {
		log_debug("a stack of process %d cannot be verified: %s", maps->pid,
			  strerror(-err));
		return;
	}
	put_frames(v, maps);
	if (v->result.n_frames > 0)
		compare(v, ours, n_ours, ret);
}

clockid_t verify_clock(const struct verify *v)
{
	return verifiers_clock(v->verifiers);
}

int verify_new(struct parsers *parsers, unsigned int max_frames, struct verify **ret)
{
	struct verify *v = calloc(1, sizeof(*v));
	int err;

	if (!v)
		return -ENOMEM;
	v->max_frames = max_frames;
	v->frames = calloc(max_frames, sizeof(*v->frames));
	v->found = calloc(max_frames, sizeof(*v->found));
	err = v->frames && v->found ? verifiers_new(parsers, &v->verifiers) : -ENOMEM;
	if (err < 0)
		return verify_free(v), err;
	*ret = v;
	return 0;
}

struct verify *verify_free(struct verify *v)
{
	if (!v)
		return NULL;
	verifiers_free(v->verifiers);
	free(v->found);
	free(v->frames);
	free(v);
	return NULL;
}
