/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_PAGE_REQUEST_H
#define DP_SAMPLES_PAGE_REQUEST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Pages of processes that a sample's program could not read because they were not in memory. It cannot
 * wait for them; user space reads them, so that the next sample finds them. An unmapped page cannot
 * be read, and is not requested again soon.
 */

#define PAGE_REQUESTS_REMEMBERED 256

struct fetchers;

struct page_requests {
	struct page_request {
		pid_t pid;
		uint64_t page;
		uint64_t time;
	} last[PAGE_REQUESTS_REMEMBERED]; /* by a hash of PID and page */
	uint64_t since;                   /* start of the current second */
	unsigned int n;                   /* requests since then */
};

/*
 * Requests the page of an address in a process, and some above it, where the stack continues; at most once a
 * second per page, with a limit for all. Returns how many pages of this or earlier requests have come into
 * memory since the last call: 0 if nothing was requested, or the process has no such page, or it may not be
 * read.
 */
size_t page_request(struct page_requests *requests, struct fetchers *fetchers, pid_t pid,
		    uint64_t address, uint64_t now);

#endif
