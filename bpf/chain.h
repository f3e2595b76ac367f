/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_CHAIN_H
#define DP_BPF_CHAIN_H

/*
 * Reads frames that a runtime keeps in a list or an array (struct dp_chain). The thread does not run
 * meanwhile. What is read need not make sense: each loop is bounded.
 */

#include "bpf/runtime_frame.h"
#include "bpf/tls.h"

static __always_inline int chain_read_word(struct walk *w, __u64 *ret, __u64 address)
{
	return walk_peek(w, ret, sizeof(*ret), address);
}

/* The address of the variable; 0: the thread has none yet. Returns 0 or negative. */
static __always_inline int chain_variable(struct walk *w, __u64 *ret)
{
	struct walk_runtime *r = &w->runtime;
	int found;

	*ret = r->bias + r->chain.variable;
	if (r->chain.place == DP_TLS_NONE)
		return 0;
	w->tls.at.value = r->chain.variable;
	w->tls.at.kind = r->chain.place;
	w->tls.bias = r->bias;
	found = tls_find(w);
	*ret = found == 0 ? w->tls.address : 0;
	return found < 0 ? -1 : 0;
}

/* Finds the end of the array. Returns 0 or negative. */
static __always_inline int chain_find_end(struct walk *w, __u64 thread)
{
	struct walk_runtime *r = &w->runtime;
	__u64 words;

	if (chain_read_word(w, &r->end, thread + r->chain.stack) < 0 ||
	    chain_read_word(w, &words, thread + r->chain.stack_words) < 0)
		return -1;
	r->end += words * sizeof(__u64);
	return 0;
}

/*
 * The first function of a coroutine returns to 0. That is its stack's root if the stack begins there: the
 * runtime knows where, and aligns it.
 */
static __always_inline void chain_find_root(struct walk *w, __u64 thread)
{
	__u32 machine = w->runtime.chain.machine;
	__u64 start;

	if (machine != 0 && w->out.sample.outcome == DP_NULL_RETURN &&
	    chain_read_word(w, &start, thread + machine - 1) == 0 &&
	    (start & ~15ULL) == w->at.left_sp)
		w->out.sample.outcome = DP_COMPLETE;
}

/* Finds the first frame; 0: there is none. Returns 0 or negative. */
static __always_inline int chain_find(struct walk *w)
{
	struct walk_runtime *r = &w->runtime;
	__u64 at;

	r->at = 0;
	if (chain_variable(w, &at) < 0)
		return -1;
	if (at == 0)
		return 0;
	if (chain_read_word(w, &at, at) < 0)
		return -1;
	if (at == 0 || r->chain.first == 0) {
		r->at = at;
		return 0;
	}
	chain_find_root(w, at);
	if (r->chain.stride != 0 && chain_find_end(w, at) < 0)
		return -1;
	return chain_read_word(w, &r->at, at + r->chain.first - 1);
}

/* Reads the line of a frame: the function's first one, if that has just begun and has stored none. */
static __always_inline int chain_read_line(struct walk *w, const struct dp_runtime_frame *f,
					   __u64 steps)
{
	struct walk_runtime *r = &w->runtime;
	__u64 at = f->code + r->chain.first_line;

	if (walk_peek(w, &r->n_steps, sizeof(r->n_steps), f->code + r->chain.n_steps) < 0)
		return -1;
	if (f->position - steps < (__u64)r->n_steps * r->chain.step_size)
		at = f->position + r->chain.step_line;
	return walk_peek(w, &r->line, sizeof(r->line), at);
}

