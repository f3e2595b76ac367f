/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_ABI_H
#define DP_BPF_ABI_H

/*
 * What the kernel programs and user space share: the limits, the outcomes, the tables that user
 * space writes and the kernel reads, and the records that the kernel writes and user space reads.
 * docs/FORMAT.md says how they belong together. All fields are in the machine's byte order and
 * naturally aligned.
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

/* The most frames of one stack. A power of two, so that the walker can bound an index by a mask. */
#define DP_MAX_FRAMES 2048

/* The most frames of one kernel stack: PERF_MAX_STACK_DEPTH, include/uapi/linux/perf_event.h. */
#define DP_MAX_KERNEL_FRAMES 127

/* TASK_COMM_LEN, include/linux/sched.h. */
#define DP_COMM_SIZE 16

/*
 * The copy of the user stack in a sample that cannot be walked yet: up to 1 MiB, in chunks, so that
 * the kernel needs little memory to copy it. If the thread is on a signal's alternate stack, also
 * the last 128 KiB of its normal one.
 */
#define DP_CHUNK_PAGES 4
#define DP_CHUNK_SIZE (DP_CHUNK_PAGES * DP_USER_PAGE_SIZE)
#define DP_MAX_CHUNKS 64
#define DP_NORMAL_STACK_PAGES 32

/* A sample to be verified has 64 KiB of the stack: of the alternate one, and of the normal one. */
#define DP_VERIFY_CHUNKS 4

/* The same limit for a sample of --unwind copy. */
#define DP_COPY_CHUNKS 4

/*
 * The pool: the memory in which user space stores tables and mappings. It is addressed in cells of
 * 8 bytes and consists of segments, each the only value of an mmapable BPF array. A record never
 * crosses a segment boundary. The first cells are never allocated; their numbers say why a record
 * is missing (enum dp_cell).
 *
 * A segment is smaller than KMALLOC_MAX_SIZE (4 MiB), the largest map value on older kernels. The
 * slack lets the verifier prove that a whole record fits behind any cell.
 */
#define DP_CELL_SIZE 8
#define DP_SEGMENT_BITS 21
#define DP_SEGMENT_SIZE (1 << DP_SEGMENT_BITS)
#define DP_SEGMENT_CELLS (DP_SEGMENT_SIZE / DP_CELL_SIZE)
#define DP_SEGMENT_SLACK 4096
#define DP_MAX_SEGMENTS 1024

enum dp_cell {
	DP_CELL_NONE,
	DP_CELL_EVICTED, /* of an image: it exists, but there is no room for it */
	DP_CELL_UNKNOWN, /* of a snapshot: the process is sampled without tables */
	DP_FIRST_CELL = 4,
};

/* Number 0 (DP_RULE_NONE) says that no rule exists. */
#define DP_MAX_RULES (1 << 15)
#define DP_RULE_NONE 0

/* The most executable mappings of one process: as many as fit into a segment. */
#define DP_MAX_MAPPINGS 50000

/* Steps of the binary search for a mapping. */
#define DP_MAPPING_SEARCH_STEPS 16

DP_ASSERT(1 << DP_MAPPING_SEARCH_STEPS >= DP_MAX_MAPPINGS, "every mapping is found");
DP_ASSERT((DP_MAX_FRAMES & (DP_MAX_FRAMES - 1)) == 0, "a mask bounds a frame's index");

/*
 * How a walk ended. Every sample has exactly one outcome. The list is append-only, because the
 * numbers are stored in recordings.
 *
 * X(enumerator, word, sentence)
 */
#define DP_OUTCOMES(X)                                                                             \
	X(COMPLETE, "complete",                                                                    \
	  "the walk reached a frame whose return address is undefined: the proven root")           \
	X(NO_PROCESS, "no_process", "the process's mappings were not known")                       \
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
	X(STACK_COPY_END, "stack_copy_end", "the copied part of the stack ended")                  \
	X(TABLE_EVICTED, "table_evicted",                                                          \
	  "a binary's table had to make room for others; --table-memory gives them more")          \
	X(KERNEL_ONLY, "kernel_only", "only kernel frames were asked for")                         \
	X(NO_CALL, "no_call", "a return address follows no call: the stack is damaged")            \
	X(URETPROBE, "uretprobe",                                                                  \
	  "a uretprobe replaced a return address, or its trampoline is at work")                   \
	X(CODE_CHANGED, "code_changed",                                                            \
	  "the code in memory is not that of the file that was mapped there")                      \
	X(GOROUTINE_LEFT, "goroutine_left",                                                        \
	  "Go's scheduler has left the goroutine, and the root of its own stack is not known")     \
	X(WALK_LIMIT, "walk_limit",                                                                \
	  "the walk would take longer than a sample may: large frames, or costly rules")           \
	X(WALK_SHARE, "walk_share",                                                                \
	  "walks that take long had used up the process's share of the CPU for this second")       \
	/* User space says so of NO_TABLE. */                                                      \
	X(FILE_NOT_READABLE, "file_not_readable",                                                  \
	  "an address lies in a file that could not be opened or read")                            \
	X(FRAMES_IN_HEAP, "frames_in_heap",                                                        \
	  "outer frames of a Java virtual thread, which has waited, are still in the heap")

