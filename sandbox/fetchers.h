/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_FETCHERS_H
#define DP_SANDBOX_FETCHERS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/fetcher.h"
#include "sandbox/parsers.h"

/*
 * Reads the memory of other processes by a fetcher (fetcher.h), where it can be a page that nobody ever
 * provides. A fetcher that does not answer is ended, or left to itself if it cannot be, and replaced.
 * Users whose memory costs that, or much time, are not served for a while (fetch_shares.h).
 *
 * Where no fetcher can be started at all, this process reads the memory. For one thread at a time.
 * NULL everywhere below: likewise.
 */
struct fetchers;

/* `parsers` starts them, and is held. This process has CAP_SYS_PTRACE. 0 or -ENOMEM. */
int fetchers_new(struct parsers *parsers, struct fetchers **ret);
/* Returns NULL. */
struct fetchers *fetchers_free(struct fetchers *fetchers);

/* For one that has nothing else to do: no time is too much, but that of a single read. NULL is allowed. */
void fetchers_be_patient(struct fetchers *fetchers);

/*
 * Reads at most a page. 0; -ETIMEDOUT: it takes too long, or the process's user is not served;
 * -EAGAIN: it cannot be told now; -EFAULT, -ESRCH or -EPERM as process_vm_readv(2).
 */
int fetchers_read(struct fetchers *fetchers, pid_t pid, uint64_t address, void *ret, size_t size);

/*
 * Brings pages from this one on into memory, at most FETCH_MAX_PAGES and up to the first that cannot be
 * read. Does not wait for it, and drops what is too much at a time. Returns how many pages have been
 * read since the last call, for it or for earlier ones.
 */
size_t fetchers_touch(struct fetchers *fetchers, pid_t pid, uint64_t page, size_t n_pages);

/* The same without another request. */
size_t fetchers_touched(struct fetchers *fetchers);

/* Brings the page of an address into memory, soon. If too much is requested, waits for that. */
void fetchers_bring(struct fetchers *fetchers, pid_t pid, uint64_t address);

#endif
