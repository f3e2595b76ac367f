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

#include "bpf/arch.h"

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
#define DP_CHUNK_PAGES 4
#define DP_CHUNK_SIZE (DP_CHUNK_PAGES * DP_USER_PAGE_SIZE)
#define DP_MAX_CHUNKS 64
#define DP_NORMAL_STACK_PAGES 32

/* A sample that is verified takes along 64 KiB: of an alternate stack, and of the normal one. */
#define DP_VERIFY_CHUNKS 4

/* And one of --unwind copy. */
#define DP_COPY_CHUNKS 4

/*
 * The pool: the memory in which user space lays out tables and mappings. It is
 * addressed in cells of 8 bytes and made of segments, each the only value of an
 * mmapable BPF array. A record never lies across two segments. The first cells
 * are never given out; their numbers say why there is none (enum dp_cell).
 *
 * A segment stays under KMALLOC_MAX_SIZE (4 MiB), which older kernels allow a
 * map value at most; the slack lets the verifier see that a whole record fits
 * behind any cell.
 */
#define DP_CELL_SIZE 8
#define DP_SEGMENT_BITS 21
#define DP_SEGMENT_SIZE (1 << DP_SEGMENT_BITS)
#define DP_SEGMENT_CELLS (DP_SEGMENT_SIZE / DP_CELL_SIZE)
#define DP_SEGMENT_SLACK 4096
#define DP_MAX_SEGMENTS 1024

enum dp_cell {
	DP_CELL_NONE,
	DP_CELL_EVICTED, /* of an image: there is one, but no room for it */
	DP_CELL_UNKNOWN, /* of a snapshot: the process is sampled all the same */
	DP_FIRST_CELL = 4,
};

/* Number 0 (DP_RULE_NONE) says that no rule exists. */
#define DP_MAX_RULES (1 << 15)
#define DP_RULE_NONE 0

/* Executable mappings of one process: what fits into a segment. */
#define DP_MAX_MAPPINGS 50000

/* Depth of the search for one of them. */
#define DP_MAPPING_SEARCH_STEPS 16

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
	  "the task is a kernel thread or worker, is exiting, or is executing a new program")      \
	X(COMPAT_MODE, "compat_mode", "the task runs 32-bit code")                                 \
	X(TABLES_CHANGED, "tables_changed", "the process's tables were replaced during the walk")  \
	X(STACK_COPY_END, "stack_copy_end",                                                        \
	  "the part of the stack that the sample took along ended")                                \
	X(TABLE_EVICTED, "table_evicted",                                                          \
	  "a binary's table had to make room for others; --table-memory gives them more")          \
	X(KERNEL_ONLY, "kernel_only", "only the kernel's side was asked for")                      \
	X(NO_CALL, "no_call", "a return address is not behind a call: the stack is damaged")       \
	X(URETPROBE, "uretprobe",                                                                  \
	  "a uretprobe replaced a return address, or its trampoline is at work")                   \
	X(CODE_CHANGED, "code_changed",                                                            \
	  "the code in memory is not that of the file that was mapped there")                      \
	X(GOROUTINE_LEFT, "goroutine_left",                                                        \
	  "Go's scheduler has left the goroutine, and the root of its own stack is not known")

/* DP_WALKING: not ended yet. No sample leaves the kernel with it. */
#define X(name, word, sentence) DP_##name,
enum dp_outcome { DP_WALKING, DP_OUTCOMES(X) DP_N_OUTCOMES };
#undef X

/* Which sides of a stack are wanted. */
enum dp_sides {
	DP_SIDES_BOTH,
	DP_SIDES_USER,
	DP_SIDES_KERNEL,
};

/* How a frame was found. Append-only, as above. */
#define DP_METHODS(X)                                                                              \
	X(LEAF, "leaf", "the program counter itself")                                              \
	X(TABLE, "table", "return address found through an unwind table")                          \
	X(FRAME_POINTER, "frame_pointer", "return address found through the frame pointer")        \
	X(SIGNAL, "signal", "interrupted by a signal; the address is exact")                       \
	X(LANDING_PAD, "landing", "handler of an exception, about to run; the address is exact")

#define X(name, word, sentence) DP_METHOD_##name,
enum dp_method { DP_METHODS(X) DP_N_METHODS };
#undef X

/* The frame's address is behind a call, whose code is in front of it; else it is exact. */
#define DP_METHOD_IS_CALLER(method)                                                                \
	((method) == DP_METHOD_TABLE || (method) == DP_METHOD_FRAME_POINTER)