/* Sets w->runtime.hash to that of a string's text, over the bytes of the frame. Returns 0 or negative. */
PORT_GLOBAL int chain_hash_text(struct walk *w, __u64 string)
{
	struct walk_runtime *r;
	__u32 size = DP_CHAIN_TEXT_SIZE;

	if (!w)
		return -1;
	r = &w->runtime;
	string += r->chain.hash + sizeof(__u64);
	if (chain_read_word(w, &r->text_size, string) < 0)
		return -1;
	if (r->text_size < size)
		size = (__u32)r->text_size;
	r->n_read = 0;
	__builtin_memset(r->bytes, 0, DP_CHAIN_TEXT_SIZE + 1);
	w->at.cost += WALK_COST_READ;
	if (walk_peek(w, r->bytes, port_index(size, DP_CHAIN_TEXT_SIZE + 1),
		      string + sizeof(__u64)) < 0)
		return -1;
	r->hash = r->text_size;
	for (__u32 i = 0; i < DP_CHAIN_TEXT_WORDS; i++)
		r->hash = chain_hash(r->hash, port_u64(r->bytes + i * sizeof(__u64)));
	return 0;
}

/* Sets w->runtime.hash to that of the name of the function's class; 0: it has none. Returns 0 or negative. */
static __always_inline int chain_hash_class(struct walk *w, __u64 code)
{
	struct walk_runtime *r = &w->runtime;
	__u64 at;

	r->hash = 0;
	if (chain_read_word(w, &at, code + r->chain.scope) < 0)
		return -1;
	if (at == 0)
		return 0;
	return chain_read_word(w, &at, at + r->chain.class_name) < 0 ? -1 : chain_hash_text(w, at);
}

/*
 * Makes a tag from the texts of the names of a function and its class: with the same instructions, and at
 * the same address, it may be one of another class. Returns 0, or negative: they cannot be read.
 */
static __always_inline int chain_use_texts(struct walk *w, struct dp_runtime_frame *f, __u64 name)
{
	struct walk_runtime *r = &w->runtime;

	if (chain_hash_class(w, f->code) < 0)
		return -1;
	f->tag = r->hash;
	if (chain_hash_text(w, name) < 0)
		return -1;
	f->tag = chain_tag(r->hash, f->tag);
	return 0;
}

/*
 * Puts what is shown of a function that may be gone soon into a frame that has its code and position.
 * `name`, `steps`: its tags. Leaves the frame alone where a text cannot be read: what only other
 * processes have used of memory that they share is not mapped, until it is named. What eval() executes
 * is not in there: without a hash of its file, it has no tag then, as any of it may get these addresses.
 */
static __always_inline void chain_put_shown(struct walk *w, struct dp_runtime_frame *f, __u64 name,
					    __u64 steps)
{
	struct walk_runtime *r = &w->runtime;
	__u64 marks = name != 0 ? DP_CHAIN_LINE : DP_CHAIN_FILE, hash;

	if (chain_read_word(w, &r->file, f->code + r->chain.file - 1) < 0 ||
	    chain_read_word(w, &hash, r->file + r->chain.hash) < 0 ||
	    chain_read_line(w, f, steps) < 0)
		return;
	if (name != 0 && chain_use_texts(w, f, name) < 0)
		goto unknown;
	r->hash = hash;
	if (hash == 0) {
		if (chain_hash_text(w, r->file) < 0)
			goto unknown;
		marks |= DP_CHAIN_TEXT;
	}
	f->tag = name != 0 ? chain_tag(r->hash, f->tag) : r->hash;
	f->code = (name != 0 ? f->code : r->file) | marks;
	f->position = r->line;
	return;
unknown:
	f->tag = hash != 0 ? chain_tag(name, steps) : 0;
}

/* Adds a function. Returns 0, or negative if it cannot be read. */
static __always_inline int chain_add(struct walk *w, __u64 code, __u64 flags)
{
	struct walk_runtime *r = &w->runtime;
	struct dp_runtime_frame *f = &r->frames[port_index(r->head.n, DP_MAX_RUNTIME_FRAMES)];
	__u64 at = code, type = 0, first, second;
	__u32 is_native;

	f->code = code;
	if (r->chain.native != 0 && chain_read_word(w, &type, code) < 0)
		return -1;
	if (r->chain.tagged != 0 && chain_read_word(w, &at, code + r->chain.tagged - 1) < 0)
		return -1;
	if (chain_read_word(w, &first, at + r->chain.tags[0]) < 0 ||
	    chain_read_word(w, &second, at + r->chain.tags[1]) < 0)
		return -1;
	is_native = r->chain.native != 0 && (__u8)type == r->chain.native;
	f->tag = chain_tag(first, second);
	f->position = runtime_word(r, r->chain.position) & ~(DP_RUNTIME_ENTRY | DP_RUNTIME_C);
	if (r->chain.file != 0 && !is_native &&
	    (first == 0 || ((__u32)(type >> 32) & r->chain.fleeting) != 0))
		chain_put_shown(w, f, first, second);
	if ((flags & r->chain.entry) != 0 && !is_native)
		f->position |= DP_RUNTIME_ENTRY;
	r->head.n++;
	return 0;
}

