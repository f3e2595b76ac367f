/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_PASSED_H
#define DP_SYMBOLS_PASSED_H

#include "symbols/member_path.h"

/*
 * Where a parameter is when its function is entered, at the address, by the parameters in front of it and the
 * convention of calls: for code whose debug information says where it will be behind the prologue. C and
 * C++ follow the psABI (3.2.3). Rust's own convention is not fixed: known is what all versions do (compiler,
 * rustc_target::callconv). Go's debug information always tells.
 *
 * False: it is not known. The place has a `why`, which is not written to.
 */
bool passed_place(Dwarf_Die *function, uint64_t address, Dwarf_Die *parameter,
		  struct typed_place *ret);

/* Where the result of a function is when it has returned. Else as passed_place(). */
bool passed_result(Dwarf_Die *function, struct typed_place *ret);

/*
 * Is it one of the registers that have arguments? Nothing keeps one across calls: what is there during the
 * whole of a function is there when it is entered.
 */
bool passed_in_register(int reg);

#endif
