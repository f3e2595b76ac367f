/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_VALUE_LAYOUT_H
#define DP_BPF_VALUE_LAYOUT_H

/*
 * Values that a probe reads where it hits, such as the arguments of a call: how to read them, and
 * what the kernel sends. Part of abi.h, which has the registers and the sample.
 */

#define DP_MAX_ARGUMENTS 16 /* a power of two */
#define DP_MAX_DEREFS 8
#define DP_TEXT_CUT 255 /* bytes of a text that was cut; complete ones have no more */

/* Places of one event may have their arguments in different registers, each in a list. */
#define DP_MAX_ARGUMENT_LISTS 256

enum dp_argument_base {
	DP_BASE_REGISTER,
	DP_BASE_CONSTANT, /* 0 */
	DP_BASE_TIME,     /* nanoseconds since the call whose return is probed */
	DP_BASE_RECORD,   /* the address of the record of the kernel's event (fields.bpf.h) */
	DP_BASE_LOCATED,  /* where the 16 bits at derefs[0] in the record say, from its start */
	DP_BASE_SYSCALL,  /* as DP_BASE_RECORD, but the pointers in it lead into the program */
	DP_N_BASES,
};

/* What an argument is beside a number. */
enum dp_text {
	DP_TEXT_NONE,
	DP_TEXT_ENDED,  /* the address of bytes of which a zero is the last */
	DP_TEXT_SIZED,  /* the address of as many as the argument in front of it says: */
	DP_TEXT_LIBCXX, /* the address of a std::string of libc++ */
	DP_TEXT_LENGTH, /* the length of the text behind it, `size` bytes; it has no word */
};

/* A cookie with this bit: the place is where a call begins whose return is probed. */
#define DP_COOKIE_BEGINS (1ULL << 32)

/* The most calls whose begin is known at the same time; the oldest are forgotten. */
#define DP_MAX_CALLS 16384

/*
 * A value is computed from its base: for each offset, the word at value + offset replaces it, then
 * `add` is added. Of a text (is_text is an enum dp_text), the result is the address.
 */
struct dp_argument {
	__u8 base; /* enum dp_argument_base */
	__u8 reg;  /* enum dp_register */
	__u8 n_derefs;
	__u8 size; /* of what the last one reads: 1, 2, 4 or 8 bytes; the others read 8 */
	__u8 is_text;
	__u8 index; /* enum dp_register + 1, is added to the base; 0: none */
	__u8 shift; /* the index is shifted left by so many bits */
	__u8 is_what; /* the result is the address of what is thrown, of which a text is wanted: enum dp_thrown */
	__s64 add;
	__s32 derefs[DP_MAX_DEREFS];
};

/* Any larger number: an object of Python; that is where in its str the text begins. */
enum dp_thrown {
	DP_THROWN_NONE,
	DP_THROWN_CXX, /* an object of C++, and its what() */
	DP_THROWN_JAVA, /* not the object, but what leads to one of HotSpot, whose class's name is wanted */
};

struct dp_arguments {
	__u32 n;
	__u32 zero;
	struct dp_argument of[DP_MAX_ARGUMENTS];
};

/*
 * How the message of a standard exception is found (values.bpf.h). Of those before DP_WHAT_FIXED,
 * the object has it in its second word; of the others, what() returns the same for each.
 *
 * X(enumerator, mangled name of the class, message)
 */
