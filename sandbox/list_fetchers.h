/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_LIST_FETCHERS_H
#define DP_SANDBOX_LIST_FETCHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/parsers.h"

/*
 * Reads the lists of processes' mappings, /proc/PID/maps, by fetchers (fetcher.h). Whoever reads
 * one waits while the process has it locked, and that can be for as long as a file system of its
 * user likes. So nobody waits here: lists are asked for, and taken when they are there. A fetcher
 * that does not answer is ended, or left to itself if it cannot be, and replaced. Two are busy for
 * a user at a time; a user who has cost two, or much time, is refused for a while (fetch_shares.h).
 *
 * Where no fetcher can be started at all, this process reads them. For one thread at a time. NULL
 * is allowed everywhere: nothing can be asked.
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

/* Looks for lists that are there, and passes on requests. */
void list_fetchers_look(struct list_fetchers *fetchers);
/* The next one that was there when it was looked. False: there is none. */
bool list_fetchers_take(struct list_fetchers *fetchers, struct fetched_list *ret);

/*
 * Waits until there is something to look for, or for some milliseconds, and looks. Returns whether
 * it goes on: a list is there, or a fetcher has started or was given up; or none has started yet,
 * and one may.
 */
bool list_fetchers_wait(struct list_fetchers *fetchers, int timeout_ms);

/*
 * Readable when there is something to look for; it is also to be looked some times a second. -1:
 * never.
 */
int list_fetchers_fd(const struct list_fetchers *fetchers);

/* Reads a list in this process. It may never return. */
void list_fetch_here(pid_t pid, pid_t thread, struct fetched_list *ret);

#endif
