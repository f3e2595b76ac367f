/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEMANGLE_H
#define DP_SYMBOLS_DEMANGLE_H

#include "symbols/names.h"

/* The mangling scheme of a symbol, from its prefix. */
enum mangling { MANGLING_NONE, MANGLING_CPLUS, MANGLING_RUST, MANGLING_D };

/* MANGLING_CPLUS may also be Rust's legacy scheme. */
enum mangling mangling_find(const char *symbol);

/*
 * Returns the function's name as in the source. The simple style demangles names of C++, Rust and D
 * without parameters, and removes the suffixes of clones (.constprop.0, .isra.0, .part.0, .cold,
 * .llvm.123) and versions (@@GLIBC_2.34), but keeps `@plt` of a PLT stub. Names that are or would
 * become very long are returned unchanged. Returns a new string, or NULL if memory is short.
 */
char *demangle(const char *symbol, enum names_demangle style);

/*
 * The same for a name from Go's tables. Like Go's own traces, the simple style shows `[...]` for
 * the types of a generic function.
 */
char *demangle_go(const char *name, enum names_demangle style);

/*
 * A type as in the source, of the name in its std::type_info (Itanium C++ ABI, 2.9.4), which may
 * begin with `*` (gcc's libsupc++/typeinfo: it is compared by its address). What is no such name is
 * returned unchanged. Returns a new string, or NULL if memory is short.
 */
char *demangle_type(const char *name);

#endif