/* A frame: how it was found in the top byte, the address below. */
#define DP_METHOD_SHIFT 56
#define DP_FRAME_ADDRESS(frame) ((frame) & ((1ULL << DP_METHOD_SHIFT) - 1))
#define DP_FRAME_METHOD(frame) ((frame) >> DP_METHOD_SHIFT)

/* --unwind */
enum dp_unwind {
	DP_UNWIND_AUTO,  /* tables, frame pointers where there is no rule */
	DP_UNWIND_DWARF, /* tables only */
	DP_UNWIND_FP,    /* frame pointers only */
	DP_UNWIND_COPY,  /* as auto, but in user space, from a copy of the stack */
};

/*
 * What else a program may push: the base of a thread's own data, what is to be added to an address
 * in the frame's file to have that in the process, and where the walk comes from.
 */
enum dp_value_register {
	DP_THREAD_BASE = DP_N_REGISTERS,
	DP_BIAS,
	DP_LEFT_SP, /* sp where the walk went to another stack last; 0: it has not */
	DP_N_VALUE_REGISTERS,
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

	/* By the program at offset, which starts with the CFA; not in a dp_saves */
	DP_WHERE_EXPRESSION, /* *(its value) */
	DP_WHERE_VALUE,      /* its value */
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
	DP_CFA_PLT,      /* reg + offset + DP_PLT_CFA(pc, add) */
	DP_CFA_SIGNAL,   /* all registers are in a struct sigcontext at sp + offset */
	DP_CFA_EXPRESSION, /* the value of the program at offset */
	DP_CFA_SWITCH,     /* the same, on another stack; 0: not known */
	DP_CFA_CLONE,      /* sp + offset; if reg is 0, this is a new thread's root */
	DP_N_CFA,
};

/*
 * What the kinds above cannot say is a program: a cell that holds the number of
 * its instructions, and a struct dp_op for each. It runs on a stack of at most
 * DP_MAX_VALUES 64-bit values, and its result is the one on top. In an image a
 * rule has the program's distance from the first one, for the walker its cell.
 *
 *   X(enumerator, word)
 */
#define DP_MAX_OPS 32
#define DP_MAX_VALUES 8 /* a power of two */

#define DP_OPS(X)                                                                                  \
	/* push register arg + value; value; a copy of what is `arg` below the top */              \
	X(REGISTER, "register")                                                                    \
	X(CONSTANT, "constant")                                                                    \
	X(PICK, "pick")                                                                            \
	/* the one on top goes; changes places with the next one; becomes the third one */         \
	X(DROP, "drop")                                                                            \
	X(SWAP, "swap")                                                                            \
	X(ROT, "rot")                                                                              \
	/* replace the one on top, x: by the `arg` bytes at x, by x + value, |x|, -x, ~x */        \
	X(DEREF, "deref")                                                                          \
	X(ADD_CONSTANT, "plus_uconst")                                                             \
	X(ABS, "abs")                                                                              \
	X(NEG, "neg")                                                                              \
	X(NOT, "not")                                                                              \
	/* replace the two on top; shifts by 64 and more leave no bit */                           \
	X(ADD, "plus")                                                                             \
	X(SUB, "minus")                                                                            \
	X(MUL, "mul")                                                                              \
	X(AND, "and")                                                                              \
	X(OR, "or")                                                                                \
	X(XOR, "xor")                                                                              \
	X(SHL, "shl")                                                                              \
	X(SHR, "shr")                                                                              \
	X(SHRA, "shra")                                                                            \
	/* 1 or 0, of signed values */                                                             \
	X(EQ, "eq")                                                                                \
	X(GE, "ge")                                                                                \
	X(GT, "gt")                                                                                \
	X(LE, "le")                                                                                \
	X(LT, "lt")                                                                                \
	X(NE, "ne")

#define X(name, word) DP_OP_##name,
enum dp_opcode { DP_OPS(X) DP_N_OPS };
#undef X

struct dp_op {
	__u8 code; /* enum dp_opcode */
	__u8 arg;
	__u16 zero;
	__s32 value;
};

/* Does a frame return to what has not called it? There an address is exact, not behind a call. */
enum dp_lands {
	DP_LANDS_NOT,
	DP_LANDS_MAYBE, /* rule_lands(): if no call is in front of it */
	DP_LANDS,
	DP_N_LANDS,
};

