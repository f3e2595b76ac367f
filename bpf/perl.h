/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_PERL_H
#define DP_BPF_PERL_H

/*
 * Reads the contexts of Perl's functions (struct dp_perl). The thread does not run meanwhile, but may
 * be making a context, or be leaving it. What is read need not make sense: each loop is bounded.
 */

#include "bpf/chain.h"

static __always_inline __u64 perl_word(const __u8 *bytes, __u32 at)
{
	return port_u64(bytes + port_index(at & (DP_PERL_MAX_READ - 1), DP_PERL_MAX_READ));
}

static __always_inline __u32 perl_half(const __u8 *bytes, __u32 at)
{
	return (__u32)perl_word(bytes, at);
}

/* Finds the innermost stack and what runs; without an interpreter, there are none. 0 or negative. */
static __always_inline int perl_find(struct walk *w)
{
	struct walk_perl *p = &w->perl;
	__u64 at, saved;

	p->stack = p->left = 0;
	p->kind = p->layout.kind_null;
	w->runtime.chain.variable = p->layout.variable;
	w->runtime.chain.place = p->layout.place;
	if (chain_variable(w, &at) < 0)
		return -1;
	if (p->layout.is_threaded) {
		if (at == 0)
			return 0;
		if (chain_read_word(w, &at, at) < 0)
			return -1;
		if (at == 0)
			return 0;
	}
	if (chain_read_word(w, &p->stack, at + p->layout.stack) < 0 ||
	    chain_read_word(w, &p->statement, at + p->layout.statement) < 0 ||
	    chain_read_word(w, &p->op, at + p->layout.op) < 0 ||
	    chain_read_word(w, &saved, at + p->layout.saved) < 0)
		return -1;
	p->saved = (__u32)saved;
	return 0;
}

/* Goes on with the stack of the caller. Returns 0 or negative. */
static __always_inline int perl_next_stack(struct walk *w)
{
	struct walk_perl *p = &w->perl;

	if (walk_peek(w, p->bytes, DP_PERL_STACK_READ, p->stack) < 0)
		return -1;
	p->first = perl_word(p->bytes, p->layout.contexts);
	p->stack = perl_word(p->bytes, p->layout.previous);
	p->last = perl_half(p->bytes, p->layout.last);
	p->last_sub = perl_half(p->bytes, p->layout.last_sub);
	p->left = (__s32)p->last < 0 ? 0 : p->last + 1;
	p->kind = p->layout.kind_null;
	return 0;
}

/*
 * Adds a frame with the statement that is noted. Its tag: of a statement that cannot be read, it has
 * none. A function's first op need not be a statement.
 */
static __always_inline void perl_add(struct walk *w, __u64 code, __u32 check, __u64 flags)
{
	struct walk_runtime *r = &w->runtime;
	struct walk_perl *p = &w->perl;
	struct dp_runtime_frame *f = &r->frames[port_index(r->head.n, DP_MAX_RUNTIME_FRAMES)];
	__u32 type;

	f->code = code;
	f->tag = (__u64)check << 32;
	f->position = flags;
	r->head.n++;
	if (p->statement == 0 || walk_peek(w, p->bytes, DP_PERL_STATEMENT_READ, p->statement) < 0)
		return;
	type = perl_half(p->bytes, p->layout.op_type) & DP_PERL_OP_TYPES;
	if (p->statement == p->start && type != p->layout.op_next && type != p->layout.op_debug)
		return;
	f->position |= DP_PERL_STATEMENT(p->statement);
	f->tag |= perl_check((__u64)perl_half(p->bytes, p->layout.line) << 32 |
				     perl_half(p->bytes, p->layout.sequence),
			     perl_word(p->bytes, p->layout.file));
}

/*
 * The innermost function may have been called, but still have the caller's statement. That is so
 * while the op that called it has not ended, or its own first one has not: nothing has been kept for it
 * yet. Which function a `goto` is in is not known.
 */
