/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_ABI_H
#define DP_BPF_ABI_H

/*
 * Everything both sides of the running system share: the limits, the outcomes,
 * the tables that user space writes and the kernel reads, the records that the
 * kernel writes and user space reads. docs/FORMAT.md draws them. All fields
 * have the machine's byte order and lie on their natural alignment.
 */

#ifdef __bpf__
#include <linux/bpf.h>
#define DP_ASSERT(cond, text) _Static_assert(cond, text)
#else
#include <assert.h>
#include <linux/types.h>
#include <stddef.h>
#define DP_ASSERT(cond, text) static_assert(cond, text)
#endif

/* Frames of one stack. A power of two, so that the walker can bound an index by a mask. */
#define DP_MAX_FRAMES 2048

/* Frames of one kernel stack: PERF_MAX_STACK_DEPTH, include/uapi/linux/perf_event.h. */
#define DP_MAX_KERNEL_FRAMES 127

/* TASK_COMM_LEN, include/linux/sched.h. */
#define DP_COMM_SIZE 16

/*
 * The user stack that a sample which cannot be walked yet takes along: up to
 * 1 MiB, in chunks, so that the kernel needs little room to copy it; and from
 * a signal's alternate stack, the last 128 KiB of the normal one too.
 */
#define DP_USER_PAGE_SIZE 4096
#define DP_CHUNK_PAGES 4
#define DP_CHUNK_SIZE (DP_CHUNK_PAGES * DP_USER_PAGE_SIZE)
#define DP_MAX_CHUNKS 64
#define DP_NORMAL_STACK_PAGES 32

/* Rows of an image are grouped by pages of its address space. */
#define DP_PAGE_BITS 12
#define DP_PAGE_SIZE (1 << DP_PAGE_BITS)

/*
 * The pool: the memory in which user space lays out tables and mappings. It is
 * addressed in cells of 8 bytes and made of segments, each the only value of an
 * mmapable BPF array. A record never lies across two segments. Cell 0 is never
 * given out and means "none".
 *
 * A segment stays under KMALLOC_MAX_SIZE (4 MiB), which older kernels allow a
 * map value at most; the slack lets the verifier see that a whole record, or the
 * rows of a whole page, fit behind any cell.
 */
#define DP_CELL_SIZE 8
#define DP_SEGMENT_BITS 21
#define DP_SEGMENT_SIZE (1 << DP_SEGMENT_BITS)
#define DP_SEGMENT_CELLS (DP_SEGMENT_SIZE / DP_CELL_SIZE)
#define DP_SEGMENT_SLACK (4 * DP_PAGE_SIZE)
#define DP_MAX_SEGMENTS 1024

/* A rule number is 16 bits wide; number 0 (DP_RULE_NONE) says that no rule exists. */
#define DP_MAX_RULES 65535
#define DP_RULE_NONE 0

/* Executable mappings of one process: what fits into a segment. */
#define DP_MAX_MAPPINGS 50000

/* Depth of the searches above: a page has at most DP_PAGE_SIZE rows. */
#define DP_ROW_SEARCH_STEPS 12
#define DP_MAPPING_SEARCH_STEPS 16

DP_ASSERT(1 << DP_ROW_SEARCH_STEPS >= DP_PAGE_SIZE, "every row of a page is found");
DP_ASSERT(1 << DP_MAPPING_SEARCH_STEPS >= DP_MAX_MAPPINGS, "every mapping is found");
DP_ASSERT((DP_MAX_FRAMES & (DP_MAX_FRAMES - 1)) == 0, "a mask bounds a frame's index");

/*
 * How a walk ended. Every sample has exactly one outcome. The list is
 * append-only: the numbers are on disk and on the wire.
 *
 *   X(enumerator, word, sentence)
 */
