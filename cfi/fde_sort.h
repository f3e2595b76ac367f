/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_FDE_SORT_H
#define DP_CFI_FDE_SORT_H

#include <stddef.h>

#include "cfi/entry.h"

/*
 * Sort FDEs by their start, those that start alike by their place in the
 * section, in which order they come. *fdes is from malloc(), and may be another
 * array of n afterwards. 0, or -ENOMEM with *fdes as it was.
 */
int fde_sort(struct cfi_fde **fdes, size_t n);

#endif