/* One rule: how to get from a frame to its caller, in full. */
struct dp_rule {
	__u8 cfa;     /* enum dp_cfa_kind */
	__u8 cfa_reg; /* enum dp_register */
	__u8 why;     /* enum dp_outcome, for DP_CFA_NONE */
	__u8 lands;   /* enum dp_lands */
	__s32 cfa_offset;
	__s32 cfa_add;
	__u32 saves; /* the other callee-saved registers: see DP_SAVES_SLOTS */
	struct dp_where ra;
	struct dp_where fp;
	struct dp_where sp; /* DP_WHERE_SAME: it is the CFA, as nearly always */
};

/* The callee-saved registers other than fp: DP_SAVED_REGISTERS of the architecture. */
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

/*
 * dp_rule.saves: a slot of 6 bits for each register, 0 if it is unchanged, k if
 * it is at CFA - 8 k. With DP_SAVES_APART set, in an image the number of a
 * dp_saves, for the walker its cell.
 */
#define DP_SLOT_BITS 6
#define DP_MAX_SLOT ((1 << DP_SLOT_BITS) - 1)
#define DP_SAVES_APART 0x80000000U

#include "bpf/image_layout.h"

/*
 * One executable mapping. A process may unmap a binary and map another one at
 * the same place; the kernel tells user space, but the new code runs before
 * the tables are changed. So a mapping carries a word of its binary that sets
 * it apart (of the build id, if it has one) and that the walker compares with
 * the process's memory before it trusts the table.
 */
struct dp_mapping {
	__u64 start, end;   /* end exclusive */
	__u64 bias;         /* address in the process minus address in the file */
	__u32 image;        /* cell in the pool, or DP_CELL_NONE: no table, or DP_CELL_EVICTED */
	__u32 cookie_below; /* where the word is: so many bytes below start; 0: no word */
	__u64 cookie;       /* what it is */
};

/*
 * The executable mappings of one process at one time, sorted by start, not
 * overlapping. Never changed once the kernel can see it: a process whose
 * mappings change gets a new snapshot with a new id. The mappings come behind it.
 *
 * Snapshots whose mappings are the same byte for byte, as those of forked processes are,
 * have the same memory map, and no others do. Walks remember what they learn under its
 * number, which ends with the last snapshot that has it and is never given again.
 *
 * The id is the last word that is written, and the first one that is overwritten when
 * the snapshot is given up: as long as it is there, all the rest is this snapshot's.
 */
struct dp_snapshot {
	__u64 id;
	__u32 pid; /* whose it is: tells a reader that the cell was given to another process */
	__u32 n_mappings;
	__u64 memory_map;
	__u32 labels; /* number of the mapping whose image says where labels are, from 1; 0: none */
	__u32 zero;
};

/*
 * Samples that can be in the making on one CPU at the same time. A program on
 * a CPU's perf event is never interrupted by another one (bpf_overflow_handler(),
 * kernel/events/core.c, counts them in bpf_prog_active); one on a uprobe can be
 * preempted by others.
 */
#define DP_CPU_LEVELS 1
#define DP_UPROBE_LEVELS 4
#define DP_WALL_LEVELS 2 /* a switch of tasks, interrupted by a CPU's event */

/* Samples that could not be sent, by CPU. */
struct dp_losses {
	__u64 full;    /* the ring buffer had no room */
	__u64 busy;    /* all levels were in use */
	__u64 time_ns; /* of those, what blocked threads have waited */
};

/*
 * The kernel_error of a sample whose kernel stack is left out because the kernel
 * hides its addresses from who runs the profiler. Not an errno: these end at
 * MAX_ERRNO, include/linux/err.h.
 */
#define DP_KERNEL_HIDDEN (-4096)

/* What a sample was taken for. */
enum dp_event {
	DP_EVENT_CPU,
	DP_EVENT_UPROBE,
	DP_EVENT_OFF_CPU,
	DP_N_EVENTS,
};

/*
 * What a thread waits for while it is off the CPU, by the letters of proc(5).
 *
 *   X(enumerator, letter, sentence)
 */
#define DP_STATES(X)                                                                               \
	X(RUNNABLE, 'R', "it could run, but another thread has the CPU")                           \
	X(SLEEPING, 'S', "sleeping, until something happens or a signal comes")                    \
	X(DISK_SLEEP, 'D', "sleeping, and no signal ends it")                                      \
	X(STOPPED, 'T', "stopped by a signal")                                                     \
	X(TRACED, 't', "stopped by a debugger")                                                    \
	X(PARKED, 'P', "parked; only threads of the kernel are")                                   \
	X(IDLE, 'I', "without work; only threads of the kernel are")

