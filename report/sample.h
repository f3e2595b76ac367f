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

/* What a report is made of: samples whose addresses have been told apart by binary. */

struct verified;
struct verified_stack;

/* A set of kinds of events, enum dp_event, has one bit of each. */
#define EVENT_BIT(event) (1U << (event))

struct frame {
	uint64_t address;      /* in the process; of a caller: its return address */
	uint64_t offset;       /* the same in the module's own address space; see frame_locate() */
	struct module *module; /* NULL: not in a known binary */
	enum dp_method method;
};

struct sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC; of an off-CPU interval: when it began */
	enum dp_event event;
	enum dp_state state; /* of an off-CPU interval */
	uint64_t weight;     /* how many events it stands for */
	uint64_t value_ns;   /* how long each of them took; 0: that was not measured */
	uint32_t cpu;
	pid_t pid, tid;
	char comm[DP_COMM_SIZE + 1];
	char thread_name[DP_COMM_SIZE + 1];
	enum dp_outcome outcome;
	uint64_t fault_address;   /* what could not be read, for DP_READ_FAULT; else 0 */
	const struct frame *user; /* leaf first */
	size_t n_user;
	const __u64 *kernel; /* leaf first */
	size_t n_kernel;
	int kernel_error; /* why the kernel's stack is missing: negative errno, DP_KERNEL_HIDDEN, or 0 */
	bool late;        /* walked in user space, once the tables were there */
	const struct label_set *labels;        /* NULL: none */
	const struct verified_stack *verified; /* NULL: it was not its turn (verified.h) */
};

/* Samples by how they ended, and those that never arrived. */
struct totals {
	uint64_t samples;
	uint64_t outcomes[DP_N_OUTCOMES];
	uint64_t lost;
	uint64_t lost_ns;       /* of these, what blocked threads have waited */
	uint64_t events;        /* that the samples stand for: their weights */
	uint64_t time_ns;       /* that the samples stand for */
	uint64_t still_blocked; /* of the samples: threads that were blocked at the end */
	uint64_t
		finished_late; /* of the samples: walked in user space, once their tables were there */
	uint64_t cut_labels;      /* of the samples: their labels are not all there, or not whole */
	uint64_t pages_requested; /* of stacks that were not in memory, and now are */
	uint64_t duration_ns;
	const struct verified *verified; /* NULL: not asked for */
};

/* What was counted since another state of the same totals; verified is left out. */
struct totals totals_since(const struct totals *now, const struct totals *before);

/* How many samples have a user stack: what the share of complete ones is of. */
uint64_t totals_with_user_stack(const struct totals *totals);
/* Share of these that are complete, in percent; 0 without any. */
double totals_complete(const struct totals *totals);

/* Is its address the one that ran, and not a return address, whose call is before it? */
bool frame_is_exact(const struct frame *frame);

/*
 * Set the offset of a frame of a module without a file, of a sample of that time, which is
 * to be done soon after it: code that a process compiles gives way to other code.
 */
void frame_locate(struct frame *frame, uint64_t time_ns);

/*
 * The functions a frame is in, the innermost first: the one that its code was written
 * in, then what this was inlined into; files and lines only if wanted. A return address
 * belongs to the function that its call is in. They live until the next frame is looked
 * up. Returns how many there are: 0 if nothing is known.
 */
size_t frame_locations(const struct frame *frame, bool lines, const struct source_location **ret);

/*
 * Where the function that a frame is in begins, as its offset, for one that has no name: 0 or
 * -ENOENT.
 */
int frame_function_start(const struct frame *frame, uint64_t *ret);

/*
 * Is it in a binary, in which its offset is a location that others know, too? Else there is no
 * module, or one of code that a process has compiled, which is worth saying where it has a name.
 */
bool frame_is_in_binary(const struct frame *frame);

/* Size that is enough for every name that frame_label() makes up. */
#define FRAME_LABEL_SIZE 320

/*
 * What to call a frame that has no function: by where this begins, if start is not NULL, else by its own offset:
 * `[libfoo.so+0x12ab]`; outside of binaries `0x7f0012345678`. Returns `buffer`.
 */
const char *frame_label(const struct frame *frame, const uint64_t *start,
			char buffer[FRAME_LABEL_SIZE]);

#endif