#define DP_OUTCOMES(X)                                                                             \
	X(COMPLETE, "complete",                                                                    \
	  "the walk reached a frame whose return address is undefined: the proven root")           \
	X(NO_PROCESS, "no_process", "the process's mappings were not known yet")                   \
	X(NO_MAPPING, "no_mapping", "an address lies in no known executable mapping")              \
	X(NO_TABLE, "no_table",                                                                    \
	  "an address lies in code without any unwind information, such as JIT code")              \
	X(NO_RULE, "no_rule", "the unwind information has a gap at this address")                  \
	X(UNSUPPORTED_RULE, "unsupported_rule",                                                    \
	  "the rule at this address cannot be expressed in the tables")                            \
	X(REGISTER_LOST, "register_lost",                                                          \
	  "the rule needs a register whose value in this frame is not known")                      \
	X(STACK_DIRECTION, "stack_direction", "the next frame would not lie above this one")       \
	X(READ_FAULT, "read_fault", "stack memory could not be read")                              \
	X(DEPTH_LIMIT, "depth_limit", "the stack has more frames than --max-stack allows")         \
	X(NULL_RETURN, "null_return", "a return address is zero")                                  \
	X(BAD_FRAME_POINTER, "bad_frame_pointer",                                                  \
	  "the frame pointer does not lead to a plausible frame")                                  \
	X(CHAIN_END, "chain_end",                                                                  \
	  "the chain of frame pointers ended; that this is the root is not proven")                \
	X(NO_USER_STACK, "no_user_stack",                                                          \
	  "the task is a thread of the kernel, is exiting, or is executing a new program")         \
	X(COMPAT_MODE, "compat_mode", "the task runs 32-bit code")                                 \
	X(TABLES_CHANGED, "tables_changed", "the process's tables were replaced during the walk")  \
	X(STACK_COPY_END, "stack_copy_end",                                                        \
	  "the part of the stack that the sample took along ended")

/* DP_WALKING: not ended yet. No sample leaves the kernel with it. */
#define X(name, word, sentence) DP_##name,
enum dp_outcome { DP_WALKING, DP_OUTCOMES(X) DP_N_OUTCOMES };
#undef X

/* How a frame was found. Append-only, as above. */
#define DP_METHODS(X)                                                                              \
	X(LEAF, "leaf", "the program counter itself")                                              \
	X(TABLE, "table", "return address found through an unwind table")                          \
	X(FRAME_POINTER, "frame_pointer", "return address found through the frame pointer")        \
	X(SIGNAL, "signal", "interrupted by a signal; the address is exact")

#define X(name, word, sentence) DP_METHOD_##name,
enum dp_method { DP_METHODS(X) DP_N_METHODS };
#undef X

/* A frame: how it was found in the top byte, the address below. */
#define DP_METHOD_SHIFT 56
#define DP_FRAME_ADDRESS(frame) ((frame) & ((1ULL << DP_METHOD_SHIFT) - 1))
#define DP_FRAME_METHOD(frame) ((frame) >> DP_METHOD_SHIFT)

/* --unwind */
enum dp_unwind {
	DP_UNWIND_AUTO,  /* tables, frame pointers where there is no rule */
	DP_UNWIND_DWARF, /* tables only */
	DP_UNWIND_FP,    /* frame pointers only */
};

/* DWARF register numbers, x86-64 psABI figure 3.36. */
enum dp_register {
	DP_RAX,
	DP_RDX,
	DP_RCX,
	DP_RBX,
	DP_RSI,
	DP_RDI,
	DP_RBP,
	DP_RSP,
	DP_R8,
	DP_R9,
	DP_R10,
	DP_R11,
	DP_R12,
	DP_R13,
	DP_R14,
	DP_R15,
	DP_RIP,
	DP_N_REGISTERS,
};

struct dp_regs {
	__u64 reg[DP_N_REGISTERS]; /* by enum dp_register */
};

/* Where the caller's value of a register is. */
enum dp_where_kind {
	DP_WHERE_SAME,      /* unchanged */
	DP_WHERE_UNDEFINED, /* nowhere; for the return address: there is no caller */
	DP_WHERE_CFA,       /* *(CFA + offset) */
	DP_WHERE_MEMORY,    /* *(reg + offset) */
	DP_WHERE_REGISTER,  /* in reg */
	DP_WHERE_UNKNOWN,   /* somewhere the tables cannot say */
};

