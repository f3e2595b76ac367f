/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_LIST_FETCHERS_H
#define DP_SANDBOX_LIST_FETCHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/parsers.h"

/*
 * Reads lists of processes' mappings, /proc/PID/maps, through fetchers (fetcher.h). A reader waits while
 * the process has its list locked, which a file system of its user can prolong without limit. So the
 * caller never waits: it requests lists, and takes them when they have arrived. A fetcher that does not
 * answer is killed, abandoned if it does not end, and replaced. At most two work for a user at a time; a
 * user who has cost two, or much time, is refused for a while (fetch_shares.h).
 *
 * If no fetcher can be started at all, the caller reads the lists. For one thread at a time. NULL is
 * allowed everywhere: nothing can be requested.
 */
struct list_fetchers;

struct fetched_list {
	pid_t pid;
	uint64_t number; /* of the request */
	/*
	 * 0, the errors of fetch_list(), -ETIMEDOUT: it takes too long, or the process's user is
	 * refused; -EAGAIN: there is no fetcher now; or -ENOMEM.
	 */
	int err;
	char *bytes; /* free() frees them. They may be anything */
	size_t size;
};

/*
 * `parsers` starts them, and is held: one is begun at once. This process has CAP_SYS_PTRACE. 0 or a
 * negative errno.
 */
int list_fetchers_new(struct parsers *parsers, struct list_fetchers **ret);
/* Returns NULL. */
struct list_fetchers *list_fetchers_free(struct list_fetchers *fetchers);

/*
 * Asks for the list of a process, through one of its threads that runs. 0: it will be taken;
 * -ESHUTDOWN: this process has to read it, list_fetch_here(); -ESRCH: there is no such process; or
 * -ENOMEM.
 */
int list_fetchers_ask(struct list_fetchers *fetchers, pid_t pid, pid_t thread,
		      uint64_t *ret_number);
/* It is not wanted any more. It may still come. */
void list_fetchers_cancel(struct list_fetchers *fetchers, uint64_t number);

/* Receives lists that have arrived, and passes on requests. */
void list_fetchers_look(struct list_fetchers *fetchers);
/* Takes the next list received by list_fetchers_look(). False: there is none. */
bool list_fetchers_take(struct list_fetchers *fetchers, struct fetched_list *ret);

/*
 * Waits until something has arrived, at most timeout_ms, and looks. Returns whether there is progress: a
 * list has arrived, a fetcher has started or was given up, or none has started yet but one may.
 */
bool list_fetchers_wait(struct list_fetchers *fetchers, int timeout_ms);

/*
 * A descriptor that is readable when something has arrived; call list_fetchers_look() some times a second,
 * too. -1: there is none.
 */
int list_fetchers_fd(const struct list_fetchers *fetchers);

/* Reads a list in this process. It may never return. */
void list_fetch_here(pid_t pid, pid_t thread, struct fetched_list *ret);

#endif