#define DP_WHATS(X)                                                                                \
	X(RUNTIME_ERROR, "St13runtime_error", NULL)                                                \
	X(LOGIC_ERROR, "St11logic_error", NULL)                                                    \
	X(FUTURE_ERROR, "St12future_error", NULL)                                                  \
	X(IOS_FAILURE, "NSt8ios_base7failureB5cxx11E", NULL)                                       \
	X(EXCEPTION, "St9exception", "std::exception")                                             \
	X(BAD_ALLOC, "St9bad_alloc", "std::bad_alloc")                                             \
	X(BAD_CAST, "St8bad_cast", "std::bad_cast")                                                \
	X(BAD_TYPEID, "St10bad_typeid", "std::bad_typeid")                                         \
	X(BAD_EXCEPTION, "St13bad_exception", "std::bad_exception")                                \
	X(BAD_FUNCTION_CALL, "St17bad_function_call", "bad_function_call")                         \
	X(BAD_WEAK_PTR, "St12bad_weak_ptr", "bad_weak_ptr")                                        \
	X(BAD_ARRAY_NEW_LENGTH, "St20bad_array_new_length", "std::bad_array_new_length")           \
	X(BAD_ARRAY_NEW_LENGTH_LLVM, "St20bad_array_new_length", "bad_array_new_length")

#define X(name, class, message) DP_WHAT_##name,
enum dp_what { DP_WHATS(X) DP_N_WHATS, DP_WHAT_FIXED = DP_WHAT_EXCEPTION };
#undef X

/* Of an exception, in its list of arguments: its type, by the name in its std::type_info. */
#define DP_ARGUMENT_TYPE 0

#define DP_MAX_WHATS 16 /* a power of two */

/*
 * Of a list of arguments: where the classes' vtables have what(), from the probe's place; 0:
 * nowhere.
 */
struct dp_whats {
	__s64 at[DP_MAX_WHATS];
};

/*
 * The values of a sample: a word for each argument of the list that is no length. That of a text is its
 * size, and its bytes follow in as many words as they need. What could not be read is 0, or of a text its
 * address, and none of the texts. Sets have a bit for each argument.
 *
 *   +-------------+-------------+-------------+-------------+
 *   | part                      | list        | n           |
 *   | texts       | cut         | unread      | is_unknown  |
 *   +-------------+-------------+-------------+-------------+
 *   | words                                                 |
 *   +-------------------------------------------------------+
 */
struct dp_values {
	struct dp_part part; /* DP_RECORD_VALUES, or DP_RECORD_THROWN */
	__u16 list;          /* the number of the list */
	__u16 n;
	__u16 texts;  /* which of them are texts */
	__u16 cut;    /* texts that had no more room */
	__u16 unread; /* memory that is not there, a call without a begin */
	/*
	 * Of a call that labels the sample. 0: these are its values. 1: there may be a call, whose values are
	 * not known (n is 0). Else DP_CALL_GUESSED()
	 */
	__u16 is_unknown;
};

/*
 * They are the call's values if user space, which walks the stack (DP_SAMPLE_LATE), finds the innermost frame of
 * the probe's functions in the place with this id, at the CFA in the last cell.
 */
#define DP_CALL_GUESSED(id) ((__u16)((id) | 1U << 15))

/*
 * If calls of several probes may label a sample: their values. A struct dp_values follows for each of these
 * probes of which something is known, in the order of their numbers.
 */
struct dp_calls {
	struct dp_part part; /* DP_RECORD_CALLS */
	__u16 probes;        /* a bit for each */
	__u16 zero;
};

/*
 * The most cells of a sample's values. They have the room of the kernel's frames: a probe has none, and with an
 * event of the kernel, a walk has fewer frames (knobs.c).
 */
#define DP_VALUES_CELLS (DP_MAX_KERNEL_FRAMES - 1 - sizeof(struct dp_values) / DP_CELL_SIZE)

DP_ASSERT(DP_N_WHATS <= DP_MAX_WHATS, "each class has a place");
DP_ASSERT(sizeof(struct dp_argument) == 48, "dp_argument is six words");
DP_ASSERT(sizeof(struct dp_values) == 2 * DP_CELL_SIZE, "values follow their head");
DP_ASSERT(sizeof(struct dp_calls) == DP_CELL_SIZE, "values follow their head");
DP_ASSERT(DP_MAX_ARGUMENTS <= 16, "a set has room");
DP_ASSERT((DP_MAX_ARGUMENTS & (DP_MAX_ARGUMENTS - 1)) == 0, "a mask bounds an argument's number");

#endif