/* DP_WALKING: the walk has not ended. No sample leaves the kernel with it. */
#define X(name, word, sentence) DP_##name,
enum dp_outcome { DP_WALKING, DP_OUTCOMES(X) DP_N_OUTCOMES };
#undef X

/* Which sides of a stack to sample. */
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
	X(LANDING_PAD, "landing", "handler of an exception, about to run; the address is exact")   \
	X(PYTHON, "python", "a Python function, from its interpreter's frame list")                \
	X(JIT, "jit", "return address found through a JIT compiler's records of its code")         \
	X(JAVA, "java", "a Java function, from its JVM's records")                                 \
	X(JAVASCRIPT, "javascript", "a JavaScript function, from V8's records")                    \
	X(RUBY, "ruby", "a Ruby function, from its interpreter's frames")                          \
	X(PHP, "php", "a PHP function, from its interpreter's frames")                             \
	X(STACK_TOP, "stack_top", "return address on top of the stack, from a call to no code")    \
	X(PERL, "perl", "a Perl function, from its interpreter's contexts")                        \
	X(JAVA_NEAR, "java_near",                                                                  \
	  "as java, of code that is not described: functions and line of the next safepoint")

#define X(name, word, sentence) DP_METHOD_##name,
enum dp_method { DP_METHODS(X) DP_N_METHODS };
#undef X

/* Only user space finds such frames (samples/crash_walk.h), so the kernel need not ask. */
#ifdef __bpf__
#define DP_METHOD_IS_STACK_TOP(method) 0
#else
#define DP_METHOD_IS_STACK_TOP(method) ((method) == DP_METHOD_STACK_TOP)
#endif

/*
 * True if the frame's address is a return address, with the call in front of it; else it is exact.
 */
#define DP_METHOD_IS_CALLER(method)                                                                \
	((method) == DP_METHOD_TABLE || (method) == DP_METHOD_FRAME_POINTER ||                     \
	 (method) == DP_METHOD_JIT || DP_METHOD_IS_STACK_TOP(method))

/* A frame: its method in the top byte, its address in the others. */
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
 * What else a program may push: the base of the thread's local storage, the bias of the frame's
 * file (address in the process minus address in the file), and the stack pointer before a switch.
 */
enum dp_value_register {
	DP_THREAD_BASE = DP_N_REGISTERS,
	DP_BIAS,
	DP_LEFT_SP, /* sp at the walk's last switch to another stack; 0: none so far */
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
	DP_WHERE_UNKNOWN,   /* not described by the tables */

	/* The program at `offset` computes it, starting with the CFA; not in a dp_saves. */
	DP_WHERE_EXPRESSION, /* *(its value) */
	DP_WHERE_VALUE,      /* its value */
};

struct dp_where {
	__u8 kind; /* enum dp_where_kind */
	__u8 reg;  /* enum dp_register */
	__u16 zero;
	__s32 offset;
};

/* How the canonical frame address is computed from this frame's registers. */
enum dp_cfa_kind {
	DP_CFA_NONE,       /* no rule: the walk ends with outcome `why`, or follows the frame
	                  * pointer */
	DP_CFA_REGISTER,   /* reg + offset */
	DP_CFA_MEMORY,     /* *(reg + offset) + add */
	DP_CFA_PLT,        /* reg + offset + DP_PLT_CFA(pc, add) */
	DP_CFA_SIGNAL,     /* all registers are in a struct sigcontext at sp + offset */
	DP_CFA_EXPRESSION, /* the value of the program at offset */
	DP_CFA_SWITCH,     /* the same, on another stack; a value of 0 means unknown */
	DP_CFA_CLONE,      /* sp + offset; if reg is 0, this is a new thread's root */
	DP_N_CFA,
};

/*
 * A rule that the kinds above cannot express is a program: a cell with the number of its
 * instructions, and a struct dp_op for each. It runs on a stack of at most DP_MAX_VALUES 64-bit
 * values; the value on top is the result. Images store the distance from the first program, the
 * walker's rules its cell.
 *
 * X(enumerator, word)
 */
#define DP_MAX_OPS 32
#define DP_MAX_VALUES 8 /* a power of two */

