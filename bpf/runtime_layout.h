/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_RUNTIME_LAYOUT_H
#define DP_BPF_RUNTIME_LAYOUT_H

/*
 * Runtimes of languages: where an image says that one keeps its frames, and the frames of a sample
 * as the kernel sends them. Part of abi.h.
 */

/*
 * What a binary contains.
 *
 * X(enumerator, word)
 */
#define DP_RUNTIMES(X)                                                                             \
	X(NONE, "none")                                                                            \
	/* CPython: struct dp_python */                                                            \
	X(PYTHON, "python")                                                                        \
	/* HotSpot, of Java and others: struct dp_hotspot */                                       \
	X(HOTSPOT, "hotspot")                                                                      \
	/* V8, of JavaScript: struct dp_v8 */                                                      \
	X(V8, "v8")                                                                                \
	/* Ruby (MRI), and PHP: struct dp_chain */                                                 \
	X(RUBY, "ruby")                                                                            \
	X(PHP, "php")                                                                              \
	/* Perl: struct dp_perl */                                                                 \
	X(PERL, "perl")

#define X(name, word) DP_RUNTIME_##name,
enum dp_runtime_kind { DP_RUNTIMES(X) DP_N_RUNTIMES };
#undef X

/* With this bit, a kind whose version is not known: nothing follows, and native frames are all. */
#define DP_RUNTIME_UNKNOWN (1U << 8)

static inline int runtime_is_known(__u32 kind)
{
	return kind != DP_RUNTIME_NONE && !(kind & DP_RUNTIME_UNKNOWN);
}

/*
 * How the reading of a runtime's frames ended. Append-only, because other programs read the
 * numbers.
 *
 * X(enumerator, word, sentence)
 */
#define DP_RUNTIME_OUTCOMES(X)                                                                     \
	X(COMPLETE, "complete", "the list of frames was read to its end")                          \
	X(NO_THREAD, "no_thread", "the runtime does not know the thread")                          \
	X(READ_FAULT, "read_fault", "a part of the runtime's memory could not be read")            \
	X(MANY_THREADS, "many_threads", "the runtime has more threads than are searched")          \
	X(MANY_FRAMES, "many_frames",                                                              \
	  "the list has more frames than a sample can have, or takes too long to read")

#define X(name, word, sentence) DP_RUNTIME_##name,
enum dp_runtime_outcome { DP_RUNTIME_OUTCOMES(X) DP_N_RUNTIME_OUTCOMES };
#undef X

/* A power of two. */
#define DP_MAX_RUNTIME_FRAMES 1024
/* At most so many threads and interpreters are looked at for the sampled one. */
#define DP_MAX_RUNTIME_THREADS 512

/*
 * A frame of a runtime: its code, the position in it, and a tag that other code at the same address
 * has not. For Python: the code object; the instruction pointer or number of the last instruction
 * (struct dp_python), with a bit for the first frame of its evaluation loop; and python_tag(). For
 * Chains: the members of struct dp_chain, with that bit, and chain_tag(); of a function in C, the
 * number of its name, DP_RUNTIME_C, and where the names are. HotSpot, V8 and Perl: see their
 * layouts. Of the first two, a frame stands for a native one, whose number is in its position.
 */
struct dp_runtime_frame {
	__u64 code;
	__u64 position;
	__u64 tag;
};

/*
 * With this bit, the kind of the first of two runtimes in a process. The last frame says where the
 * other's are, which are between both: its code is the number of the first one's, its position the
 * kind and, in the next byte, the outcome.
 */
#define DP_RUNTIME_TWO 0x80
#define DP_RUNTIME_OTHER_OUTCOME_SHIFT 8

#define DP_RUNTIME_ENTRY (1ULL << 63)
#define DP_RUNTIME_C (1ULL << 62) /* only of chains */
#define DP_NOTE_NUMBER_SHIFT 32
#define DP_NOTE_NUMBER(position) ((position) >> DP_NOTE_NUMBER_SHIFT & (DP_MAX_FRAMES - 1))

/*
 * The runtime's frames of a sample, leaf first.
 *
 *   +-------------+-------------+------+-------+------------+
 *   | part                      | kind |outcome| n          |
 *   +-------------+-------------+------+-------+------------+
 *   | code                                                  |
 *   | position                                              |  n times
 *   | tag                                                   |
 *   +-------------------------------------------------------+
 */
struct dp_runtime {
	struct dp_part part; /* DP_RECORD_RUNTIME */
	__u8 kind;           /* enum dp_runtime_kind, or with DP_RUNTIME_TWO */
	__u8 outcome;        /* enum dp_runtime_outcome */
	__u16 n;
};

/* Which frames enter an evaluation loop, so that a native frame of it belongs to them. */
enum dp_python_entry {
	DP_PYTHON_ENTRY_EACH, /* every frame has a loop of its own: up to 3.10 */
	DP_PYTHON_ENTRY_FLAG, /* those in which a byte is not 0: 3.11 */
	DP_PYTHON_ENTRY_LINK, /* those in front of a frame that is none: its byte has `link` or more */
	DP_N_PYTHON_ENTRIES,
};

