/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_VALUES_BPF_H
#define DP_BPF_VALUES_BPF_H

/* Reads the values that a probe is asked for (value_layout.h), before the walk changes registers. */

#include "bpf/copy.bpf.h"
#include "bpf/walk_state.h"

#include <bpf/bpf_helpers.h>

/* A constant of the loaded program, as the options are. */
const volatile bool dp_has_values;

/* The times of calls are wanted. */
const volatile bool dp_has_times;

/* What is thrown is wanted. */
const volatile bool dp_has_exceptions;

/* A call of a thread, by the stack pointer when it has returned: recursive ones differ in it. */
struct call {
	__u64 thread;
	__u64 sp;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct call);
	__type(value, __u64);
} dp_call_begins SEC(".maps");

/* sp: when the call begins, at the return address. */
static __always_inline void call_begin(__u64 sp)
{
	struct call call = { bpf_get_current_pid_tgid(), sp + DP_CALL_SIZE };
	__u64 now = bpf_ktime_get_ns();

	bpf_map_update_elem(&dp_call_begins, &call, &now, BPF_ANY);
}

/* Returns how long the call took that has just returned; 0: its begin is not known. */
static __always_inline __u64 call_end(__u64 sp)
{
	struct call call = { bpf_get_current_pid_tgid(), sp };
	__u64 *began = bpf_map_lookup_elem(&dp_call_begins, &call);
	__u64 time;

	if (!began)
		return 0;
	time = bpf_ktime_get_ns() - *began;
	bpf_map_delete_elem(&dp_call_begins, &call);
	return time;
}

/* Is this where a call begins? Else, at its return, *ret_ns is how long it took. */
static __always_inline bool call_begins(struct pt_regs *ctx, __u64 *ret_ns)
{
	if (bpf_get_attach_cookie(ctx) & DP_COOKIE_BEGINS) {
		call_begin(REGS_SP(ctx));
		return true;
	}
	*ret_ns = call_end(REGS_SP(ctx));
	return false;
}

/* User space makes as many as it needs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dp_arguments);
} dp_arguments SEC(".maps");

/* A power of two, so that a mask bounds a place, and room for a text at any of them. */
#define VALUES_ROOM 128
#define VALUES_TEXT_CELLS ((DP_TEXT_CUT + 1) / DP_CELL_SIZE)
DP_ASSERT(DP_VALUES_CELLS < VALUES_ROOM, "every value has room");

struct values {
	__u32 n_cells;
	__u32 room; /* cells that may be used, less than VALUES_ROOM */
	union {
		__u64 time_ns; /* of DP_BASE_TIME */
		__u64 record;  /* address, of DP_BASE_RECORD and DP_BASE_LOCATED */
	};
	__u64 length; /* of the next text, if that could be read */
	__u64 has_length;
	__u64 class_name;    /* of class_find() */
	__u32 snapshot_cell; /* of the process; or DP_CELL_UNKNOWN */
	__u32 pid;
	struct dp_values head;
	__u64 cells[VALUES_ROOM + VALUES_TEXT_CELLS + 1];
};
DP_ASSERT(__builtin_offsetof(struct values, cells) ==
		  __builtin_offsetof(struct values, head) + sizeof(struct dp_values),
	  "the values follow their head");

/* One for each of dp_scratch, by the same key. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct values);
} dp_value_room SEC(".maps");

/* By the number of a list of arguments. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dp_whats);
} dp_whats SEC(".maps");

/* What an object has for its virtual functions: ~T(), deleting ~T(), what(). */
#define VTABLE_WHAT (2 * sizeof(__u64))
/* A standard exception's pointer to its message, of libstdc++ and libc++. */
#define OBJECT_MESSAGE sizeof(__u64)

/*
 * Finds the class whose what() an object has: enum dp_what and 1; 0: none of these. The object's
 * vtable tells: one that a program derives from such a class without another what() has the class's
 * own, and its members at the same place. Compared with what the class's vtable has in this
 * process, as the address of a function may be that of a stub in a program that is not
 * position-independent.
 */
