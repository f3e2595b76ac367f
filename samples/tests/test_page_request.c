// SPDX-License-Identifier: Apache-2.0
/* Which stack pages are read for the next sample, and how often at most. */
#include "samples/page_request.h"

#include <criterion/criterion.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/abi.h"

#define SECOND UINT64_C(1000000000)
#define PAGE DP_USER_PAGE_SIZE

static struct page_requests requests;

/* Maps pages that are not in memory, with nothing mapped behind them. */
static uint64_t map_pages(size_t n)
{
	uint8_t *pages = mmap(NULL, (n + 1) * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(pages, MAP_FAILED);
	cr_assert_eq(munmap(pages + n * PAGE, PAGE), 0);
	return (uint64_t)(uintptr_t)pages;
}

/* The stack continues above: from the address up to the first unmapped page. */
Test(page_request, asks_for_the_pages_above)
{
	uint64_t pages = map_pages(20);

	cr_assert_eq(page_request(&requests, NULL, getpid(), pages + 100, SECOND), 16);
	cr_assert_eq(page_request(&requests, NULL, getpid(), pages + 17 * PAGE, SECOND), 3);
	cr_assert_eq(page_request(&requests, NULL, getpid(), pages + 20 * PAGE - 1, SECOND), 1);
	cr_assert_eq(page_request(&requests, NULL, getpid(), pages + 20 * PAGE, SECOND), 0);
}

Test(page_request, asks_for_a_page_once_a_second)
{
	uint64_t page = map_pages(1), now = 5 * SECOND;

	cr_assert_eq(page_request(&requests, NULL, getpid(), page, now), 1);
	cr_assert_eq(page_request(&requests, NULL, getpid(), page + 8, now + SECOND - 1), 0);
	cr_assert_eq(page_request(&requests, NULL, getpid(), page, now + SECOND), 1);
	/* Of another process it is another page. */
	cr_assert_eq(page_request(&requests, NULL, getpid(), page, now + SECOND), 0);
	page_request(&requests, NULL, getpid() + 1, page, now + SECOND);
	cr_assert_eq(requests.n, 2);
}

Test(page_request, asks_a_hundred_times_a_second_at_most)
{
	uint64_t pages = map_pages(200), now = 5 * SECOND;
	int n = 0;

	for (uint64_t i = 0; i < 200; i++)
		n += page_request(&requests, NULL, getpid(), pages + i * PAGE, now + i) > 0;
	cr_assert_eq(n, 100);
	cr_assert_gt(page_request(&requests, NULL, getpid(), pages + 150 * PAGE, now + SECOND), 0);
}