static __always_inline void perl_correct_statement(struct walk *w)
{
	struct walk_perl *p = &w->perl;
	__u64 op = p->op;

	p->op = 0;
	if (op == 0)
		return;
	if (op == p->start) {
		p->statement = op;
		return;
	}
	if (walk_peek(w, p->bytes, DP_PERL_OP_READ, op) < 0)
		return;
	if ((perl_half(p->bytes, p->layout.op_type) & DP_PERL_OP_TYPES) == p->layout.op_goto)
		p->statement = 0;
	else if (p->statement == perl_word(p->context, p->layout.caller) &&
		 p->saved == perl_half(p->context, p->layout.saved_before) &&
		 perl_word(p->bytes, 0) == perl_word(p->context, p->layout.resume))
		p->statement = p->start;
}

/* Finds what has the name of the function whose body has been read. Returns 0 or negative. */
static __always_inline int perl_find_name(struct walk *w, __u64 function, __u64 *ret_code,
					  __u32 *ret_check)
{
	struct walk_perl *p = &w->perl;
	__u32 flags = perl_half(p->bytes, p->layout.flags);
	__u64 name = perl_word(p->bytes, p->layout.name), at;

	*ret_check = 0;
	*ret_code = DP_PERL_NAMELESS;
	if (name == 0)
		return 0;
	*ret_code = (name & ~DP_PERL_CODES) | DP_PERL_GV;
	if (!(flags & p->layout.is_named)) {
		if (chain_read_word(w, &at, name) < 0 ||
		    walk_peek(w, p->bytes, DP_PERL_NAME_READ, at) < 0)
			return -1;
		*ret_check = perl_check(perl_word(p->bytes, p->layout.gv_name),
					perl_word(p->bytes, p->layout.gv_package));
	} else if (flags & p->layout.is_lexical) {
		*ret_code |= DP_PERL_HEK;
		if (chain_read_word(w, &at, name) < 0)
			return -1;
		*ret_check = perl_check(at, 0);
	} else {
		*ret_code = (function & ~DP_PERL_CODES) | DP_PERL_CV;
		*ret_check = perl_check(name, perl_word(p->bytes, p->layout.package));
	}
	return 0;
}

/* Adds a function's frame. Native functions have native frames. Returns 0 or negative. */
static __always_inline int perl_add_function(struct walk *w, __u64 function, __u64 flags)
{
	struct walk_perl *p = &w->perl;
	__u64 code;
	__u32 check;

	if (chain_read_word(w, &code, function) < 0 ||
	    walk_peek(w, p->bytes, DP_PERL_BODY_READ, code) < 0)
		return -1;
	if (perl_half(p->bytes, p->layout.flags) & p->layout.is_native)
		return 0;
	p->start = perl_word(p->bytes, p->layout.start);
	if (perl_find_name(w, function, &code, &check) < 0)
		return -1;
	perl_correct_statement(w);
	perl_add(w, code, check, flags);
	return 0;
}

/* True if the op that runs calls. */
static __always_inline __u32 perl_is_calling(struct walk *w)
{
	struct walk_perl *p = &w->perl;

	return p->op != 0 && walk_peek(w, p->bytes, DP_PERL_OP_READ, p->op) == 0 &&
	       (perl_half(p->bytes, p->layout.op_type) & DP_PERL_OP_TYPES) == p->layout.op_call;
}

/*
 * True of a context that is being made, or left. The caller of one that is being made is where the
 * thread is, and not yet in the context; while it is left, the thread may still be in the function,
 * which is no more in the context.
 */
static __always_inline int perl_is_partial(struct walk *w, __u32 kind, __u64 function)
{
	struct walk_perl *p = &w->perl;
	__u64 caller = perl_word(p->context, p->layout.caller);
	__u32 is_partial = p->left == p->last && p->last_sub != p->last;

	if (!is_partial && (function != 0 || kind == p->layout.kind_eval))
		return 0;
	if (kind == p->layout.kind_eval)
		p->statement = p->statement == caller ? caller : 0;
	else if (!is_partial || (function == 0 && !perl_is_calling(w)))
		p->statement = caller;
	p->op = 0;
	return 1;
}