#define DP_OPS(X)                                                                                  \
	/* push register arg + value; push value; push a copy of the value `arg` below the top */  \
	X(REGISTER, "register")                                                                    \
	X(CONSTANT, "constant")                                                                    \
	X(PICK, "pick")                                                                            \
	/* drop the top; swap the top two; move the top below the next two */                      \
	X(DROP, "drop")                                                                            \
	X(SWAP, "swap")                                                                            \
	X(ROT, "rot")                                                                              \
	/* replace the top x by: the `arg` bytes at x, x + value, |x|, -x, ~x */                   \
	X(DEREF, "deref")                                                                          \
	X(ADD_CONSTANT, "plus_uconst")                                                             \
	X(ABS, "abs")                                                                              \
	X(NEG, "neg")                                                                              \
	X(NOT, "not")                                                                              \
	/*
	 * replace the top two by the result; a shift by 64 or more gives 0 (or copies of the sign)
	 */                                                                                         \
	X(ADD, "plus")                                                                             \
	X(SUB, "minus")                                                                            \
	X(MUL, "mul")                                                                              \
	X(AND, "and")                                                                              \
	X(OR, "or")                                                                                \
	X(XOR, "xor")                                                                              \
	X(SHL, "shl")                                                                              \
	X(SHR, "shr")                                                                              \
	X(SHRA, "shra")                                                                            \
	/* 1 or 0, signed comparison */                                                            \
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

/* Whether a frame may return to an address that is not behind a call. Such an address is exact. */
enum dp_lands {
	DP_LANDS_NOT,
	DP_LANDS_MAYBE, /* rule_lands(): only if no call is in front of it */
	DP_LANDS,
	DP_N_LANDS,
};

/* A rule in full: how to get from a frame to its caller. */
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
	struct dp_where sp; /* DP_WHERE_SAME: the CFA, the usual case */
};

/* The callee-saved registers other than fp: DP_SAVED_REGISTERS of the architecture. */
#define X(name, word) DP_SAVED_##name,
enum dp_saved { DP_SAVED_REGISTERS(X) DP_N_SAVED };
#undef X

/*
 * Where a frame saved the callee-saved registers. The walker looks only when a rule needs one,
 * which is rare.
 */
struct dp_saves {
	struct dp_where where[DP_N_SAVED];
};

/*
 * dp_rule.saves: a slot of 6 bits for each register: 0 if it is unchanged, k if it is saved at CFA
 * - 8 k. With DP_SAVES_APART set, the other bits are the number of a dp_saves in an image, or its
 * cell in the walker's rules.
 */
#define DP_SLOT_BITS 6
#define DP_MAX_SLOT ((1 << DP_SLOT_BITS) - 1)
#define DP_SAVES_APART 0x80000000U

#include "bpf/tls_layout.h"
#include "bpf/image_layout.h"
#include "bpf/hotspot_layout.h"
#include "bpf/v8_layout.h"

/*
 * One executable mapping. A process may unmap a binary and map another one at the same address. The
 * kernel reports that, but the new code runs before the tables change. Therefore a mapping has a
 * cookie, a word that identifies its binary (part of the build id, if there is one). The walker
 * compares it with the process's memory before it uses the table.
 */
struct dp_mapping {
	__u64 start, end;   /* end exclusive */
	__u64 bias;         /* address in the process minus address in the file */
	__u32 image;        /* cell in the pool, or DP_CELL_NONE: no table, or DP_CELL_EVICTED */
	__u32 cookie_below; /* the cookie's address is so many bytes below start; 0: no cookie */
	__u64 cookie;       /* its expected value */
};

/*
 * The executable mappings of one process at one time, sorted by start, without overlaps. Immutable
 * once the kernel can see it: if a process's mappings change, it gets a new snapshot with a new id.
 * The mappings follow it in memory.
 *
 * Snapshots have the same memory map if and only if their mappings are identical byte for byte, as
 * those of forked processes are. The walker caches by this number. It ends with the last snapshot
 * that has it and is never reused.
 *
 * The id is written last, and overwritten first when the snapshot is freed: while it is intact, so
 * is the rest.
 *
 *   +---------------------------+---------------------------+
 *   | id                                                    |
 *   | pid                       | n_mappings                |
 *   | memory_map                                            |
 *   | labels                    | runtime                   |
 *   | hotspot                   | other_runtime             |
 *   +-------------------------------------------------------+
 *   | struct dp_mapping, by address                         |
 *   +-------------------------------------------------------+
 *   | struct dp_hotspot, if there is one                    |
 *   +-------------------------------------------------------+
 */
struct dp_snapshot {
	__u64 id;
	__u32 pid; /* owner: tells a reader that the cell was reused for another process */
	__u32 n_mappings;
	__u64 memory_map;
	/* Numbers of the mappings whose images say where these are, from 1; 0: none */
	__u32 labels;
	__u32 runtime;
	__u32 hotspot; /* distance of a struct dp_hotspot behind the mappings, in cells; 0: none */
	__u32 other_runtime; /* as `runtime`: of another kind */
};