/* Adds a function in C by its method, if it has one. Returns 0, or negative: it cannot be read. */
static __always_inline int chain_add_c(struct walk *w, __u64 flags_at)
{
	struct walk_runtime *r = &w->runtime;
	struct dp_runtime_frame *f = &r->frames[port_index(r->head.n, DP_MAX_RUNTIME_FRAMES)];
	__u64 at, type;

	if (chain_read_word(w, &at, flags_at - r->chain.c_method) < 0 ||
	    chain_read_word(w, &type, at) < 0)
		return -1;
	if ((type & r->chain.c_type_mask) != r->chain.c_type)
		return 0;
	if (chain_read_word(w, &at, at + r->chain.c_definition) < 0 ||
	    chain_read_word(w, &f->code, at + r->chain.c_name) < 0)
		return -1;
	f->tag = r->bias + r->chain.c_names;
	f->position = DP_RUNTIME_C;
	r->head.n++;
	return 0;
}

/* Adds the frame that has been read, if it is sent. Returns 0, or negative: it cannot be read. */
static __always_inline int chain_add_frame(struct walk *w)
{
	struct walk_runtime *r = &w->runtime;
	__u64 code = runtime_word(r, r->chain.code), at = runtime_word(r, r->chain.flags),
	      flags = at;

	if (code == 0 && r->chain.c_names == 0)
		return 0;
	if (r->chain.flags_far != 0 && chain_read_word(w, &flags, at) < 0)
		return -1;
	if (r->chain.c_names != 0 && (flags & r->chain.kind) == r->chain.c_kind)
		return chain_add_c(w, at);
	if (code == 0 || (flags & r->chain.skip) != 0 ||
	    (r->chain.kind != 0 && (flags & r->chain.kind) == r->chain.no_kind))
		return 0;
	return chain_add(w, code, flags);
}

static long chain_frame_step(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	struct walk_runtime *r = &w->runtime;
	__u32 size = port_opaque(r->chain.frame_size), others;

	if (r->at == 0 || (r->chain.stride != 0 && r->at >= r->end)) {
		r->head.outcome = DP_RUNTIME_COMPLETE;
		return 1;
	}
	if (r->head.n >= DP_MAX_RUNTIME_FRAMES || runtime_is_over(w))
		return 1;
	if (size > DP_PYTHON_FRAME_SIZE)
		size = DP_PYTHON_FRAME_SIZE;
	/* Callers follow in an array; those of a list are below on its stack. */
	others = WALK_RUNTIME_READ - size;
	if (runtime_read_frame(w, size, r->chain.stride == 0 ? others : 0,
			       r->chain.stride == 0 ? 0 : others) < 0)
		goto fault;
	r->at = r->chain.stride != 0 ? r->at + r->chain.stride : runtime_word(r, r->chain.next);
	if (chain_add_frame(w) < 0)
		goto fault;
	return 0;
fault:
	r->head.outcome = DP_RUNTIME_READ_FAULT;
	return 1;
}

/* Reads the thread's frames into w->runtime. */
static __always_inline void chain_read(struct walk *w, const struct dp_runtime_image *image)
{
	struct walk_ref ref = { w };

	w->runtime.chain = image->chain;
	runtime_frames_begin(&w->runtime);
	w->runtime.head.outcome = DP_RUNTIME_READ_FAULT;
	if (chain_find(w) < 0)
		return;
	w->runtime.head.outcome = DP_RUNTIME_MANY_FRAMES;
	port_loop(2 * DP_MAX_RUNTIME_FRAMES, chain_frame_step, &ref);
}

#endif
