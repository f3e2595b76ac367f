/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_PROCESS_MEMORY_H
#define DP_SANDBOX_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/arch.h"

struct fetchers;

/* The number of cached pages. */
#define PROCESS_MEMORY_PAGES 32

/*
 * The memory of a running process, read by page and cached until process_memory_forget(): a stack
 * is read word by word, and each read of another process is a system call.
 */
struct process_memory {
	struct fetchers *fetchers; /* who read it; NULL: this process does */
	pid_t pid;                 /* the process, or one of its threads */
	int err;                   /* the error if reading is not permitted at all, else 0 */
	struct process_memory_page {
		uint64_t address; /* of the page */
		int err;
		uint8_t bytes[DP_USER_PAGE_SIZE];
	} pages[PROCESS_MEMORY_PAGES];
};

/* fetchers: of the caller, or NULL. */
void process_memory_init(struct process_memory *memory, struct fetchers *fetchers, pid_t pid);

/* Reads memory as it is, or was when cached. An unwinder_read: 0, or an error of fetchers_read(). */
int process_memory_read(void *memory, void *ret, size_t size, uint64_t address);

/* Empties the cache. */
void process_memory_forget(struct process_memory *memory);

#endif
