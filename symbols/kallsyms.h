/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_KALLSYMS_H
#define DP_SYMBOLS_KALLSYMS_H

#include <stdint.h>

/* The functions of the running kernel and its modules, from /proc/kallsyms. */
struct kallsyms;

/*
 * Returns 0, -ENOMEM, -EACCES if the kernel hides the addresses from this
 * user (kernel.kptr_restrict, CAP_SYSLOG), or another errno.
 */
int kallsyms_new(const char *path, struct kallsyms **ret);
struct kallsyms *kallsyms_free(struct kallsyms *kallsyms);

/*
 * The function at an address and the distance from its start; NULL if there is
 * none, or names are not wanted any more (names.h).
 */
const char *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address, uint64_t *ret_offset);

#endif