struct dp_where {
	__u8 kind; /* enum dp_where_kind */
	__u8 reg;  /* enum dp_register */
	__u16 zero;
	__s32 offset;
};

/* How the canonical frame address follows from this frame's registers. */
enum dp_cfa_kind {
	DP_CFA_NONE,     /* no rule: the walk ends with outcome `why`, or tries the frame pointer */
	DP_CFA_REGISTER, /* reg + offset */
	DP_CFA_MEMORY,   /* *(reg + offset) + add */
	DP_CFA_PLT,      /* rsp + 8 + ((rip & 15) >= add ? 8 : 0) */
	DP_CFA_SIGNAL,   /* all registers are in a struct sigcontext at rsp + offset */
};

/*
 * One rule: how to get from a frame to its caller. Images hold each distinct
 * rule once.
 */
struct dp_rule {
	__u8 cfa;     /* enum dp_cfa_kind */
	__u8 cfa_reg; /* enum dp_register */
	__u16 why;    /* enum dp_outcome, for DP_CFA_NONE */
	__s32 cfa_offset;
	__s32 cfa_add;
	__u32 saves; /* number of a dp_saves, 0: this frame saved none of those registers */
	struct dp_where ra;
	struct dp_where rbp;
};

/* The callee-saved registers other than rbp, in the order of struct dp_saves. */
#define DP_SAVED_REGISTERS(X) X(RBX, rbx) X(R12, r12) X(R13, r13) X(R14, r14) X(R15, r15)

#define X(name, word) DP_SAVED_##name,
enum dp_saved { DP_SAVED_REGISTERS(X) DP_N_SAVED };
#undef X

/*
 * Where a frame saved the callee-saved registers. Hardly any frame needs them;
 * the walker looks only when one does.
 */
struct dp_saves {
	struct dp_where where[DP_N_SAVED];
};

/* From `pc` on (its low DP_PAGE_BITS bits), up to the next row, rule number `rule` holds. */
struct dwarf_delta {
	__u16 pc;
	__u16 rule;
};

/* One page of an image's address space. */
struct dp_page {
	__u32 rows; /* cell of its rows, counted from the image's start */
	__u16 n_rows;
	__u16 rule; /* in force at the page's start */
};

/*
 * The image of one binary: header, saves, rules, pages, rows. It holds no
 * pointers, only distances in cells from its own start, so that it can be
 * copied anywhere. An image that is larger than a segment starts at a
 * segment's start; the builder keeps the rows of a page together.
 */
struct dp_image {
	__u64 base; /* address of the first page, in the file's own address space */
	__u32 n_cells;
	__u32 n_pages;
	__u32 n_rules;
	__u32 saves; /* struct dp_saves[], number 0 left out */
	__u32 rules; /* struct dp_rule[] */
	__u32 pages; /* struct dp_page[] */
};

/*
 * One executable mapping. A process may unmap a binary and map another one at
 * the same place; the kernel tells user space, but the new code runs before
 * the tables are changed. So a mapping carries a word of its binary that sets
 * it apart (of the build id, if it has one) and that the walker compares with
 * the process's memory before it trusts the table.
 */
struct dp_mapping {
	__u64 start, end; /* end exclusive */
	__u64 bias;       /* address in the process minus address in the file */
	__u32 image;      /* cell in the pool, 0: the mapping has no table */
	__u32 mark_below; /* where the word is: so many bytes below start; 0: no word */
	__u64 mark;       /* what it is */
};

/*
 * The executable mappings of one process at one time, sorted by start, not
 * overlapping. Never changed once the kernel can see it: a process whose
 * mappings change gets a new space with a new id, which also makes everything
 * remembered under the old id unreachable. The mappings come behind it.
 */
