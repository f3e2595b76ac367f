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
	uint64_t bounding; /* those that executing a file could give */
	bool no_new_privileges;
};

/* All sets are empty if /proc cannot be read. */
void capability_read(struct capability_sets *ret);

static inline bool capability_in(uint64_t set, int number)
{
	return set >> number & 1;
}

/* Returns for example "CAP_BPF", or "?" for a capability that dwarfprof does not use. */
const char *capability_name(int number);

/*
 * Returns the command that gives this program's file those capabilities of a set that dwarfprof
 * uses, such as "sudo setcap cap_bpf,cap_perfmon=ep PATH". The caller frees it. NULL: out of
 * memory.
 */
char *capability_command(uint64_t set);

#endif
