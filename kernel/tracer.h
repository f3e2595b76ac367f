/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_TRACER_H
#define DP_KERNEL_TRACER_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;

/* Where the program for events of the kernel is attached, which decides its type. */
enum tracer_kind {
	TRACER_TRACEPOINT, /* a tracepoint, through perf: its record is what tracefs says */
	TRACER_RAW,        /* a tracepoint, by its name alone: the record is its arguments */
	TRACER_FENTRY,     /* a function, by its type: the record is its arguments */
	TRACER_KPROBE,     /* an instruction of the kernel */
};

#define TRACER_NAME_SIZE 128

/* The program, and its way of being attached. */
struct tracer {
	enum tracer_kind kind;
	int tracefs;                       /* see tracefs.h; negative errno: why it is not used */
	const struct bpf_program *program; /* the caller's; NULL: there is no such event */
	uint64_t n_told;                   /* missed hits that a message was about */
};

#define TRACER_NONE ((struct tracer){ .tracefs = -1 })

/*
 * Sets up a program before it is loaded. Without tracefs, one for a tracepoint becomes
 * TRACER_RAW, except for several. function: for TRACER_FENTRY. Logs errors. 0 or a negative errno;
 * tracer_done() frees *ret.
 */
int tracer_prepare(struct tracer *ret, struct bpf_program *program, enum tracer_kind kind,
		   const char *function, bool several);
void tracer_done(struct tracer *tracer);

/*
 * Does the kernel take programs at its functions, if it has their types? Some, as those of some
 * virtual machines, refuse them all. 0 or a negative errno.
 */
int tracer_try_function(void);
/* If that is why the program could not be loaded, logs it and returns true. */
bool tracer_explain_load(const struct tracer *tracer, int err);

/* A tracepoint, or a function of the kernel: "name", or for TRACER_KPROBE also "name+8". */
struct tracer_place {
	const char *system; /* of a tracepoint, "sched"; NULL: not known */
	const char *name;
};

/*
 * Attaches the program; `cookie` distinguishes several events. Logs errors, with similar names. 0 or a negative
 * errno.
 */
int tracer_attach(const struct tracer *tracer, const struct tracer_place *place, uint64_t cookie,
		  struct bpf_link **ret);

/*
 * How many hits, of any process, the kernel left out because a program was at work on the same CPU:
 * this one, or with TRACER_TRACEPOINT and _KPROBE any that perf runs; these are counted since Linux
 * 6.7 (trace_call_bpf(), kernel/trace/bpf_trace.c). tracer_tell() warns of new ones.
 */
uint64_t tracer_missed(const struct tracer *tracer);
void tracer_tell(struct tracer *tracer);

#endif
