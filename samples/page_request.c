// SPDX-License-Identifier: Apache-2.0
#include "samples/page_request.h"

#include <stdbool.h>

#include "bpf/abi.h"
#include "limits/limits.h"
#include "sandbox/fetchers.h"

#define SECOND_NS UINT64_C(1000000000)

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
	if (requests->n++ >= PAGE_REQUESTS_MAX)
		return false;
	*last = (struct page_request){ pid, page, now };
	return true;
}

size_t page_request(struct page_requests *requests, struct fetchers *fetchers, pid_t pid,
		    uint64_t address, uint64_t now)
{
	uint64_t page = address & ~(uint64_t)(DP_USER_PAGE_SIZE - 1);

	return is_due(requests, pid, page, now) ?
		       fetchers_touch(fetchers, pid, page, FETCH_MAX_PAGES) :
		       0;
}
