/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_FETCHER_H
#define DP_SANDBOX_FETCHER_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/arch.h"

/*
 * A fetcher reads memory of other processes, or lists of their mappings, until its socket is closed.
 * Such a read may never return, and then the fetcher never ends: the page may be of a file whose
 * file system does not answer, and a thread that waits for that page may have locked the list. It
 * parses nothing and has CAP_SYS_PTRACE alone (confine_fetcher()). Requests and replies are one
 * message each; replies come in the order of requests.
 */

enum fetch_kind {
	FETCH_READ,  /* so many bytes */
	FETCH_TOUCH, /* a byte of each of so many pages, up to the first that cannot be read */
	FETCH_LIST,  /* the list of mappings, into the file that comes with the request */
	FETCH_N_KINDS,
};

struct fetch_request {
	uint32_t kind; /* enum fetch_kind */
	int32_t pid;
	uint64_t address;
	uint32_t n; /* READ: at most a page; TOUCH: at most FETCH_MAX_PAGES */
};

struct fetch_reply {
	uint32_t kind;
	int32_t n;         /* bytes, or pages; or a negative errno: see fetch_list() */
	uint64_t slept_ns; /* how long the read took if it had to wait; else 0 */
	uint8_t bytes[DP_USER_PAGE_SIZE];
};

/* Its scheduling priority, if it may have one. */
#define FETCHER_NICE (-10)

/* Serves a request other than FETCH_LIST in this process. It may never return. */
void fetch_here(const struct fetch_request *request, struct fetch_reply *ret);

/*
 * Copies /proc/PID/maps (proc_pid_maps(5)) into a file. The kernel lets a thread wait for the lock
 * that is needed, before Linux 6.17 or where a mapping is being changed (m_start(),
 * fs/proc/task_mmu.c). May not return. Returns the number of bytes, -ESRCH if there is no such
 * process, -EACCES if it may not be seen, -EFBIG for more than FETCH_LIST_MAX bytes, or another
 * negative errno.
 */
int fetch_list(pid_t pid, int to);

/* What the fetcher does. Returns an exit status. */
int fetcher_run(int socket);

#endif
