/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_FETCHERS_H
#define DP_SANDBOX_FETCHERS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/fetcher.h"
#include "sandbox/parsers.h"

/*
 * Reads memory of other processes through a fetcher (fetcher.h), since a page may never arrive. A
 * fetcher that does not answer is killed, abandoned if it does not end, and replaced. A user whose
 * memory has cost fetchers, or much time, is refused for a while (fetch_shares.h).
 *
 * If no fetcher can be started at all, or `fetchers` is NULL below, this process reads the memory.
 * For one thread at a time.
 */
struct fetchers;

/* `parsers` starts them, and is held. This process has CAP_SYS_PTRACE. 0 or -ENOMEM. */
int fetchers_new(struct parsers *parsers, struct fetchers **ret);
/* Returns NULL. */
struct fetchers *fetchers_free(struct fetchers *fetchers);

/* For a caller with nothing else to do: limits only the time of a single read. NULL is allowed. */
void fetchers_be_patient(struct fetchers *fetchers);

/*
 * Reads at most a page. 0; -ETIMEDOUT: it takes too long, or the process's user is refused;
 * -EAGAIN: there is no fetcher now; -EFAULT, -ESRCH or -EPERM as process_vm_readv(2).
 */
int fetchers_read(struct fetchers *fetchers, pid_t pid, uint64_t address, void *ret, size_t size);

/*
 * Brings pages from this one on into memory, at most FETCH_MAX_PAGES and up to the first that cannot be
 * read. Does not wait, and drops requests when too many are pending. Returns how many pages have been
 * read since the last call, for any request.
 */
size_t fetchers_touch(struct fetchers *fetchers, pid_t pid, uint64_t page, size_t n_pages);

/* The same count, without a new request. */
size_t fetchers_touched(struct fetchers *fetchers);

/* Brings the page of an address into memory soon. Waits if too many requests are pending. */
void fetchers_bring(struct fetchers *fetchers, pid_t pid, uint64_t address);

#endif
