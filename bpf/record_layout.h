/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_RECORD_LAYOUT_H
#define DP_BPF_RECORD_LAYOUT_H

/* The records that the kernel sends through the rings. Part of abi.h. A line of a drawing is 8 bytes. */

/* The type of a part of a record. Append-only, as above. */
enum dp_record_type {
	DP_RECORD_SAMPLE = 1,
	DP_RECORD_CHUNK,
	DP_RECORD_OFF_CPU_END,
	DP_RECORD_NAMES,
	DP_RECORD_LABELS,
	DP_RECORD_RUNTIME,
	DP_RECORD_VALUES,
	DP_RECORD_CRASH,
	DP_RECORD_CONTEXT,
	DP_RECORD_THROWN,
	DP_RECORD_SPANS,
	DP_RECORD_SPAN_BEGIN,
	DP_RECORD_SPAN_END,
	DP_RECORD_CALLS,
};

/*
 * The head of each part of a record. A record of a ring has one or more parts, which are sent or
 * lost together. Readers skip types that they do not know. New fields are appended to the fixed
 * ones; a variable-length tail is found from the part's end.
 */
struct dp_part {
	__u16 type; /* enum dp_record_type */
	__u16 size; /* in bytes, including this head; a multiple of 8 */
};

#include "bpf/label_layout.h"
#include "bpf/context_layout.h"
#include "bpf/custom_layout.h"
#include "bpf/runtime_layout.h"
#include "bpf/value_layout.h"
#include "bpf/span_layout.h"
#include "bpf/crash_layout.h"
#include "bpf/probe_layout.h"
#include "bpf/alloc_layout.h"

/*
 * What user space has to do with a sample, and its parts. These follow in this order, each if its flag is set:
 * labels, or the context; what was thrown; values, or spans, or calls; a crash; a runtime's frames.
 */
enum dp_sample_flags {
	DP_SAMPLE_LATE = 1,     /* finish the walk: the tables were not in the kernel yet */
	DP_SAMPLE_VERIFY = 2,   /* verify the walk; without chunks there was no room for them */
	DP_SAMPLE_LABELS = 4,   /* struct dp_labels */
	DP_SAMPLE_RUNTIME = 8,  /* struct dp_runtime */
	DP_SAMPLE_VALUES = 16,  /* struct dp_values: of a probe */
	DP_SAMPLE_CRASH = 32,   /* struct dp_crash */
	DP_SAMPLE_CONTEXT = 64, /* struct dp_context */
	DP_SAMPLE_THROWN = 128, /* struct dp_values: of an exception */
	DP_SAMPLE_SPANS = 256,  /* struct dp_spans: probed calls */
	DP_SAMPLE_CALLS = 512,  /* struct dp_calls: values of several probes */
};

/*
 * One sample. It ends with n_user - n_same frames and n_kernel kernel addresses of 8 bytes each,
 * both leaf first. The other n_same frames, the outermost, are those of the last sample with frames
 * on the same ring and level. A struct dp_names precedes it if its names have changed.
 *
 *   +-------------+-------------+-------------+-------------+
 *   | part                      | cpu         | n_same      |
 *   | pid                       | tid                       |
 *   | time_ns                                               |
 *   | snapshot                                              |
 *   +-------------+------+------+------+------+------+------+
 *   | n_user      | n_   | level| out- | event| n_   | state|
 *   |             |kernel|      | come |      |chunks|      |
 *   +-------------+------+------+------+------+------+------+
 *   | kernel_error| flags       | weight                    |
 *   | fault_address                                         |
 *   +-------------------------------------------------------+
 *   | n_user - n_same frames: method << 56 | address        |
 *   | n_kernel addresses                                    |
 *   +-------------------------------------------------------+
 */
struct dp_sample {
	struct dp_part part; /* DP_RECORD_SAMPLE */
	__u16 cpu;
	__u16 n_same;
	__u32 pid, tid;
	__u64 time_ns;  /* CLOCK_MONOTONIC */
	__u64 snapshot; /* id of the snapshot used for the walk; 0: none */
	__u16 n_user;
	__u8 n_kernel;
	__u8 level;         /* see DP_CPU_LEVELS */
	__u8 outcome;       /* enum dp_outcome */
	__u8 event;         /* enum dp_event */
	__u8 n_chunks;      /* number of DP_RECORD_CHUNK parts of this sample, sent before it on the
	                * same ring */
	__u8 state;         /* enum dp_state, of DP_EVENT_OFF_CPU; else the number of the event
			     * among several of its kind */
	__s16 kernel_error; /* why the kernel stack is missing: negative errno or
	                     * DP_KERNEL_HIDDEN */
	__u16 flags;        /* enum dp_sample_flags */
	__u32 weight; /* number of events that it stands for: 1 / the probability of taking it, or
		       * the period of the perf event */
	__u64 fault_address; /* of DP_READ_FAULT: the unreadable address */
};

/*
 * The names of the sample that follows in the same record. A sample without names has those of the
 * last sample on the same ring and level.
 *
 *   +-------------+-------------+---------------------------+
 *   | part                      | 0                         |
 *   | comm, 16 bytes                                        |
 *   | thread_name, 16 bytes                                 |
 *   | cgroup                                                |
 *   +-------------------------------------------------------+
 */
