/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_PYTHON_H
#define DP_BPF_PYTHON_H

/*
 * Reads the frames of CPython's functions (struct dp_python): from the interpreter's list of threads,
 * the one that was interrupted, and its list of frames. The thread does not run meanwhile; others may
 * change the list of threads. What is read need not make sense: each loop is bounded.
 */

#include "bpf/walk_state.h"

static __always_inline __u64 python_word(const struct walk_runtime *r, __u32 at)
{
	return port_u64(r->bytes +
			port_index(at & (DP_PYTHON_FRAME_SIZE - 1), DP_PYTHON_FRAME_SIZE));
}

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
	__u64 number = (__u32)python_word(r, r->python.copy), at;

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
 * Adds the frame whose bytes have been read, unless it is the interpreter's own. Returns 0, or negative
 * for an unreadable code object.
 */
static __always_inline int python_add(struct walk *w)
{
	struct walk_runtime *r = &w->runtime;
	__u64 code = python_word(r, r->python.code) & ~DP_PYTHON_REFERENCE_FLAGS;
	__u64 position = python_word(r, r->python.position);
	struct dp_runtime_frame *f = &r->frames[port_index(r->head.n, DP_MAX_RUNTIME_FRAMES)];
	__u64 name, hash;
	__u32 line;
	int is_own;

	walk_charge(w, 3);
	if (port_read_user(w, &name, sizeof(name), code + r->python.name) < 0 ||
	    port_read_user(w, &line, sizeof(line), code + r->python.line) < 0 ||
	    port_read_user(w, &hash, sizeof(hash), name + r->python.hash) < 0)
		return -1;
	is_own = python_is_own(w, code, name, line);
	if (is_own != 0)
		return is_own < 0 ? -1 : 0;
	if (r->python.copies != 0 && python_leave_copy(w, code, &position) < 0)
		return -1;
	if (r->python.position_size == sizeof(__u32))
		position = (__u32)position;
	f->code = code;
	f->position = position & ~DP_RUNTIME_ENTRY;
	f->tag = python_tag(hash, line);
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
	__u32 size = r->python.frame_size;
	__u8 entry;

	if (r->at == 0) {
		if (python_leave_new_loop(r))
			return 0;
		r->head.outcome = DP_RUNTIME_COMPLETE;
		return 1;
	}
	if (r->head.n >= DP_MAX_RUNTIME_FRAMES || runtime_is_over(w))
		return 1;
	size = port_opaque(size);
	if (size > DP_PYTHON_FRAME_SIZE)
		size = DP_PYTHON_FRAME_SIZE;
	if (walk_peek(w, r->bytes, size, r->at) < 0)
		goto fault;
	entry = r->bytes[port_index(r->python.entry & (DP_PYTHON_FRAME_SIZE - 1),
				    DP_PYTHON_FRAME_SIZE)];
	r->at = python_word(r, r->python.previous);
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
	python_find(w);
	if (w->runtime.head.outcome == DP_RUNTIME_MANY_FRAMES)
		port_loop(2 * DP_MAX_RUNTIME_FRAMES, python_frame_step, &ref);
}

#endif