PORT_GLOBAL int what_find(__u64 object, __u64 pc, __u32 list)
{
	const struct dp_whats *whats = bpf_map_lookup_elem(&dp_whats, &list);
	__u64 vtable, what, known;

	if (!whats || bpf_probe_read_user(&vtable, sizeof(vtable), (const void *)object) < 0 ||
	    bpf_probe_read_user(&what, sizeof(what), (const void *)(vtable + VTABLE_WHAT)) < 0)
		return 0;
	for (__u32 i = 0; i < DP_N_WHATS; i++) {
		__s64 at = whats->at[port_index(i, DP_MAX_WHATS)];

		if (at != 0 &&
		    bpf_probe_read_user(&known, sizeof(known), (const void *)(pc + at)) == 0 &&
		    known == what)
			return (int)i + 1;
	}
	return 0;
}

/*
 * CPython's objects: PyObject, PyTypeObject and its flags, PyTupleObject, PyBaseExceptionObject and
 * PyASCIIObject with its `state` (Include/cpython, Include/object.h).
 */
#define PYTHON_TYPE 8
#define PYTHON_FLAGS 168
#define PYTHON_IS_TUPLE (1ULL << 26)
#define PYTHON_IS_STR (1ULL << 28)
#define PYTHON_IS_EXCEPTION (1ULL << 30)
#define PYTHON_SIZE 16
#define PYTHON_ITEM 24
#define PYTHON_ARGS 24
#define PYTHON_STATE 32
#define PYTHON_COMPACT (1U << 5)
#define PYTHON_ASCII (1U << 6)

static __always_inline __u64 thrown_word(__u64 at)
{
	__u64 word;

	return bpf_probe_read_user(&word, sizeof(word), (const void *)at) < 0 ? 0 : word;
}

/* Of which kind an object is; 0: of none of these, or it cannot be read. */
static __always_inline __u64 thrown_flags(__u64 object)
{
	__u64 type = thrown_word(object + PYTHON_TYPE);

	return type == 0 ? 0 : thrown_word(type + PYTHON_FLAGS);
}

#define THROWN_UNREAD 1 /* no object's address */

/*
 * The str that is an exception's first argument, or that it is made of: only one of ASCII characters, which
 * has them behind it. 0: there is none. THROWN_UNREAD: it is not in memory, nor may be what leads to it.
 */
PORT_GLOBAL __u64 thrown_message(__u64 object)
{
	__u64 flags = thrown_flags(object);

	if (object == 0)
		return 0;
	if (flags & PYTHON_IS_EXCEPTION) {
		object = thrown_word(object + PYTHON_ARGS);
		flags = thrown_flags(object);
	}
	if (flags & PYTHON_IS_TUPLE) {
		if (thrown_word(object + PYTHON_SIZE) == 0)
			return 0;
		object = thrown_word(object + PYTHON_ITEM);
		flags = thrown_flags(object);
	}
	/* Each type has some. */
	if (flags == 0)
		return THROWN_UNREAD;
	if (!(flags & PYTHON_IS_STR) ||
	    (thrown_word(object + PYTHON_STATE) & (PYTHON_COMPACT | PYTHON_ASCII)) !=
		    (PYTHON_COMPACT | PYTHON_ASCII))
		return 0;
	return object;
}

/*
 * Finds the name of the class of an object of HotSpot, which a handle leads to (struct dp_hotspot): its address and
 * length. A collector may move the object meanwhile; what is read then is as bounded as any text. 1; 0: it is not
 * known how; negative: it cannot be read.
 */
PORT_GLOBAL int class_find(struct values *v, __u64 handle)
{
	const struct dp_snapshot *snapshot;
	const struct dp_hotspot *h;
	__u64 object, word, name;
	__u16 length;

	if (!v || v->snapshot_cell == DP_CELL_UNKNOWN)
		return 0;
	snapshot = port_pool(NULL, v->snapshot_cell);
	if (!snapshot || snapshot->id == 0 || snapshot->pid != v->pid || snapshot->hotspot == 0)
		return 0;
	h = port_pool(NULL, v->snapshot_cell + snapshot->hotspot);
	if (!h || !h->has_classes)
		return 0;
	if (bpf_probe_read_user(&object, sizeof(object), (const void *)handle) < 0 ||
	    bpf_probe_read_user(&word, sizeof(word), (const void *)(object + h->class_at)) < 0)
		return -1;
	word = word << (h->class_lift & 63) >> (h->class_drop & 63) << (h->class_up & 63);
	word += h->class_base;
	if (bpf_probe_read_user(&name, sizeof(name), (const void *)(word + h->class_name)) < 0 ||
	    bpf_probe_read_user(&length, sizeof(length), (const void *)(name + h->symbol_length)) <
		    0)
		return -1;
	v->class_name = name + h->symbol_text;
	v->length = length;
	return 1;
}

