/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_PYTHON_H
#define DP_BPF_PYTHON_H

/*
 * Reads the frames of CPython's functions (struct dp_python): from the interpreter's list of threads,
 * the one that was interrupted, and its list of frames. The thread does not run meanwhile; others may
 * change the list of threads. What is read need not make sense: each loop is bounded.
 */

#include "bpf/runtime_frame.h"

/*
 * Finds the first frames of the innermost evaluation loop, and of the one that called it, by the
 * structure of the former, which is on its stack. Returns 0 or negative.
 */
static __always_inline int python_find_loop(struct walk *w, __u64 loop)
{
	struct walk_runtime *r = &w->runtime;
	__u64 previous;

	if (walk_peek(w, &previous, sizeof(previous), loop + r->python.c_previous) < 0 ||
	    walk_peek(w, &r->innermost, sizeof(r->innermost), loop + r->python.c_frame - 1) < 0)
		return -1;
	if (previous == 0)
		r->below = 0;
	else if (walk_peek(w, &r->below, sizeof(r->below), previous + r->python.c_frame - 1) < 0)
		return -1;
	return 0;
}

/* Finds the first frames of the thread's state at r->at; 0: it has none. Returns 0 or negative. */
static __always_inline int python_find_frames(struct walk *w)
{
	struct walk_runtime *r = &w->runtime;

	r->below = 0;
	if (walk_peek(w, &r->innermost, sizeof(r->innermost), r->at + r->python.thread_frame) < 0)
		return -1;
	return r->python.c_frame != 0 && r->innermost != 0 ? python_find_loop(w, r->innermost) : 0;
}

/*
 * Goes to the next thread state. Returns 1 at the thread's own with frames, or where the search
 * ends. Until 3.11, the state that a thread has made for one that it starts has its own id until
 * that one runs (_PyThreadState_Prealloc(), Python/pystate.c), is first in the list, and has no
 * frames.
 */
static long python_thread_step(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	struct walk_runtime *r = &w->runtime;
	__u64 id;

	if (runtime_is_over(w))
		return 1;
	if (r->at == 0) {
		__u64 interpreter = r->interpreter;

		if (interpreter == 0) {
			if (r->head.outcome != DP_RUNTIME_COMPLETE)
				r->head.outcome = DP_RUNTIME_NO_THREAD;
			return 1;
		}
		if (walk_peek(w, &r->at, sizeof(r->at), interpreter + r->python.first_thread) < 0 ||
		    walk_peek(w, &r->interpreter, sizeof(r->interpreter),
			      interpreter + r->python.next_interpreter) < 0)
			goto fault;
		return 0;
	}
	if (walk_peek(w, &id, sizeof(id), r->at + r->python.thread_id) < 0)
		goto fault;
	if (id == r->self) {
		if (python_find_frames(w) < 0)
			goto fault;
		r->head.outcome = DP_RUNTIME_COMPLETE;
		if (r->innermost != 0 || r->below != 0)
			return 1;
	}
	if (walk_peek(w, &r->at, sizeof(r->at), r->at + r->python.next_thread) < 0)
		goto fault;
	return 0;
fault:
	r->head.outcome = DP_RUNTIME_READ_FAULT;
	return 1;
}

/*
 * A loop makes its structure the innermost one before it puts its first frame there. Until then it
 * holds what was on the stack before, which leads elsewhere or nowhere: then goes on with the frames of
 * the loop that called this one. Returns 1 if so.
 */
static __always_inline int python_leave_new_loop(struct walk_runtime *r)
{
	if (r->is_checked)
		return 0;
	r->is_checked = 1;
	r->head.n = (__u16)r->first;
	r->at = r->below;
	return 1;
}

