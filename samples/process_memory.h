/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_PROCESS_MEMORY_H
#define DP_SAMPLES_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/arch.h"

/* Pages that are remembered. */
#define PROCESS_MEMORY_PAGES 32

/*
 * The memory of a process that runs, read page by page and remembered until it is asked
 * to forget: a stack is read word by word, and each look into another process is a
 * system call.
 */
struct process_memory {
	pid_t pid; /* the process, or one of its threads */
	int err;   /* why nothing at all could be read, if it is a permission; else 0 */
	struct process_memory_page {
		uint64_t address; /* of the page */
		int err;
		uint8_t bytes[DP_USER_PAGE_SIZE];
	} pages[PROCESS_MEMORY_PAGES];
};

void process_memory_init(struct process_memory *memory, pid_t pid);

/* Read memory as it is, or was a moment ago. A unwinder_read: 0, -EFAULT, -EPERM, -ESRCH. */
int process_memory_read(void *memory, void *ret, size_t size, uint64_t address);

/* What is read next is read anew. */
void process_memory_forget(struct process_memory *memory);

#endif