struct values_ref {
	const struct dp_regs *regs;
	struct values *v;
	const struct dp_arguments *list;
};

static __always_inline int value_base(struct values_ref *ref, const struct dp_argument *a,
				      __u64 *ret)
{
	__u32 reg = port_opaque((__u32)a->reg);

	*ret = 0;
	if (a->base == DP_BASE_TIME) {
		*ret = ref->v->time_ns;
		return *ret == 0 ? -1 : 0;
	}
	if (a->base == DP_BASE_REGISTER && reg < DP_N_REGISTERS)
		*ret = ref->regs->reg[reg];
	reg = port_opaque((__u32)a->index - 1);
	if (reg < DP_N_REGISTERS)
		*ret += ref->regs->reg[reg] << (a->shift & 3);
	return 0;
}

/* Addresses of the kernel are in the upper half. */
static __always_inline bool is_of_kernel(__u64 address)
{
	return (__s64)address < 0;
}

/* Reads the text at *value into n_room cells. *value becomes its size. */
static __always_inline int value_text(struct values_ref *ref, __u32 i, __u64 *to, __u32 n_room,
				      __u64 *value, bool may_be_of_kernel)
{
	__u32 room = n_room * DP_CELL_SIZE;
	long size;

	if (room > DP_TEXT_CUT + 1)
		room = DP_TEXT_CUT + 1;
	room = port_opaque(room) & (2 * DP_TEXT_CUT + 1);
	if (room > DP_TEXT_CUT + 1)
		return -1;
	if (may_be_of_kernel && is_of_kernel(*value))
		size = bpf_probe_read_kernel_str(to, room, (const void *)*value);
	else
		size = bpf_probe_read_user_str(to, room, (const void *)*value);
	if (size < 0)
		return -1;
	*value = size > 0 ? size - 1 : 0;
	if (size == room)
		ref->v->head.cut |= 1 << i;
	return 0;
}

/* The same for as many bytes as the value in front of it has said, of which none ends the text. */
static __always_inline int value_bytes(struct values_ref *ref, __u32 i, __u64 *to, __u32 n_room,
				       __u64 *value)
{
	__u64 length = ref->v->length;
	__u32 size = n_room * DP_CELL_SIZE;
	bool is_cut;

	if (!ref->v->has_length)
		return -1;
	if (size > DP_TEXT_CUT)
		size = DP_TEXT_CUT;
	is_cut = length > size;
	if (!is_cut)
		size = (__u32)length;
	size = port_opaque(size) & DP_TEXT_CUT;
	if (bpf_probe_read_user(to, size, (const void *)*value) < 0)
		return -1;
	*value = size;
	if (is_cut)
		ref->v->head.cut |= 1 << i;
	return 0;
}
DP_ASSERT((DP_TEXT_CUT & (DP_TEXT_CUT + 1)) == 0, "a mask bounds a text");

/* A length has a->size bytes: what else is in its register is none of it. */
static __always_inline void value_keep_length(struct values *v, const struct dp_argument *a,
					      __u64 value, int err)
{
	__u32 unused = (64 - 8 * a->size) & 63;

	v->length = value << unused >> unused;
	v->has_length = err == 0;
}

/* The name of the class of an object; 0: it is not known. */
static __always_inline enum dp_text value_class(const struct values_ref *ref, __u64 *value)
{
	int found = class_find(ref->v, *value);

	*value = found > 0 ? ref->v->class_name : 0;
	ref->v->has_length = found > 0;
	return found == 0 ? DP_TEXT_NONE : DP_TEXT_SIZED;
}

/*
 * The message of an object: its class (what_find()), or it is the text at *value, which is
 * 0 if that cannot be read. how: enum dp_thrown.
 */
