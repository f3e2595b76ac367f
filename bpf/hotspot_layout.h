/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_HOTSPOT_LAYOUT_H
#define DP_BPF_HOTSPOT_LAYOUT_H

/*
 * What the walker needs to leave code of a HotSpot JVM: where its code is, and where the headers of
 * its pieces of code have what. Part of abi.h.
 */

/* HotSpot has three heaps at most, or four: CodeBlobType. */
#define DP_HOTSPOT_HEAPS 4

/* As much of a CodeBlob as is read at once; a power of two. */
#define DP_HOTSPOT_BLOB_SIZE 128

/*
 * A heap of code. It consists of segments, and its map has a byte for each: 255 in a free block, else
 * how far the block's first segment may be in front of it; 0 in that one.
 */
struct dp_hotspot_heap {
	__u64 start, end; /* end exclusive */
	__u64 map;        /* address of the segment map */
};

/*
 * A struct dp_runtime_frame of HotSpot stands for a native one, and has its number. Compiled code: the
 * address of its blob, the position in it, and for a method its compile id. Interpreted: the Method,
 * the distance of its bytecode from its ConstMethod or 0, and that; user space puts the number of the
 * bytecode there, plus 1.
 */
#define DP_HOTSPOT_INTERPRETED (1ULL << 62)
/* A method has less than 64 KiB of bytecodes; what is in front of them is smaller. */
#define DP_HOTSPOT_BYTECODES (1U << 17)
/* Set in user space: the position is no return address. */
#define DP_HOTSPOT_EXACT (1ULL << 61)

struct dp_hotspot {
	struct dp_hotspot_heap heaps[DP_HOTSPOT_HEAPS]; /* the unused ones are empty */
	/* The interpreter's code; and where the stub by which native code calls Java goes on */
	__u64 interpreter_start, interpreter_end;
	__u64 call_stub_return;
	/* The stubs that bring frames of a virtual thread back from the heap; end exclusive */
	__u64 thaw_start, thaw_end;
	/* Those in the heap. 0: they are not read; else where the JVM keeps what the outermost returns to */
	__u64 return_pc;
	__u64 oop_base; /* references of 4 bytes are shifted, and relative to that */
	__u32 oop_shift;
	__u32 oop_class;    /* in an object: its class, in 4 bytes, */
	__u32 chunk_class;  /* and that of a StackChunk. In that: */
	__u32 chunk_stack;  /* where its frames are, */
	__u32 chunk_sp;     /* how many words are in front of the innermost one (4 bytes), */
	__u32 chunk_end;    /* that number if it has none, */
	__u32 chunk_parent; /* and the chunk with those further out */
	__u32 tail;         /* in a Continuation: its innermost chunk */
	__u32 segment_bits; /* a segment has 1 << segment_bits bytes */
	__u32 header_size;  /* of a block, in front of its blob */
	/* In a blob */
	__u32 frame_size; /* size of its frame, in words */
	__u32 frame_complete; /* offset in its code from which the frame is complete; negative: not known */
	__u32 complete_size;  /* of that number: 2 or 4 bytes */
	__u32 code_begin;     /* where its code begins */
	__u32 code_is_offset; /* that is 4 bytes, from the blob's start; 0: it is an address */
	__u32 method_id; /* of a method: tells apart those that follow each other at an address */
	__u32 method_const; /* in a Method: its ConstMethod */
	/* In an interpreter's frame, in bytes from fp */
	__s32 frame_method;   /* its Method */
	__s32 frame_bytecode; /* the address of its bytecode */
	__s32 sender_sp;      /* the caller's stack pointer */
	/*
	 * How the name of an object's class is found: the word at class_at in the object is shifted left by
	 * class_lift, right by class_drop and left by class_up; with class_base, it is the Klass's address. That has
	 * at class_name its name's, a Symbol with a length of 2 bytes, and text.
	 */
	__u64 class_base;
	__u32 class_at;
	__u32 class_lift, class_drop, class_up;
	__u32 class_name;
	__u32 symbol_length, symbol_text;
	__u32 has_classes; /* 0: nothing of this is known */
};

DP_ASSERT(sizeof(struct dp_hotspot) % DP_CELL_SIZE == 0, "dp_hotspot consists of cells");
DP_ASSERT(sizeof(struct dp_hotspot) <= DP_SEGMENT_SLACK, "any record fits behind any cell");

#endif