/* The most bytes of a frame, and of a code object, that are needed; powers of two. */
#define DP_PYTHON_FRAME_SIZE 128
#define DP_PYTHON_CODE_READ 128

/* In the low bits, a reference to a code object may have flags (from 3.14 on). */
#define DP_PYTHON_REFERENCE_FLAGS 7ULL
/* What a list of copies begins with: their number. */
#define DP_PYTHON_COPIES_HEAD 8

/*
 * Where CPython keeps its threads and their frames: offsets of members in the structures of its
 * version.
 */
struct dp_python {
	__u64 runtime;          /* address of _PyRuntime in the file's own address space */
	__u32 interpreters;     /* in _PyRuntime: the first interpreter */
	__u32 next_interpreter; /* in an interpreter; and its first thread */
	__u32 first_thread;
	__u32 next_thread; /* in a thread's state; its pthread_self(), and its frame */
	__u32 thread_id;
	__u32 thread_frame;
	__u32 c_frame; /* not 0: thread_frame leads to a structure whose member at c_frame - 1 does */
	__u32 frame_size; /* of a frame, as far as it is read; its members: */
	__u32 previous;
	__u32 code;
	__u32 position;
	__u32 position_size; /* 4 or 8 */
	__u32 entry;         /* a byte, see enum dp_python_entry */
	__u8 entry_kind;
	__u8 link;
	__u16 zero;
	__u32 name;       /* in a code object: its name, */
	__u32 line;       /* and its first line */
	__u32 hash;       /* in a string */
	__u32 c_previous; /* in the structure of c_frame: that of the loop that called this one */
	__u32 copies;     /* in a code object: a list of copies of its instructions, */
	__u32 copy;       /* and in a frame, which one its position is in (4 bytes); or both 0 */
	__u32 filename;   /* in a code object: its file's name */
	__u32 zero_too;
};

/* Tells apart code objects that follow each other at the same address. */
static inline __u64 python_tag(__u64 name_hash, __u32 first_line)
{
	return name_hash + first_line * 0x9e3779b97f4a7c15ULL;
}

/*
 * Code of the runtime in its file: its evaluation loops, what stands between two of them, or (calls) what
 * native code begins one with; of Ruby, what calls functions in C.
 */
struct dp_runtime_range {
	__u64 start, end; /* end exclusive; the unused ones are empty */
	__u32 is_loop;
	__u32 calls;
};

#define DP_RUNTIME_RANGES 24

#include "bpf/chain_layout.h"
#include "bpf/perl_layout.h"

/* What user space needs besides, to name Python's frames: offsets of members, and sizes. */
struct dp_python_names {
	__u32 version;  /* major << 8 | minor */
	__u32 qualname; /* in a code object; 0: there is none, */
	__u32 filename;
	__u32 lines;        /* its line table, */
	__u32 instructions; /* and its first instruction, for positions that are addresses */
	__u32 string_size;  /* in a string: its number of characters, */
	__u32 string_state; /* its state (bit fields), */
	__u32 string_ascii; /* and the text of an ASCII one, */
	__u32 string_text;  /* and of another one */
	__u32 bytes_size;   /* in an object of bytes: their number, and they */
	__u32 bytes;
	__u32 string_kind; /* in the state: the first bit of its kind, which is followed by its flags */
	__u32 calls_each; /* instructions are functions, which a loop calls */
	__u32 zero;
};

/* An image's part for a runtime, by its kind. The kernel reads only the first one. */
struct dp_runtime_image {
	union {
		struct dp_python python;
		struct dp_chain chain;
		struct dp_v8 v8;
		struct dp_perl perl;
	};
	union {
		struct dp_python_names names;
		struct dp_ruby_names ruby;
		struct dp_php_names php;
		struct dp_v8_names v8_names;
		struct dp_perl_names perl_names;
	};
	struct dp_runtime_range ranges[DP_RUNTIME_RANGES];
};

DP_ASSERT(sizeof(struct dp_runtime) == DP_CELL_SIZE, "frames follow the head");
DP_ASSERT(sizeof(struct dp_runtime_image) % DP_CELL_SIZE == 0, "an image consists of cells");
DP_ASSERT(sizeof(struct dp_runtime_image) <= DP_SEGMENT_SLACK, "any record fits behind any cell");
DP_ASSERT((DP_MAX_RUNTIME_FRAMES & (DP_MAX_RUNTIME_FRAMES - 1)) == 0, "a mask bounds an index");
DP_ASSERT(sizeof(struct dp_runtime) + DP_MAX_RUNTIME_FRAMES * sizeof(struct dp_runtime_frame) <
		  1 << 16,
	  "a part's size has room");

#endif
