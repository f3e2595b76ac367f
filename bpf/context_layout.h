/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_CONTEXT_LAYOUT_H
#define DP_BPF_CONTEXT_LAYOUT_H

/* The span that a thread is working on, as programs publish it, and as the kernel sends it. Part of abi.h. */

/* The thread-local pointer to a struct dp_thread_record, or NULL (OpenTelemetry's OTEP 4947). */
#define DP_CONTEXT_VARIABLE "otel_thread_ctx_v1"

/*
 * The record, in the program's memory. Only its own thread changes it. Attributes follow: each has the
 * number of its key, its size, and so many bytes.
 */
struct dp_thread_record {
	__u8 trace_id[16]; /* both 0: there is no span */
	__u8 span_id[8];
	__u8 valid; /* 1; all else: it is just changing, or detached */
	__u8 trace_flags;
	__u16 attributes_size;
};

/* The part of a sample's record with it. The bytes follow, and up to 7 more. */
struct dp_context {
	struct dp_part part; /* DP_RECORD_CONTEXT */
	__u16 size;          /* of the thread's record and its attributes; 0: unreadable */
	__u16 is_cut;        /* attributes are missing */
};

DP_ASSERT(sizeof(struct dp_thread_record) == 28, "the record has no padding");
DP_ASSERT(sizeof(struct dp_context) == DP_CELL_SIZE, "a sample's context is as long as cells");

#endif
