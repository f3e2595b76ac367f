/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_FDE_SORT_H
#define DP_CFI_FDE_SORT_H

#include <stddef.h>

#include "cfi/entry.h"

/*
 * Sorts FDEs by start, and those with equal starts by their order in the section. *fdes is from
 * malloc(), and may be another array of n afterwards. Returns 0, or -ENOMEM with *fdes unchanged.
 */
int fde_sort(struct cfi_fde **fdes, size_t n);

#endif