/*
 * The most samples in progress on one CPU. A program on a CPU's perf event is never interrupted by
 * another one (bpf_overflow_handler(), kernel/events/core.c, counts them in bpf_prog_active); one
 * on a uprobe can be preempted by others.
 */
#define DP_CPU_LEVELS 1
#define DP_UPROBE_LEVELS 4
/*
 * sched_switch or a crash, interrupted by the CPU's sampling event; or an event of the kernel, preempted by a
 * thread that crashes
 */
#define DP_WALL_LEVELS 2

/* Why a sample could not be sent. */
enum dp_lost {
	DP_LOST_NOT,
	DP_LOST_FULL,      /* the ring buffer had no room */
	DP_LOST_BUSY,      /* all levels were in use */
	DP_LOST_UNTRACKED, /* of an off-CPU interval: DP_MAX_BLOCKED threads have one already */
	DP_N_LOST,         /* a power of two */
};

/* Samples that could not be sent, by CPU. */
struct dp_losses {
	__u64 samples[DP_N_LOST]; /* by enum dp_lost */
	__u64 time_ns;            /* blocked time of these samples */
};

/*
 * kernel_error of a sample without a kernel stack because the user may not see kernel addresses.
 * Not an errno: those end at MAX_ERRNO, include/linux/err.h.
 */
#define DP_KERNEL_HIDDEN (-4096)

/* What triggered a sample. */
enum dp_event {
	DP_EVENT_CPU,
	DP_EVENT_UPROBE,
	DP_EVENT_OFF_CPU,
	DP_EVENT_CRASH,
	DP_EVENT_TRACE, /* of the kernel: tracepoints and functions */
	DP_EVENT_ALLOC, /* memory that is allocated, with its size; */
	DP_EVENT_HELD,  /* made by user space at the end: memory that was not given back */
	DP_N_EVENTS,
};

/*
 * Why a thread is off the CPU, by the letters of proc(5).
 *
 * X(enumerator, letter, sentence)
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

/* The most threads that can be tracked as blocked at the same time. */
#define DP_MAX_BLOCKED 65536

/* A blocked thread, in dp_blocked by its tid. */
struct dp_blocked {
	__u64 since_ns; /* CLOCK_MONOTONIC, the time of its sample; 0: it is not blocked */
	__u64 ran_ns;   /* CPU time that it had used until then */
	__u32 tid;      /* as in the sample */
	__u32 weight;   /* of the sample */
	__u32 lost;     /* why the sample could not be sent: enum dp_lost */
	__u32 zero;
};

/*
 * Slots for the rate limits of processes. The PID modulo this number selects the slot; PIDs with
 * the same remainder share a limit.
 */
#define DP_RATE_SLOTS 16384

#include "bpf/record_layout.h"

enum dp_thread_flags {
	DP_THREAD_ON_CPU = 1,     /* it ran meanwhile: its registers are old */
	DP_THREAD_IN_SYSCALL = 2, /* or is on its way out with a signal to deliver */
	DP_THREAD_NO_USER = 4,    /* a kernel worker, or in an execve() */
	DP_THREAD_COMPAT = 8,     /* it runs 32-bit code */
};

/*
 * A thread as `dwarfprof dump` sees it, with the user registers from when it entered the kernel. If
 * it is off the CPU twice with the same number of switches, it has not run in between. n_kernel
 * kernel addresses follow, leaf first.
 */
struct dp_thread {
	__u32 pid, tid;
	__u64 switches; /* how often it has left a CPU */
	__u64 ran_ns;
	__u32 cpu; /* where it ran last */
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
DP_ASSERT(sizeof(struct dp_snapshot) == 40, "dp_snapshot is five cells");
DP_ASSERT(sizeof(struct dp_snapshot) + DP_MAX_MAPPINGS * sizeof(struct dp_mapping) +
			  sizeof(struct dp_hotspot) <=
		  DP_SEGMENT_SIZE,
	  "a snapshot lies in one segment");
DP_ASSERT((DP_N_LOST & (DP_N_LOST - 1)) == 0, "a mask bounds a reason");
DP_ASSERT(sizeof(struct dp_blocked) == 32, "dp_blocked is four words");
DP_ASSERT(sizeof(struct dp_thread) == 80 + sizeof(struct dp_regs),
	  "addresses follow the thread's header");
DP_ASSERT(DP_MAX_CPUS <= 1 << 16 && DP_MAX_FRAMES < 1 << 16, "a sample's numbers have room");
DP_ASSERT(DP_MAX_CHUNKS <= 255, "n_chunks can count them");

#endif
