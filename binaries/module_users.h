/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_MODULE_USERS_H
#define DP_BINARIES_MODULE_USERS_H

#include <stdint.h>

struct module;

/*
 * The users of sampled modules, even after no process maps them any more: reports, which look up
 * names in a thread of their own.
 */
struct module_users {
	/* No further sample will refer to this module: closes its file. 0 or a negative errno. */
	int (*close)(void *arg, struct module *module);
	/*
	 * Nobody refers any more to modules that were closed before this time (CLOCK_MONOTONIC) and
	 * were not sampled since.
	 */
	uint64_t (*oldest_ns)(void *arg);
	/* Calls fn to free such an object. 0, or a negative errno if it will not be called. */
	int (*release)(void *arg, void (*fn)(void *object), void *object);
	void *arg;
};

#endif
