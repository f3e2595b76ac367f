/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_V8_LAYOUT_H
#define DP_BPF_V8_LAYOUT_H

/*
 * Where V8 keeps the functions of its frames, by the constants that it publishes for debuggers
 * (v8dbg_*). Part of abi.h.
 */

/* The tags of words, in all builds without compressed pointers: small integers (Smi), and objects. */
#define DP_V8_SMI_SHIFT 32
#define DP_V8_OBJECT_TAG 1
#define DP_V8_TAG_MASK 3

/* What is read of a SharedFunctionInfo, and in front of a frame pointer; the first, a power of two. */
#define DP_V8_READ_SIZE 64
#define DP_V8_SLOTS_SIZE 48

/*
 * A struct dp_runtime_frame of V8 stands for a native one, and has its number. Its code is the
 * SharedFunctionInfo, its position what is in the place of the bytecode's offset: that, if the frame
 * is the interpreter's. The tag: v8_tag().
 */

/* Set in user space. The position is an address in compiled code, */
#define DP_V8_COMPILED (1ULL << 62)
/* which is no return address; */
#define DP_V8_EXACT (1ULL << 61)
/* or a place in the script's text. */
#define DP_V8_PLACE (1ULL << 60)
#define DP_V8_POSITION(position) ((position) & (DP_V8_PLACE - 1))

struct dp_v8 {
	/* In the slots in front of a frame pointer: the function; its context, or a type of frame; and
	 * in the interpreter's the offset in its bytecode */
	__u32 function, context, offset;
	__u32 shared;       /* in a JSFunction: its SharedFunctionInfo, */
	__u32 name, script; /* and in that, what the tag is made of */
};

/* Objects may move or die, but then what an object has at the same place refers to others. */
static inline __u64 v8_tag(__u64 name, __u64 script)
{
	return name * 0x9e3779b97f4a7c15ULL + script;
}

/* What user space needs besides, to name functions: offsets of members, and instance types. */
struct dp_v8_names {
	__u16 map, instance_type;
	__u16 type_shared, type_scope_info, type_script, type_bytecode, type_bytes,
		type_trusted_bytes;
	__u16 type_array, type_trusted_array, type_code, type_interpreter_data, type_oddball;
	__u16 first_nonstring, encoding_mask, one_byte, representation_mask;
	__u16 sequential, cons, external, sliced, thin;
	__u16 string_length, one_byte_chars, two_byte_chars;
	__u16 cons_first, cons_second, thin_actual, sliced_parent, sliced_offset;
	__u16 n_locals, first_local; /* numbers of a ScopeInfo's words */
	__u16 script_name, script_line_ends, script_source;
	__u16 array_length, array_data;
	__u16 bytecode_data;
	__u16 function_shared, shared_name, shared_script;
	/* Of compiled code; 0: not known. Where it begins in its object, and numbers of elements of its
	 * data for deoptimization */
	__u16 type_stream, type_protected_array, stream_start;
	__u16 deopt_literals, deopt_inlined, deopt_shared;
	__u16 code_start; /* as stream_start, in versions in which a Code has its instructions */
	/* Of each bytecode, its length in the lower half, and by how much a prefix makes it longer */
	__u8 bytecode_lengths[256]; /* 0: not known */
};

#define DP_V8_LENGTH(lengths) ((lengths)&0xf)
#define DP_V8_N_SCALED(lengths) ((lengths) >> 4)

#endif
