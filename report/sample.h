/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_SAMPLE_H
#define DP_REPORT_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"
#include "module.h"

/* What a report is made of: samples whose addresses have been told apart by binary. */

struct frame {
	uint64_t address;      /* in the process; of a caller: its return address */
	uint64_t offset;       /* the same in the module's own address space */
	struct module *module; /* NULL: not in a known binary */
	enum dp_method method;
};

struct sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t cpu;
	pid_t pid, tid;
	char comm[DP_COMM_SIZE + 1];
	char thread_name[DP_COMM_SIZE + 1];
	enum dp_outcome outcome;
	const struct frame *user; /* leaf first */
	size_t n_user;
	const __u64 *kernel; /* leaf first */
	size_t n_kernel;
	int kernel_error; /* negative errno, or 0 */
	bool late;        /* walked in user space, once the tables were there */
};

/* Samples by how they ended, and those that never arrived. */
struct totals {
	uint64_t samples;
	uint64_t outcomes[DP_N_OUTCOMES];
	uint64_t lost;
	uint64_t
		finished_late; /* of the samples: walked in user space, once their tables were there */
	uint64_t duration_ns;
};

/* How many samples have a user stack: what the share of complete ones is of. */
uint64_t totals_with_user_stack(const struct totals *totals);
/* Share of these that are complete, in percent; 0 without any. */
double totals_complete(const struct totals *totals);

/*
 * The function a frame is in, and the distance of its address from the
 * function's start; NULL if it has no name. A return address belongs to the
 * function that its call is in.
 */
const char *frame_symbol(const struct frame *frame, uint64_t *ret_offset);

/* Size that is enough for every name that frame_label() makes up. */
#define FRAME_LABEL_SIZE 320

/*
 * What to call a frame: its function, else `[libfoo.so+0x12ab]`, else
 * `0x7f0012345678`. Returns the symbol or `buffer`.
 */
const char *frame_label(const struct frame *frame, bool symbols, char buffer[FRAME_LABEL_SIZE]);

#endif
