/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_SAMPLE_H
#define DP_REPORT_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "report/label_set.h"
#include "symbols/module.h"

/* The input of reports: samples with their addresses resolved to binaries. */

struct span_times;
struct verification;
struct verified;
struct verified_stack;

/* A set of kinds of events (enum dp_event) has a bit for each. */
#define EVENT_BIT(event) (1U << (event))

struct frame {
	uint64_t address;      /* in the process; a caller's is its return address */
	uint64_t offset;       /* the same in the module's own address space; see frame_locate() */
	struct module *module; /* NULL: in no known binary */
	enum dp_method method;
	/* Of a probed function, the number, from 1, of the probe whose values in the sample's labels are
	 * those of this call; 0: none are */
	unsigned char probe;
};

struct sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC; the beginning of an off-CPU interval */
	enum dp_event event;
	enum dp_state state; /* of an off-CPU interval */
	uint64_t weight;     /* number of events that it stands for */
	uint64_t value_ns;   /* duration of each, or another number (value.h); 0: not measured */
	uint32_t cpu;
	pid_t pid, tid;
	uint64_t cgroup; /* its id in cgroup v2; 0: not known */
	char comm[DP_COMM_SIZE + 1];
	char thread_name[DP_COMM_SIZE + 1];
	enum dp_outcome outcome;
	uint64_t fault_address;   /* of DP_READ_FAULT: the unreadable address; else 0 */
	const struct frame *user; /* leaf first */
	size_t n_user;
	const __u64 *kernel; /* leaf first */
	size_t n_kernel;
	int kernel_error; /* why the kernel stack is missing: negative errno, DP_KERNEL_HIDDEN,
	                   * or 0 */
	bool late;        /* walked in user space */
	bool is_folded;   /* together with others, which differ in thread, state and outcome */
	bool is_task; /* of a task that waits, which belongs to the thread, but is not on its stack */
	const struct label_set *labels; /* NULL: none */
	/* On its way to the reports: what gives `verified`; NULL: not chosen */
	struct verification *verification;
	const struct verified_stack *verified; /* NULL: not chosen (verified.h) */
};

/*
 * Why samples are lost.
 *
 *    X(enumerator, word, sentence)
 */
#define LOST_REASONS(X)                                                                            \
	X(RINGS_FULL, "rings_full", "no room on their way out of the kernel")                      \
	X(REPORTS_FULL, "reports_full", "no room on their way to the reports")                     \
	X(NESTED, "nested", "too many events interrupted each other on a CPU")                     \
	X(MISSED, "missed", "the kernel's tracer left them out")                                   \
	X(UNREADABLE, "unreadable", "damaged on their way out of the kernel")                      \
	X(UNTRACKED, "untracked", "more threads were blocked at once than are tracked")

#define X(name, word, sentence) LOST_##name,
enum lost_reason { LOST_REASONS(X) LOST_N_REASONS };
#undef X

const char *lost_reason_word(enum lost_reason reason);
const char *lost_reason_sentence(enum lost_reason reason);

/* Samples by outcome, and lost ones. */
struct totals {
	uint64_t samples;
	uint64_t outcomes[DP_N_OUTCOMES];
	uint64_t lost;
	uint64_t lost_by[LOST_N_REASONS]; /* these, of a live run */
	uint64_t lost_ns;                 /* blocked time of these */
	uint64_t events;                  /* total weight of the samples */
	uint64_t time_ns;                 /* total time of the samples */
	uint64_t still_blocked;           /* samples of threads that were blocked at the end */
	uint64_t finished_late;           /* samples walked in user space */
	uint64_t frames_apart;     /* samples whose runtime's frames could not be put in place */
	uint64_t cut_labels;       /* samples whose labels are missing or cut */
	uint64_t unread;           /* samples of probes with values that were not in memory */
	uint64_t outside;          /* samples left out: in no probed call that took long enough */
	uint64_t in_unknown;       /* samples for which that is not known */
	uint64_t pages_requested;  /* that were not in memory, and have been read */
	uint64_t held, held_bytes; /* pieces of memory that are held at the end; no samples */
	uint64_t duration_ns;
	const struct verified *verified; /* NULL: not requested */
	const struct span_times *calls;  /* NULL: not requested */
};

/* Its value, of all events that it stands for; at most SUM_MAX. */
uint64_t sample_sum(const struct sample *sample);

/* Counts a sample; what is about lost ones and times of day is left alone. */
void totals_count(struct totals *totals, const struct sample *sample);

/* The difference to an earlier state of the same totals, without verified and calls. */
struct totals totals_since(const struct totals *now, const struct totals *before);

/* Totals of both together, without verified and calls. */
struct totals totals_sum(const struct totals *a, const struct totals *b);

/* Samples with a user stack, on which the share of complete ones is based. */
uint64_t totals_with_user_stack(const struct totals *totals);
/* Complete ones of these, in percent; 0 if there are none. */
double totals_complete(const struct totals *totals);

/* True if the address is that of the running instruction, not a return address. */
bool frame_is_exact(const struct frame *frame);

/*
 * Reads what names a frame of a runtime, for frames_locate(), which another thread may call: at once, since
 * it is in the memory of a process that may end. Nothing else of it is needed.
 */
void frame_read(const struct frame *frame);

/*
 * Sets the offset of a frame of a module without a file, for a sample of that time; calls frame_read(). Call
 * it soon, because JIT code is replaced by other code.
 */
void frame_locate(struct frame *frame, uint64_t time_ns);

/*
 * The same for all frames of a stack, of modules with a file, too, into `ret` with room for
 * DP_MAX_FRAMES, when frame_read() has been called for all. Functions that a runtime has inlined become
 * frames of their own. Returns their number; *ret_is_cut is set if they do not fit.
 */
size_t frames_locate(const struct frame *frames, size_t n, uint64_t time_ns, struct frame *ret,
		     bool *ret_is_cut);

/*
 * The functions of a frame, innermost first: the one that contains its code, then those that it was
 * inlined into; files and lines only if wanted. A return address belongs to the function of its
 * call. Valid until the next lookup. Returns their number; 0: nothing is known.
 */
size_t frame_locations(const struct frame *frame, bool lines, const struct source_location **ret);

/* frame_locations() will soon be called for this frame: module_want(). */
void frame_want_locations(const struct frame *frame, bool lines);

/* The start of a frame's function, as an offset, for one without a name. 0 or -ENOENT. */
int frame_function_start(const struct frame *frame, uint64_t *ret);

/*
 * True if it is in a binary, where its offset is meaningful to other programs. Otherwise it has no
 * module, or is JIT code, of which only a name is of use.
 */
bool frame_is_in_binary(const struct frame *frame);

/* Whether it is a function of a language's runtime, which names it (frame_kind.h). */
bool frame_is_interpreted(const struct frame *frame);
/* Whether any of a sample is. */
bool sample_has_runtime_frames(const struct sample *sample);

/* Whether its function and line are those of a place near it, as its own has none. */
bool frame_is_near(const struct frame *frame);

/* The path of its binary, or what stands for it: `[jit]`, `[python]`. NULL: not known. */
const char *frame_path(const struct frame *frame);

/* Enough for every name that frame_label() makes. */
#define FRAME_LABEL_SIZE 320

/*
 * The name of a frame without a function: by the function's start, if it is not NULL, else by its
 * own offset: `[libfoo.so+0x12ab]`; outside binaries `0x7f0012345678`. Returns `buffer`.
 */
const char *frame_label(const struct frame *frame, const uint64_t *start,
			char buffer[FRAME_LABEL_SIZE]);

#endif