/* Finds the first frame of the thread. Without one, it is 0, with an outcome. */
static __always_inline void python_find(struct walk *w)
{
	struct walk_runtime *r = &w->runtime;
	struct walk_ref ref = { w };

	r->at = 0;
	r->innermost = 0;
	r->self = port_thread_base(w);
	r->head.outcome = DP_RUNTIME_READ_FAULT;
	if (r->self == 0 || walk_peek(w, &r->interpreter, sizeof(r->interpreter),
				      r->bias + r->python.runtime + r->python.interpreters) < 0)
		return;
	r->head.outcome = DP_RUNTIME_MANY_THREADS;
	port_loop(DP_MAX_RUNTIME_THREADS, python_thread_step, &ref);
	r->at = r->innermost;
	r->is_checked = r->python.c_frame == 0;
	if (r->head.outcome == DP_RUNTIME_COMPLETE)
		r->head.outcome = DP_RUNTIME_MANY_FRAMES;
}

/*
 * Makes a position in a thread's copy of the instructions an offset from the code object. Returns 0 or
 * negative.
 */
static __always_inline int python_leave_copy(struct walk *w, __u64 code, __u64 *position)
{
	struct walk_runtime *r = &w->runtime;
	__u64 number = (__u32)runtime_word(r, r->python.copy), at;

	walk_charge(w, 2);
	if (port_read_user(w, &at, sizeof(at), code + r->python.copies) < 0 ||
	    port_read_user(w, &at, sizeof(at), at + DP_PYTHON_COPIES_HEAD + number * sizeof(at)) <
		    0)
		return -1;
	*position += code - at;
	return 0;
}

/*
 * Whether code with this name and first line is the interpreter's own, which prepares an object before it
 * calls the class's __init__() (_Py_InitCleanup, Python/specialize.c): it is in no line, as some others'
 * is, and has one string as its name and its file. Negative: it is unreadable.
 */
static __always_inline int python_is_own(struct walk *w, __u64 code, __u64 name, __u32 line)
{
	struct walk_runtime *r = &w->runtime;
	__u64 file;

	if (line != 0 || r->python.entry_kind != DP_PYTHON_ENTRY_LINK)
		return 0;
	if (walk_peek(w, &file, sizeof(file), code + r->python.filename) < 0)
		return -1;
	return file == name;
}

/*
 * Reads a code object's first line and name, at once if they are near each other, as they are in each
 * version. Returns 0 or negative.
 */
static __always_inline int python_read_code(struct walk *w, __u64 code, __u64 *ret_name,
					    __u32 *ret_line)
{
	struct walk_runtime *r = &w->runtime;
	__u32 behind = port_opaque(r->python.name - r->python.line);

	if (behind > DP_PYTHON_CODE_READ - sizeof(*ret_name))
		return walk_peek(w, ret_name, sizeof(*ret_name), code + r->python.name) < 0 ?
			       -1 :
			       walk_peek(w, ret_line, sizeof(*ret_line), code + r->python.line);
	if (walk_peek(w, r->code, behind + sizeof(*ret_name), code + r->python.line) < 0)
		return -1;
	*ret_line = (__u32)port_u64(r->code);
	*ret_name = port_u64(r->code + port_index(behind, DP_PYTHON_CODE_READ));
	return 0;
}

/*
 * What is known of a code object, whose memory does not change while one of its frames is there. Returns
 * NULL if it is unreadable.
 */
static __always_inline const struct walk_python_code *python_find_code(struct walk *w, __u64 code)
{
	struct walk_runtime *r = &w->runtime;
	struct walk_python_code *c = &r->codes[port_index(
		(code >> 4 ^ code >> 9) & (WALK_PYTHON_CODES - 1), WALK_PYTHON_CODES)];
	__u64 name, hash;
	__u32 line;
	int is_own;

	if (c->address == code && c->reading == r->reading)
		return c;
	c->address = 0;
	if (python_read_code(w, code, &name, &line) < 0 ||
	    walk_peek(w, &hash, sizeof(hash), name + r->python.hash) < 0)
		return NULL;
	is_own = python_is_own(w, code, name, line);
	if (is_own < 0)
		return NULL;
	c->address = code;
	c->reading = r->reading;
	c->tag = python_tag(hash, line);
	c->is_own = (__u32)is_own;
	return c;
}