#define X(name, letter, sentence) DP_STATE_##name,
enum dp_state { DP_STATES(X) DP_N_STATES };
#undef X

/* Threads that can be known to be blocked at the same time. */
#define DP_MAX_BLOCKED 65536

/* A thread that has blocked and is not back yet; in dp_blocked by its number. */
struct dp_blocked {
	__u64 since_ns; /* CLOCK_MONOTONIC, the time of its sample; 0: it is not blocked */
	__u64 ran_ns;   /* CPU time that it had used by then */
	__u32 tid;      /* as in the sample */
	__u32 weight;   /* of the sample */
	__u32 is_lost;  /* the sample could not be sent */
	__u32 zero;
};

/*
 * Processes whose samples are bounded apart, by their number's remainder; those
 * that differ by a multiple of this have one bound together.
 */
#define DP_RATE_SLOTS 16384

/* What a part of a record is. Append-only, as above. */
enum dp_record_type {
	DP_RECORD_SAMPLE = 1,
	DP_RECORD_CHUNK,
	DP_RECORD_OFF_CPU_END,
	DP_RECORD_NAMES,
	DP_RECORD_LABELS,
};

/*
 * What each part of a record begins with. A record of a ring is one part or several, one behind
 * the other: neither is lost without the others. Readers pass over types that they do not know.
 * New fields come behind the present ones; those that are no fixed number of words end the part,
 * and readers find them from its end.
 */
struct dp_part {
	__u16 type; /* enum dp_record_type */
	__u16 size; /* bytes up to the next part, with this; a multiple of 8 */
};

/* What user space has to do with a sample. */
enum dp_sample_flags {
	DP_SAMPLE_LATE = 1,   /* finish the walk: its tables were on their way */
	DP_SAMPLE_VERIFY = 2, /* walk it again by other means; without chunks there was no room */
	DP_SAMPLE_LABELS = 4, /* it has labels: struct dp_labels is the next part */
};

/*
 * One sample. It ends with n_user - n_same frames and n_kernel kernel addresses, 8
 * bytes each, both with the leaf first. The other n_same frames, the outermost ones, are
 * those of the last sample on the same ring that was made on the same level and has frames.
 * In front of it are its names, if they are others than before (struct dp_names).
 */
struct dp_sample {
	struct dp_part part; /* DP_RECORD_SAMPLE */
	__u16 cpu;
	__u16 n_same;
	__u32 pid, tid;
	__u64 time_ns;  /* CLOCK_MONOTONIC */
	__u64 snapshot; /* id of the snapshot the frames were found in, 0: none */
	__u16 n_user, n_kernel;
	__u8 outcome;  /* enum dp_outcome */
	__u8 event;    /* enum dp_event */
	__u8 n_chunks; /* DP_RECORD_CHUNK of this sample that came before it on the same ring */
	__u8 state;    /* enum dp_state, of DP_EVENT_OFF_CPU */
	__s16 kernel_error; /* of a kernel stack that is missing: negative errno, DP_KERNEL_HIDDEN */
	__u8 flags;         /* enum dp_sample_flags */
	__u8 level;         /* see DP_CPU_LEVELS */
	__u32 weight; /* how many events it stands for: 1 / the probability it was taken with */
	__u64 fault_address; /* DP_READ_FAULT: what could not be read */
};

#include "bpf/label_layout.h"

/*
 * The names of a sample, which comes behind them in the same record. A sample without names
 * has those of the last sample on the same ring that was made on the same level.
 */
struct dp_names {
	struct dp_part part; /* DP_RECORD_NAMES */
	__u32 zero;
	char comm[DP_COMM_SIZE];        /* of the process */
	char thread_name[DP_COMM_SIZE]; /* of the thread */
};

/*
 * Part of the stack of a sample that met code whose tables were not in the
 * kernel yet, so that user space finishes the walk; or of one that is verified.
 * The chunks of a sample follow each other on the ring, and in memory as long as
 * they have DP_CHUNK_SIZE bytes; a smaller one ends where the memory does, or a
 * page of it was never touched. It ends with the bytes.
 */
struct dp_chunk {
	struct dp_part part; /* DP_RECORD_CHUNK */
	__u32 tid;
	__u64 time_ns; /* of the sample */
	__u64 start;   /* address of the first byte */
	__u32 n_bytes;
	__u16 in_syscall;    /* the program counter is behind a system call's instruction */
	__u16 is_last;       /* no more of this stack is sent, whatever comes behind it */
	struct dp_regs regs; /* of the sample, the same in all of its chunks */
};

