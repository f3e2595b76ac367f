/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_PAGE_REQUEST_H
#define DP_SAMPLES_PAGE_REQUEST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Pages of a process that a walk could not read, because they were not in memory. The
 * walker cannot wait for them; user space asks for them, so that the next walk finds
 * them. A page that is mapped nowhere is not to be had, and not asked for again soon.
 */

#define PAGE_REQUESTS_REMEMBERED 256

struct page_requests {
	struct page_request {
		pid_t pid;
		uint64_t page;
		uint64_t time;
	} last[PAGE_REQUESTS_REMEMBERED]; /* each at the place that its page determines */
	uint64_t since;                   /* when counting began, for the limit */
	unsigned int n;                   /* since then */
};

/*
 * Ask for the page that an address of a process lies in, and for some above it, where the
 * stack goes on. At most once a second for each page, and not too many in all. Returns how many are there
 * now: 0 if it was not asked, or the process has no such page, or may not be read.
 */
size_t page_request(struct page_requests *requests, pid_t pid, uint64_t address, uint64_t now);

#endif
