/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_MODULE_USERS_H
#define DP_BINARIES_MODULE_USERS_H

#include <stdint.h>

struct module;

/*
 * Who refers to modules that were sampled, also when no process has them mapped any more: reports,
 * which look names up in a thread of their own.
 */
struct module_users {
	/* There will be no further sample of a module: have its file closed. 0 or a negative errno. */
	int (*close)(void *arg, struct module *module);
	/*
	 * Modules that were let go before this time (CLOCK_MONOTONIC), and of which no sample has come
	 * since, are referred to no more.
	 */
	uint64_t (*oldest_ns)(void *arg);
	/* Have one of these freed by fn. 0, or a negative errno: it is not. */
	int (*release)(void *arg, void (*fn)(void *object), void *object);
	void *arg;
};

#endif
