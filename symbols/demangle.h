/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEMANGLE_H
#define DP_SYMBOLS_DEMANGLE_H

#include "symbols/names.h"

/* How a name of the linker's says what else the function is part of, by its first letters. */
enum mangling { MANGLING_NONE, MANGLING_CPLUS, MANGLING_RUST, MANGLING_D };

/* MANGLING_CPLUS may be Rust's older scheme, too. */
enum mangling mangling_find(const char *symbol);

/*
 * The name of a function as its author wrote it: names of C++, Rust and D are
 * demangled without their parameters, and the endings that compilers add to
 * clones of a function (.constprop.0, .isra.0, .part.0, .cold, .llvm.123) and
 * versions (@@GLIBC_2.34) are taken off; `@plt`, of a function's stub, stays. That is the simple
 * style.
 * Names that are very long, or would become so, stay as they are. Returns a new
 * string, or NULL if memory is short.
 */
char *demangle(const char *symbol, enum names_demangle style);

/*
 * The same of a name that Go's tables have: as Go's own traces show it, `[...]` stands for
 * the types of a generic function, unless the style is another one than the simple one.
 */
char *demangle_go(const char *name, enum names_demangle style);

#endif