struct dp_space {
	__u64 id;
	__u32 pid; /* whose it is: tells a reader that the cell was given to another process */
	__u32 n_mappings;
	__u64 zero[2];
};

/*
 * Samples that can be in the making on one CPU at the same time. A program on
 * a CPU's perf event is never interrupted by another one (bpf_overflow_handler(),
 * kernel/events/core.c, counts them in bpf_prog_active); one on a uprobe can be
 * preempted by others.
 */
#define DP_CPU_LEVELS 1
#define DP_UPROBE_LEVELS 4

/* Samples that could not be sent, by CPU. */
struct dp_losses {
	__u64 full; /* the ring buffer had no room */
	__u64 busy; /* all levels were in use */
};

/* What a sample was taken for. */
enum dp_event {
	DP_EVENT_CPU,
	DP_EVENT_UPROBE,
};

enum dp_record_kind {
	DP_RECORD_SAMPLE = 1,
	DP_RECORD_CHUNK,
};

/*
 * One sample. Behind it come n_user frames and n_kernel kernel addresses, 8
 * bytes each, both with the leaf first.
 */
struct dp_sample {
	__u32 kind; /* DP_RECORD_SAMPLE */
	__u32 cpu;
	__u32 pid, tid;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 space;   /* id of the space the frames were found in, 0: none */
	__u16 n_user, n_kernel;
	__u8 outcome;  /* enum dp_outcome */
	__u8 event;    /* enum dp_event */
	__u8 n_chunks; /* DP_RECORD_CHUNK of this sample that came before it on the same ring */
	__u8 zero;
	__s32 kernel_error; /* negative errno where the kernel stack could not be taken */
	__u32 zero2;
	char comm[DP_COMM_SIZE];        /* of the process */
	char thread_name[DP_COMM_SIZE]; /* of the thread */
};

/*
 * Part of the stack of a sample that met code whose tables were not in the
 * kernel yet: user space finishes the walk. The chunks of a sample follow each
 * other on the ring, and in memory as long as they have DP_CHUNK_SIZE bytes; a
 * smaller one ends where the memory does. The bytes come behind it.
 */
struct dp_chunk {
	__u32 kind; /* DP_RECORD_CHUNK */
	__u32 tid;
	__u64 time_ns; /* of the sample */
	__u64 start;   /* address of the first byte */
	__u32 size;
	__u32 in_syscall;    /* the program counter is behind a system call's instruction */
	struct dp_regs regs; /* of the sample, the same in all of its chunks */
};

DP_ASSERT(sizeof(struct dp_where) == 8, "dp_where is one cell");
DP_ASSERT(sizeof(struct dp_rule) == 32, "dp_rule is four cells");
DP_ASSERT(sizeof(struct dp_saves) == 40, "dp_saves is five cells");
DP_ASSERT(sizeof(struct dp_saves) <= DP_SEGMENT_SLACK, "any record fits behind any cell");
DP_ASSERT(sizeof(struct dwarf_delta) == 4, "two rows to a cell");
DP_ASSERT(sizeof(struct dwarf_delta) * DP_PAGE_SIZE <= DP_SEGMENT_SLACK, "so do a page's rows");
DP_ASSERT(sizeof(struct dp_page) == 8, "dp_page is one cell");
DP_ASSERT(sizeof(struct dp_image) == 32, "dp_image is four cells");
DP_ASSERT(sizeof(struct dp_mapping) == 40, "dp_mapping is five cells");
DP_ASSERT(sizeof(struct dp_space) == 32, "dp_space is four cells");
DP_ASSERT(sizeof(struct dp_space) + DP_MAX_MAPPINGS * sizeof(struct dp_mapping) <= DP_SEGMENT_SIZE,
	  "a space lies in one segment");
DP_ASSERT(sizeof(struct dp_sample) == 80, "frames follow the sample's header");
DP_ASSERT(sizeof(struct dp_chunk) == 168, "bytes follow the chunk's header");
DP_ASSERT(DP_MAX_CHUNKS <= 255, "n_chunks can count them");

#endif
