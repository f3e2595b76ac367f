/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_KERNEL_TYPES_H
#define DP_KERNEL_KERNEL_TYPES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_fields.h"

struct btf;
struct btf_type;

/*
 * The running kernel's description of its types (BTF), by which libbpf relocates the programs.
 * `path` is a file with BTF. If it is NULL, libbpf looks in /sys/kernel/btf/vmlinux, and for
 * kernels with debug information in /boot and where distributions put them.
 */

/*
 * Returns the file to load if there is none in /sys: /lib/modules/RELEASE/vmlinux, which libbpf does
 * not know of. NULL: libbpf looks for one. root: "", or a directory to search instead of /.
 */
const char *kernel_types_find(const char *root, const char *release, char buffer[PATH_MAX]);
/* Returns `path`; or, if that is NULL, what is found for the running kernel. */
const char *kernel_types_place(const char *path, char buffer[PATH_MAX]);

/* Returns NULL and sets errno if there is no BTF. The caller frees it with btf__free(). */
struct btf *kernel_types_load(const char *path);

/* Checks a BTF file given by the user. Logs errors and what to type. 0 or negative errno. */
int kernel_types_check(const char *path);

/* A member of a kernel structure that the programs look up. */
struct kernel_field {
	const char *type, *member;
	unsigned int uses; /* bits: enum dp_field_for */
	const char *lost;  /* what is lost without it; NULL: its uses do not work */
};

/* Returns the field with that index, or NULL behind the last one. */
const struct kernel_field *kernel_field(size_t index);
bool kernel_field_exists(const struct btf *btf, const struct kernel_field *field);
/* Writes the uses that need the field, such as "CPU time, dump". */
#define KERNEL_FIELD_NEED_SIZE 128
void kernel_field_need(const struct kernel_field *field, char ret[KERNEL_FIELD_NEED_SIZE]);

/* A member of a structure or union, also of unnamed ones in it. False: there is none. */
struct kernel_member {
	uint32_t type;   /* its number */
	uint32_t offset; /* bytes from the start of the structure */
	bool is_bits;    /* it is less than its type */
};

bool kernel_types_member(const struct btf *btf, const struct btf_type *type, const char *name,
			 struct kernel_member *ret);

/*
 * The name that a wrong one most likely stands for, of the types of a kind (BTF_KIND_*) whose names
 * begin with the prefix, and without that. The caller frees it. NULL: none is close, or there is no
 * BTF.
 */
char *kernel_types_suggest(uint32_t kind, const char *prefix, const char *name);

/*
 * Does the tracepoint sched_switch pass the state of the previous thread? Since Linux 5.18 it is
 * the last argument (include/trace/events/sched.h).
 */
bool kernel_types_have_prev_state(const char *path);

#endif
