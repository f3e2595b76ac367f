/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_KALLSYMS_H
#define DP_SYMBOLS_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

/* The functions of the running kernel and its modules, from /proc/kallsyms. */
struct kallsyms;
struct names;

/*
 * `names`: of which these are, and which outlive them; they say whether any are wanted.
 * Returns 0, -ENOMEM, -EACCES if the kernel hides the addresses from this
 * user (kernel.kptr_restrict, CAP_SYSLOG), or another errno.
 */
int kallsyms_new(const struct names *names, const char *path, struct kallsyms **ret);
struct kallsyms *kallsyms_free(struct kallsyms *kallsyms);

/*
 * The same, but the list is read when a function is first asked for, or by a thread that
 * kallsyms_read_ahead() starts (NULL is nothing); after an error, nothing is found.
 */
int kallsyms_new_unread(const struct names *names, const char *path, struct kallsyms **ret);
void kallsyms_read_ahead(struct kallsyms *kallsyms);

/*
 * None, but for those that kallsyms_add_found() tells: the names of a kernel that is not
 * this one, or is not running any more. 0 or -ENOMEM.
 */
int kallsyms_new_empty(const struct names *names, struct kallsyms **ret);

/*
 * What was found at this address: its function, how far from its start, and its module,
 * NULL for none. A later one replaces it. The names stay the caller's. 0, -ENOMEM, or
 * -ENOSPC: KALLSYMS_MAX_FOUND others are known, more than a kernel has calls.
 */
#define KALLSYMS_MAX_FOUND (1u << 20)
int kallsyms_add_found(struct kallsyms *kallsyms, uint64_t address, const char *name,
		       uint64_t offset, const char *module);

/*
 * Does the kernel hide its addresses from this process? That file then has
 * zeros (kallsyms_show_value(), kernel/ksyms_common.c). False if it cannot be read.
 */
bool kallsyms_are_hidden(const char *path);

/*
 * Have the names of functions that are forgotten freed by `release`, which calls fn when whoever looks names up
 * has done with those that it has now; or it fails, with a negative errno. Else they are kept
 * until kallsyms_free().
 */
void kallsyms_set_release(struct kallsyms *kallsyms,
			  int (*release)(void *arg, void (*fn)(void *object), void *object),
			  void *arg);

/*
 * A function that the kernel has made since, of a BPF program, as perf's records
 * tell; what was at its place is forgotten. Others may be looking names up. 0 or -ENOMEM.
 */
int kallsyms_add_late(struct kallsyms *kallsyms, uint64_t start, uint64_t size, const char *name);

/*
 * The function at an address and the distance from its start; NULL if there is
 * none, or names are not wanted any more (names.h). The name is for use at once: see
 * kallsyms_set_release().
 */
const char *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address, uint64_t *ret_offset);

/* The module that it is in, "bpf" for a BPF program; NULL: the kernel itself, or nothing known. */
const char *kallsyms_find_module(const struct kallsyms *kallsyms, uint64_t address);

#endif
