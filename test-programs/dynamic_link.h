/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEST_DYNAMIC_LINK_H
#define DP_TEST_DYNAMIC_LINK_H

/*
 * The plug-in's entry point: makes the first call to each function of its library, which the
 * dynamic linker binds at that moment. Every function calls fn().
 */
void plugin_run(void (*fn)(void));

/* The library's functions. */
#define LAZY_FUNCTIONS(X)                                                                          \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

#define X(n) void lazy_##n(void (*fn)(void));
LAZY_FUNCTIONS(X)
#undef X

/* Chosen by a resolver (ifunc), which calls what lazy_resolver_calls points to. */
void lazy_chosen(void (*fn)(void));
extern void (*lazy_resolver_calls)(void);

#endif