static __always_inline enum dp_text value_what(const struct values_ref *ref, __u32 how,
					       __u64 *value)
{
	__u64 object = *value;
	__u32 found;

	if (how == DP_THROWN_JAVA)
		return value_class(ref, value);
	if (how != DP_THROWN_CXX) {
		object = thrown_message(object);
		*value = object > THROWN_UNREAD ? object + how : 0;
		return object != 0 ? DP_TEXT_ENDED : DP_TEXT_NONE;
	}
	found = (__u32)what_find(object, ref->regs->reg[DP_REG_PC], ref->v->head.list);

	*value = found;
	if (found == 0 || found > DP_WHAT_FIXED)
		return DP_TEXT_NONE;
	if (bpf_probe_read_user(value, sizeof(*value), (const void *)(object + OBJECT_MESSAGE)) < 0)
		*value = 0;
	return DP_TEXT_ENDED;
}

/* What a std::string of libc++ has behind its first word; of a short one, behind its first byte. */
#define LIBCXX_LENGTH 8
#define LIBCXX_TEXT 16

/*
 * The text of a std::string of libc++: its lowest bit tells whether the string has a length and an address,
 * or the text itself, behind a byte with twice its length.
 */
static __always_inline int value_libcxx(struct values *v, __u64 *value)
{
	__u64 object = *value;
	__u8 first;

	v->has_length = 1;
	if (bpf_probe_read_user(&first, sizeof(first), (const void *)object) < 0)
		return -1;
	v->length = first >> 1;
	*value = object + sizeof(first);
	if (!(first & 1))
		return 0;
	if (bpf_probe_read_user(&v->length, sizeof(v->length),
				(const void *)(object + LIBCXX_LENGTH)) < 0)
		return -1;
	return (int)bpf_probe_read_user(value, sizeof(*value),
					(const void *)(object + LIBCXX_TEXT));
}

#include "bpf/fields.bpf.h"

/* Follows the pointers that lead to an argument. */
static __always_inline int value_follow(const struct dp_argument *a, __u64 *value, bool of_event)
{
	for (__u32 i = 0; i < DP_MAX_DEREFS; i++) {
		__u64 at = *value + (__s64)a->derefs[i], word = 0;
		bool may_be_of_kernel = of_event && (i == 0 || a->base != DP_BASE_SYSCALL);
		int err;

		if (i >= a->n_derefs)
			break;
		if (i + 1 < a->n_derefs || a->size >= sizeof(word))
			err = field_read(&word, sizeof(word), at, may_be_of_kernel);
		else
			err = field_read(&word, a->size & 7, at, may_be_of_kernel);
		if (err < 0)
			return err;
		*value = word;
	}
	*value += a->add;
	return 0;
}

/* The word of an argument, of a text its address; 0 if it cannot be read. */
static __always_inline int value_find(struct values_ref *ref, const struct dp_argument *a,
				      __u64 *ret, bool of_event)
{
	int err = of_event ? field_base(ref->v, a, ret) : value_base(ref, a, ret);

	if (err == 0)
		err = value_follow(a, ret, of_event);
	if (err < 0)
		*ret = 0;
	return err;
}

/* text: enum dp_text. of_event: in the kernel's memory. Of those of a size, none is there. */
static __always_inline int value_take_text(struct values_ref *ref, __u32 i, __u32 text, __u64 *to,
					   __u32 n_room, __u64 *value, bool of_event)
{
	return text == DP_TEXT_SIZED ? value_bytes(ref, i, to, n_room, value) :
				       value_text(ref, i, to, n_room, value, of_event);
}

