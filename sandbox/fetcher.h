/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_FETCHER_H
#define DP_SANDBOX_FETCHER_H

#include <stdint.h>

/*
 * A fetcher reads the memory of other processes until its socket is closed. Such a read may never end,
 * nor the process that does it: a page can be one of a file whose file system does not answer. It
 * parses nothing, has CAP_SYS_PTRACE, and no other capability (confine_fetcher()). A request is one
 * message, and so is a reply; replies are in the order of requests.
 */

enum fetch_kind {
	FETCH_READ,  /* so many bytes */
	FETCH_TOUCH, /* a byte of each of so many pages, up to the first that cannot be read */
	FETCH_N_KINDS,
};

/* DP_USER_PAGE_SIZE. Few stacks are deeper than that many pages. */
#define FETCH_PAGE 4096u
#define FETCH_MAX_PAGES 16u

struct fetch_request {
	uint32_t kind; /* enum fetch_kind */
	int32_t pid;
	uint64_t address;
	uint32_t n; /* READ: at most FETCH_PAGE; TOUCH: at most FETCH_MAX_PAGES */
};

struct fetch_reply {
	uint32_t kind;
	int32_t n;         /* bytes, or pages; or a negative errno */
	uint64_t slept_ns; /* how long it took if the memory had to be waited for; else 0 */
	uint8_t bytes[FETCH_PAGE];
};

/* Its scheduling priority, if it may have one. */
#define FETCHER_NICE (-10)

/* Does what is requested, in this process. It may never return. */
void fetch_here(const struct fetch_request *request, struct fetch_reply *ret);

/* What the fetcher does. Returns an exit status. */
int fetcher_run(int socket);

#endif
