/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_KERNEL_TYPES_H
#define DP_KERNEL_KERNEL_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/kernel_fields.h"

struct btf;

/*
 * The running kernel's own description of its types (BTF), by which the programs are fitted to
 * it. `path` is a file that has it; NULL: libbpf looks in /sys/kernel/btf/vmlinux, and for
 * kernels with debug information in /boot and where distributions put them.
 */

/* NULL if there is none, with errno. The caller's, for btf__free(). */
struct btf *kernel_types_load(const char *path);

/* Say what is wrong with a file that was named, and what to type. 0 or negative errno. */
int kernel_types_check(const char *path);

/* What the programs look up in it. */
struct kernel_field {
	const char *type, *member;
	unsigned int uses; /* bits: enum dp_field_for */
	const char *lost;  /* NULL: what it is needed for does not go on without */
};

/* The one of that number, NULL behind the last. */
const struct kernel_field *kernel_field(size_t index);
bool kernel_field_exists(const struct btf *btf, const struct kernel_field *field);
/* What cannot be had without: "CPU time, dump". As long as a line at most. */
#define KERNEL_FIELD_NEED_SIZE 128
void kernel_field_need(const struct kernel_field *field, char ret[KERNEL_FIELD_NEED_SIZE]);

/*
 * Does the tracepoint of switches tell the state of the thread that goes? Since 5.18 it does,
 * behind the arguments that it had before (include/trace/events/sched.h).
 */
bool kernel_types_have_prev_state(const char *path);

#endif