/* Adds the frame of an eval of a text or a file, which has no statement before its own. */
static __always_inline void perl_add_eval(struct walk *w, __u64 flags)
{
	struct walk_perl *p = &w->perl;

	if (p->statement == perl_word(p->context, p->layout.caller))
		p->statement = 0;
	p->op = p->start = 0;
	perl_add(w, DP_PERL_EVAL, 0, flags);
}

/* Adds a loop that runs more of the function that is next. */
static __always_inline void perl_add_loop(struct walk *w)
{
	struct walk_runtime *r = &w->runtime;

	r->frames[port_index(r->head.n, DP_MAX_RUNTIME_FRAMES)] =
		(struct dp_runtime_frame){ .position = DP_RUNTIME_ENTRY | DP_PERL_IDLE };
	r->head.n++;
}

/* Adds the frame of the context that has been read, if it has one. Returns 0 or negative. */
static __always_inline int perl_add_context(struct walk *w)
{
	struct walk_perl *p = &w->perl;
	__u32 type = perl_half(p->context, p->layout.type);
	__u64 function = perl_word(p->context, p->layout.function), flags = 0;
	__u32 kind = type & DP_PERL_KINDS;
	int err = 0;

	p->kind = kind;
	if (kind == p->layout.kind_null || kind == p->layout.kind_defer ||
	    (kind == p->layout.kind_sub && type & p->layout.is_fake)) {
		perl_add_loop(w);
		return 0;
	}
	if ((kind != p->layout.kind_sub && kind != p->layout.kind_format &&
	     kind != p->layout.kind_eval) ||
	    (kind == p->layout.kind_eval && type & p->layout.is_eval_block) ||
	    perl_is_partial(w, kind, function))
		return 0;
	if (perl_word(p->context, p->layout.resume) == 0)
		flags = DP_RUNTIME_ENTRY;
	if (kind == p->layout.kind_sub && type & p->layout.is_reused)
		flags |= DP_PERL_IDLE;
	if (kind == p->layout.kind_eval)
		perl_add_eval(w, flags);
	else
		err = perl_add_function(w, function, flags);
	p->statement = perl_word(p->context, p->layout.caller);
	return err;
}

static long perl_step(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	struct walk_runtime *r = &w->runtime;
	struct walk_perl *p = &w->perl;

	if (runtime_is_over(w))
		return 1;
	if (p->left == 0) {
		if (p->stack == 0) {
			r->head.outcome = DP_RUNTIME_COMPLETE;
			return 1;
		}
		if (perl_next_stack(w) == 0)
			return 0;
		goto fault;
	}
	if (r->head.n >= DP_MAX_RUNTIME_FRAMES)
		return 1;
	p->left--;
	if (walk_peek(w, p->context, DP_PERL_CONTEXT_READ,
		      p->first + (__u64)p->left * p->layout.context_size) == 0 &&
	    perl_add_context(w) == 0)
		return 0;
fault:
	r->head.outcome = DP_RUNTIME_READ_FAULT;
	return 1;
}

/* Reads the thread's frames into w->runtime. The script's own code has a block as outermost context. */
static __always_inline void perl_read(struct walk *w, const struct dp_runtime_image *image)
{
	struct dp_runtime *head = &w->runtime.head;
	struct walk_ref ref = { w };

	w->perl.layout = image->perl;
	head->outcome = DP_RUNTIME_READ_FAULT;
	if (perl_find(w) < 0)
		return;
	head->outcome = DP_RUNTIME_MANY_FRAMES;
	port_loop(2 * DP_MAX_RUNTIME_FRAMES, perl_step, &ref);
	if (head->outcome != DP_RUNTIME_COMPLETE || w->perl.kind != w->perl.layout.kind_block ||
	    head->n >= DP_MAX_RUNTIME_FRAMES)
		return;
	w->perl.start = 0;
	perl_add(w, DP_PERL_MAIN, 0, DP_RUNTIME_ENTRY);
}

#endif