/*
 * The end of an off-CPU interval. Its sample was sent when the thread left the CPU, possibly
 * on another one's ring. None is sent of an interval that was too short or too long;
 * but when a thread ends, one that says that nothing of it will come any more.
 */
struct dp_off_cpu_end {
	struct dp_part part; /* DP_RECORD_OFF_CPU_END */
	__u32 tid;
	__u64 time_ns; /* of the sample; 0: the thread has ended */
	__u64 end_ns;  /* when the thread was back on a CPU, or ended */
};

enum dp_thread_flags {
	DP_THREAD_ON_CPU = 1,     /* it ran meanwhile: its registers are those of some time ago */
	DP_THREAD_IN_SYSCALL = 2, /* or had a signal delivered on its way out */
	DP_THREAD_NO_USER = 4,    /* it is a worker of the kernel, or in an execve() */
	DP_THREAD_COMPAT = 8,     /* it runs 32-bit code */
};

/*
 * A thread as `dwarfprof dump` finds it, with the user registers of when it entered the
 * kernel. If it is on no CPU, and is found so again with the same number of switches, it
 * has not run between. Behind it come n_kernel kernel addresses, the leaf first.
 */
struct dp_thread {
	__u32 pid, tid;
	__u64 switches; /* so often it has left a CPU */
	__u64 ran_ns;
	__u32 cpu; /* its last one */
	__u16 n_kernel;
	__s16 kernel_error; /* as in struct dp_sample */
	__u8 state;         /* enum dp_state */
	__u8 flags;         /* enum dp_thread_flags */
	__u8 zero[2];
	__u32 kernel_tid;               /* its number in the initial PID namespace */
	char comm[DP_COMM_SIZE];        /* of the process */
	char thread_name[DP_COMM_SIZE]; /* of the thread */
	__u64 thread_base;
	struct dp_regs regs;
};

DP_ASSERT(sizeof(struct dp_where) == 8, "dp_where is one cell");
DP_ASSERT(sizeof(struct dp_rule) == 40, "dp_rule is five cells");
DP_ASSERT(DP_N_OUTCOMES <= 256, "an outcome fits dp_rule.why");
DP_ASSERT(sizeof(struct dp_op) == 8, "dp_op is one cell");
DP_ASSERT((DP_MAX_VALUES & (DP_MAX_VALUES - 1)) == 0, "a mask bounds a value's index");
DP_ASSERT(sizeof(struct dp_saves) == 8 * DP_N_SAVED, "dp_saves is a cell for each register");
DP_ASSERT(sizeof(struct dp_saves) <= DP_SEGMENT_SLACK, "any record fits behind any cell");
DP_ASSERT(DP_N_SAVED *DP_SLOT_BITS < 31, "slots leave DP_SAVES_APART free");
DP_ASSERT(sizeof(struct dp_mapping) == 40, "dp_mapping is five cells");
DP_ASSERT(sizeof(struct dp_snapshot) == 32, "dp_snapshot is four cells");
DP_ASSERT(sizeof(struct dp_snapshot) + DP_MAX_MAPPINGS * sizeof(struct dp_mapping) <=
		  DP_SEGMENT_SIZE,
	  "a snapshot lies in one segment");
DP_ASSERT(sizeof(struct dp_part) == 4, "dp_part is half a word");
DP_ASSERT(sizeof(struct dp_sample) == 56, "frames follow the sample's header");
DP_ASSERT(sizeof(struct dp_names) == 40, "a sample follows its names");
DP_ASSERT(sizeof(struct dp_chunk) == 32 + sizeof(struct dp_regs),
	  "bytes follow the chunk's header");
DP_ASSERT(sizeof(struct dp_off_cpu_end) == 24, "an interval's end is three words");
DP_ASSERT(sizeof(struct dp_blocked) == 32, "dp_blocked is four words");
DP_ASSERT(sizeof(struct dp_thread) == 80 + sizeof(struct dp_regs),
	  "addresses follow the thread's header");
DP_ASSERT(DP_MAX_CPUS <= 1 << 16 && DP_MAX_FRAMES < 1 << 16, "a sample's numbers have room");
DP_ASSERT(DP_MAX_CHUNKS <= 255, "n_chunks can count them");
DP_ASSERT(sizeof(struct dp_sample) + 8 * (DP_MAX_FRAMES + DP_MAX_KERNEL_FRAMES) < 1 << 16 &&
		  sizeof(struct dp_chunk) + DP_CHUNK_SIZE < 1 << 16,
	  "a part's size has room");

#endif