struct dp_names {
	struct dp_part part; /* DP_RECORD_NAMES */
	__u32 zero;
	char comm[DP_COMM_SIZE];        /* of the process */
	char thread_name[DP_COMM_SIZE]; /* of the thread */
	__u64 cgroup;                   /* its id in cgroup v2; 0: not wanted (dp_has_cgroups) */
};

/*
 * Part of a stack, for user space to finish a walk that met code whose tables were not in the
 * kernel, or to verify one. Chunks of a sample are consecutive on the ring. They are also
 * contiguous in memory while they have DP_CHUNK_SIZE bytes; a smaller one ends at the end of the
 * memory or before an untouched page. The bytes come last.
 *
 *   +-------------+-------------+---------------------------+
 *   | part                      | tid                       |
 *   | time_ns                                               |
 *   | start                                                 |
 *   +---------------------------+-------------+-------------+
 *   | n_bytes                   | in_syscall  | is_cut      |
 *   +---------------------------+-------------+-------------+
 *   | regs, by DWARF number                                 |
 *   +-------------------------------------------------------+
 *   | n_bytes bytes                                         |
 *   +-------------------------------------------------------+
 */
struct dp_chunk {
	struct dp_part part; /* DP_RECORD_CHUNK */
	__u32 tid;
	__u64 time_ns; /* of the sample */
	__u64 start;   /* address of the first byte */
	__u32 n_bytes;
	__u16 in_syscall;    /* the program counter is behind a system call instruction */
	__u16 is_cut;        /* behind it, the limit on chunks has cut the copy off */
	struct dp_regs regs; /* of the sample, the same in all of its chunks */
};

/*
 * The end of an off-CPU interval. Its sample was sent when the thread left the CPU, possibly on
 * another CPU's ring. No record is sent for an interval that is too short or too long. When a
 * thread ends, a record says that no more will come.
 *
 *   +-------------+-------------+---------------------------+
 *   | part                      | tid                       |
 *   | time_ns                                               |
 *   | end_ns                                                |
 *   +-------------------------------------------------------+
 */
struct dp_off_cpu_end {
	struct dp_part part; /* DP_RECORD_OFF_CPU_END */
	__u32 tid;
	__u64 time_ns; /* of the sample; 0: the thread has ended */
	__u64 end_ns;  /* when the thread was back on a CPU, or ended */
};

/*
 * The probed calls on the stack of a sample, innermost first: when each began, which identifies it
 * among those of its thread; 0: one that is not known, or a walk that ended before the root.
 *
 *   +-------------+-------------+---------------------------+
 *   | part                      | n                         |
 *   | root                                                  |
 *   +-------------------------------------------------------+
 *   | n times                                               |
 *   +-------------------------------------------------------+
 */
struct dp_spans {
	struct dp_part part; /* DP_RECORD_SPANS */
	__u32 n;             /* at most DP_MAX_SPANS + 1 */
	__u64 root; /* the CFA that the walk has passed last, which tells stacks apart; 0: it has not
		     * reached the root */
};

/*
 * A call that a sample has met for the first time. Its values are a struct dp_values at the end.
 *
 *   +-------------+-------------+---------------------------+
 *   | part                      | tid                       |
 *   | begin_ns                                              |
 *   +-------------------------------------------------------+
 *   | struct dp_values                                      |
 *   +-------------------------------------------------------+
 */
struct dp_span_begin {
	struct dp_part part; /* DP_RECORD_SPAN_BEGIN */
	__u32 tid;
	__u64 begin_ns; /* CLOCK_MONOTONIC */
};

/*
 * What has become of such a call. It may be on another ring than its begin.
 *
 *   +-------------+-------------+---------------------------+
 *   | part                      | tid                       |
 *   | begin_ns                                              |
 *   | end_ns                                                |
 *   | how                       | 0                         |
 *   +---------------------------+---------------------------+
 */
struct dp_span_end {
	struct dp_part part; /* DP_RECORD_SPAN_END */
	__u32 tid;
	__u64 begin_ns, end_ns;
	__u32 how; /* enum dp_span_how */
	__u32 zero;
};

DP_ASSERT(sizeof(struct dp_part) == 4, "dp_part is half a word");
DP_ASSERT(sizeof(struct dp_sample) == 56, "frames follow the sample's header");
DP_ASSERT(DP_MAX_KERNEL_FRAMES < 1 << 8, "n_kernel has room");
DP_ASSERT(sizeof(struct dp_names) == 48, "a sample follows its names");
DP_ASSERT(sizeof(struct dp_chunk) == 32 + sizeof(struct dp_regs),
	  "bytes follow the chunk's header");
DP_ASSERT(sizeof(struct dp_off_cpu_end) == 24, "an interval's end is three words");
DP_ASSERT(sizeof(struct dp_spans) == 16 && sizeof(struct dp_span_begin) == 16,
	  "times, and values, follow their head");
DP_ASSERT(sizeof(struct dp_span_end) == 32, "a call's end is four words");
DP_ASSERT(sizeof(struct dp_sample) + 8 * (DP_MAX_FRAMES + DP_MAX_KERNEL_FRAMES) < 1 << 16 &&
		  sizeof(struct dp_chunk) + DP_CHUNK_SIZE < 1 << 16,
	  "a part's size has room");

#endif
