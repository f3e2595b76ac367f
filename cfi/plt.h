/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_PLT_H
#define DP_CFI_PLT_H

#include "cfi/cursor.h"
#include "cfi/expr.h"

/*
 * Classifies the CFA expression that linkers write for this architecture's procedure linkage table:
 * CFI_EXPR_PLT, with `add` the first byte of an entry at which the stack is deeper, else
 * CFI_EXPR_OTHER.
 */
struct cfi_expr cfi_expr_plt(struct cursor c);

#endif
