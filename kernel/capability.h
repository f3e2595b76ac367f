/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_CAPABILITY_H
#define DP_KERNEL_CAPABILITY_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Newer than the oldest kernel headers we build with. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* The capabilities of this process, bit by number (capabilities(7)). */
struct capability_sets {
	uint64_t effective;
	uint64_t bounding; /* those that it could get by executing a file */
	bool no_new_privileges;
};

/* All empty if /proc cannot be read. */
void capability_read(struct capability_sets *ret);

static inline bool capability_in(uint64_t set, int number)
{
	return set >> number & 1;
}

/* "CAP_BPF"; "?" for one that dwarfprof has no use for. */
const char *capability_name(int number);

/*
 * The command that gives this program's file the capabilities of a set, as far
 * as dwarfprof has a use for them: "sudo setcap cap_bpf,cap_perfmon=ep PATH". To be freed;
 * NULL without memory.
 */
char *capability_command(uint64_t set);

#endif
