// SPDX-License-Identifier: Apache-2.0
#include "samples/page_request.h"

#include <stdbool.h>
#include <sys/uio.h>

#include "bpf/abi.h"

#define SECOND_NS UINT64_C(1000000000)

/* The most requests per second: each can cause a disk read. */
#define MAX_REQUESTS 100

/* Pages per request: few stacks are deeper. */
#define N_PAGES 16

static bool is_due(struct page_requests *requests, pid_t pid, uint64_t page, uint64_t now)
{
	struct page_request *last = &requests->last[(page / DP_USER_PAGE_SIZE ^ (uint64_t)pid) %
						    PAGE_REQUESTS_REMEMBERED];

	if (last->pid == pid && last->page == page && now - last->time < SECOND_NS)
		return false;
	if (now - requests->since >= SECOND_NS) {
		requests->since = now;
		requests->n = 0;
	}
	if (requests->n++ >= MAX_REQUESTS)
		return false;
	*last = (struct page_request){ pid, page, now };
	return true;
}

size_t page_request(struct page_requests *requests, pid_t pid, uint64_t address, uint64_t now)
{
	uint64_t page = address & ~(uint64_t)(DP_USER_PAGE_SIZE - 1);
	char bytes[N_PAGES];
	struct iovec local = { bytes, sizeof(bytes) }, remote[N_PAGES];
	ssize_t n;

	if (!is_due(requests, pid, page, now))
		return 0;
	for (size_t i = 0; i < N_PAGES; i++)
		remote[i] = (struct iovec){ (void *)(page + i * DP_USER_PAGE_SIZE), 1 };
	/* Ends at the first missing page. */
	n = process_vm_readv(pid, &local, 1, remote, N_PAGES, 0);
	return n > 0 ? (size_t)n : 0;
}
