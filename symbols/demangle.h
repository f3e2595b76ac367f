/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEMANGLE_H
#define DP_SYMBOLS_DEMANGLE_H

/*
 * The name of a function as its author wrote it: C++ and Rust names are
 * demangled without their parameters, and the endings that compilers add to
 * clones of a function (.constprop.0, .isra.0, .part.0, .cold, .llvm.123) and
 * versions (@@GLIBC_2.34) are taken off. Returns a new string, or NULL if memory is short.
 */
char *demangle(const char *symbol);

#endif