/* of_event: of the kernel, else of user code; a constant. */
static __always_inline void value_take(struct values_ref *ref, __u32 i, bool of_event)
{
	struct values *v = ref->v;
	const struct dp_argument *a = &ref->list->of[port_index(i, DP_MAX_ARGUMENTS)];
	__u32 at = v->n_cells;
	__u32 n_room = v->room - at - (v->head.n - i);
	__u64 *to = &v->cells[port_index(at, VALUES_ROOM)];
	__u32 text = a->is_text;
	__u64 value;
	int err = value_find(ref, a, &value, of_event);

	if (dp_has_exceptions && !of_event && err == 0 && a->is_what)
		text = value_what(ref, a->is_what, &value);
	if (!of_event && text == DP_TEXT_LIBCXX) {
		err = err == 0 ? value_libcxx(v, &value) : err;
		text = DP_TEXT_SIZED;
	}
	if (text == DP_TEXT_LENGTH) {
		value_keep_length(v, a, value, err);
		return;
	}
	if (err == 0 && text != DP_TEXT_NONE)
		err = value_take_text(ref, i, text, to + 1, n_room, &value,
				      of_event && a->base != DP_BASE_SYSCALL);
	if (err < 0) {
		v->head.unread |= 1 << i;
		text = DP_TEXT_NONE;
	}
	*to = value;
	v->n_cells++;
	if (text != DP_TEXT_NONE) {
		v->head.texts |= 1 << i;
		v->n_cells += (value + DP_CELL_SIZE - 1) / DP_CELL_SIZE;
	}
}

static long values_step(__u32 i, void *ctx)
{
	value_take(ctx, i, false);
	return 0;
}

static long fields_step(__u32 i, void *ctx)
{
	value_take(ctx, i, true);
	return 0;
}

/*
 * Reads the values of a list. from: struct values.time_ns, or of an event, .record. room: of cells, less than
 * VALUES_ROOM.
 */
static __always_inline void values_fill(struct values *v, const struct dp_regs *regs, __u32 list,
					__u64 from, __u32 room, bool of_event)
{
	struct values_ref ref = { regs, v, bpf_map_lookup_elem(&dp_arguments, &list) };
	__u32 n;

	ref.v->room = room;
	ref.v->head = (struct dp_values){ .list = (__u16)list };
	ref.v->n_cells = 0;
	ref.v->time_ns = from;
	/* Linux 6.1 verifies the loop's body even if there is nothing to do. */
	if (!ref.list)
		return;
	n = ref.list->n;
	if (n > DP_MAX_ARGUMENTS)
		n = DP_MAX_ARGUMENTS;
	ref.v->head.n = n;
	if (of_event)
		bpf_loop(n, fields_step, &ref, 0);
	else
		bpf_loop(n, values_step, &ref, 0);
}

/* The registers are in w->in.regs. cell: of the process's tables, if there are any. */
static __always_inline void values_read(struct walk *w, __u32 key, __u32 list, __u64 time_ns,
					const __u32 *cell)
{
	struct values *v = bpf_map_lookup_elem(&dp_value_room, &key);

	if (!v)
		return;
	if (dp_has_exceptions) {
		v->snapshot_cell = cell ? *cell : DP_CELL_UNKNOWN;
		v->pid = w->out.sample.pid;
	}
	values_fill(v, &w->in.regs, list, time_ns, DP_VALUES_CELLS, false);
}

/*
 * Reads the values of an event of the kernel. Its record is what the program's context points to:
 * the tracepoint's, or the arguments. Only by way of memory does the address become a number to the
 * verifier. Not inlined, to keep it off the program's own stack.
 */
static __noinline int fields_read(void *ctx, __u32 key, __u32 list)
{
	struct values *v = bpf_map_lookup_elem(&dp_value_room, &key);

	if (v)
		values_fill(v, NULL, list, (__u64)ctx, DP_VALUES_CELLS, true);
	return 0;
}

/* Appends the values after n frames. Returns the cells that they take. */
static __always_inline __u32 sample_put_values(struct walk *w, __u32 key, __u32 n)
{
	struct values *v = bpf_map_lookup_elem(&dp_value_room, &key);
	__u32 cells;

	n = port_opaque(n);
	if (!v || n > DP_MAX_FRAMES + WALK_LABELS_CELLS)
		return 0;
	cells = sizeof(v->head) / DP_CELL_SIZE + v->n_cells;
	v->head.part = (struct dp_part){ dp_has_exceptions ? DP_RECORD_THROWN : DP_RECORD_VALUES,
					 (__u16)(cells * DP_CELL_SIZE) };
	cells = port_opaque(cells);
	if (cells > DP_MAX_KERNEL_FRAMES ||
	    copy_cells(&w->out.frames[n], cells * DP_CELL_SIZE, &v->head) < 0)
		return 0;
	w->out.sample.flags |= dp_has_exceptions ? DP_SAMPLE_THROWN : DP_SAMPLE_VALUES;
	return cells;
}

#endif
