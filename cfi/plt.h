/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_PLT_H
#define DP_CFI_PLT_H

#include "cfi/cursor.h"
#include "cfi/expr.h"

/*
 * The expression for the CFA in a procedure linkage table, which linkers write for the
 * architecture: CFI_EXPR_PLT, whose `add` says from which byte of an entry on the stack is
 * deeper; else CFI_EXPR_OTHER.
 */
struct cfi_expr cfi_expr_plt(struct cursor c);

#endif
