/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_KALLSYMS_H
#define DP_SYMBOLS_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

/* The functions of the running kernel and its modules, from /proc/kallsyms. */
struct kallsyms;
struct names;

/*
 * Reads the list at `path`. Look-ups end at names_disable(names); `names` must outlive it. Returns
 * 0, -ENOMEM, -EACCES if the kernel hides addresses from this user (kernel.kptr_restrict,
 * CAP_SYSLOG), or another negative errno.
 */
int kallsyms_new(const struct names *names, const char *path, struct kallsyms **ret);
struct kallsyms *kallsyms_free(struct kallsyms *kallsyms);

/*
 * The same, but reads the list at the first look-up, or in a thread that kallsyms_read_ahead()
 * starts (NULL is allowed). After an error nothing is found.
 */
int kallsyms_new_unread(const struct names *names, const char *path, struct kallsyms **ret);
void kallsyms_read_ahead(struct kallsyms *kallsyms);

/*
 * Starts empty; only kallsyms_add_found() adds functions. For a kernel that is not the running one.
 * 0 or -ENOMEM.
 */
int kallsyms_new_empty(const struct names *names, struct kallsyms **ret);

/*
 * Adds what an earlier look-up found at an address: function, offset and module (NULL: none).
 * Replaces an earlier entry. The caller keeps the strings. 0, -ENOMEM, or -ENOSPC: there are
 * KALLSYMS_MAX_FOUND entries already, more than a kernel has calls.
 */
#define KALLSYMS_MAX_FOUND (1u << 20)
int kallsyms_add_found(struct kallsyms *kallsyms, uint64_t address, const char *name,
		       uint64_t offset, const char *module);

/*
 * Whether the kernel hides its addresses from this process; the list then has zeros
 * (kallsyms_show_value(), kernel/ksyms_common.c). False if it cannot be read.
 */
bool kallsyms_are_hidden(const char *path);

/*
 * Sets how names of discarded functions are freed: `release` calls fn once current look-ups no
 * longer use the names, or fails with a negative errno. Names that are not released are kept until
 * kallsyms_free().
 */
void kallsyms_set_release(struct kallsyms *kallsyms,
			  int (*release)(void *arg, void (*fn)(void *object), void *object),
			  void *arg);

/*
 * Adds a function that the kernel has created since, of a BPF program, according to perf's records.
 * It replaces what was at its address. Other threads may look up names meanwhile. 0 or -ENOMEM.
 */
int kallsyms_add_late(struct kallsyms *kallsyms, uint64_t start, uint64_t size, const char *name);

/*
 * The function at an address and the offset in it; NULL if there is none or after names_disable().
 * Use the name at once: see kallsyms_set_release().
 */
const char *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address, uint64_t *ret_offset);

/*
 * The module that an address is in, "bpf" for a BPF program; NULL: the kernel itself, or unknown.
 */
const char *kallsyms_find_module(const struct kallsyms *kallsyms, uint64_t address);

#endif
