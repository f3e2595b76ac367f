/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_VALUES_CALLING_CONVENTION_H
#define DP_VALUES_CALLING_CONVENTION_H

#include "values/member_path.h"

/*
 * Finds where a parameter is at its function's entry, at `address`, by the calling convention and the parameters before
 * it: for code whose debug information only describes locations after the prologue. C and C++ follow the psABI
 * (3.2.3). Rust's own convention is not fixed; only what all versions do is used (compiler, rustc_target::callconv).
 * Go needs none of this: its debug information is right at the entry.
 *
 * False: not known. The place has a `why`, which is not written to.
 */
bool calling_convention_parameter(Dwarf_Die *function, uint64_t address, Dwarf_Die *parameter,
				  struct typed_place *ret);

/* Finds where the result of a function is after it has returned. Otherwise as calling_convention_parameter(). */
bool calling_convention_result(Dwarf_Die *function, struct typed_place *ret);

/*
 * Is it an argument register? These are not preserved across calls, so what is in one during a whole function is
 * there at its entry.
 */
bool calling_convention_has_register(int reg);

#endif