/*
 * Adds the frame whose bytes have been read, unless it is the interpreter's own. Returns 0, or negative
 * for an unreadable code object.
 */
static __always_inline int python_add(struct walk *w)
{
	struct walk_runtime *r = &w->runtime;
	__u64 code = runtime_word(r, r->python.code) & ~DP_PYTHON_REFERENCE_FLAGS;
	__u64 position = runtime_word(r, r->python.position);
	struct dp_runtime_frame *f = &r->frames[port_index(r->head.n, DP_MAX_RUNTIME_FRAMES)];
	const struct walk_python_code *c = python_find_code(w, code);

	if (!c)
		return -1;
	if (c->is_own)
		return 0;
	if (r->python.copies != 0 && python_leave_copy(w, code, &position) < 0)
		return -1;
	if (r->python.position_size == sizeof(__u32))
		position = (__u32)position;
	f->code = code;
	f->position = position & ~DP_RUNTIME_ENTRY;
	f->tag = c->tag;
	r->head.n++;
	return 0;
}

/* The frame that was added last is the first one of its evaluation loop. */
static __always_inline void python_mark_entry(struct walk_runtime *r)
{
	__u32 last = (__u32)r->head.n - 1;

	if (!r->is_checked && r->at != r->below) {
		python_leave_new_loop(r);
		return;
	}
	r->is_checked = 1;
	if (r->head.n > r->first)
		r->frames[port_index(last & (DP_MAX_RUNTIME_FRAMES - 1), DP_MAX_RUNTIME_FRAMES)]
			.position |= DP_RUNTIME_ENTRY;
}

static long python_frame_step(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	struct walk_runtime *r = &w->runtime;
	__u32 size = port_opaque(r->python.frame_size);
	__u8 entry;

	if (r->at == 0) {
		if (python_leave_new_loop(r))
			return 0;
		r->head.outcome = DP_RUNTIME_COMPLETE;
		return 1;
	}
	if (r->head.n >= DP_MAX_RUNTIME_FRAMES || runtime_is_over(w))
		return 1;
	if (size > DP_PYTHON_FRAME_SIZE)
		size = DP_PYTHON_FRAME_SIZE;
	/* Until 3.10, each frame is an object. Then they are on a stack, callers below. */
	if (runtime_read_frame(
		    w, size,
		    r->python.entry_kind == DP_PYTHON_ENTRY_EACH ? 0 : WALK_RUNTIME_READ - size,
		    0) < 0)
		goto fault;
	entry = runtime_byte(r, r->python.entry);
	r->at = runtime_word(r, r->python.previous);
	if (r->python.entry_kind == DP_PYTHON_ENTRY_LINK && entry >= r->python.link) {
		python_mark_entry(r);
		return 0;
	}
	if (python_add(w) < 0)
		goto fault;
	if (r->python.entry_kind == DP_PYTHON_ENTRY_EACH ||
	    (r->python.entry_kind == DP_PYTHON_ENTRY_FLAG && entry != 0))
		python_mark_entry(r);
	return 0;
fault:
	if (python_leave_new_loop(r))
		return 0;
	r->head.outcome = DP_RUNTIME_READ_FAULT;
	return 1;
}

/* Reads the thread's frames into w->runtime. */
static __always_inline void python_read(struct walk *w, const struct dp_runtime_image *image)
{
	struct walk_ref ref = { w };

	w->runtime.python = image->python;
	runtime_frames_begin(&w->runtime);
	python_find(w);
	if (w->runtime.head.outcome == DP_RUNTIME_MANY_FRAMES)
		port_loop(2 * DP_MAX_RUNTIME_FRAMES, python_frame_step, &ref);
}

#endif
