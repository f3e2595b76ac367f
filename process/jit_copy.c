// SPDX-License-Identifier: Apache-2.0
#include "process/jit_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/fnv1a.h"
#include "base/write_all.h"
#include "process/process_table.h"
#include "sandbox/fetchers.h"

int jit_copy_bytes(struct process_table *table, const struct process *p, uint64_t from,
		   uint64_t size, void *to)
{
	uint8_t *bytes = to;
	int err = 0;

	for (uint64_t done = 0; err == 0 && done < size;) {
		uint64_t left = DP_USER_PAGE_SIZE - (from + done) % DP_USER_PAGE_SIZE;
		uint64_t n = size - done < left ? size - done : left;

		err = fetchers_read(table->fetchers, p->thread, from + done, bytes + done, n);
		done += n;
	}
	return err;
}

/* Names are at the end of a file. */
static uint64_t end_of(uint64_t size)
{
	return size < DP_USER_PAGE_SIZE ? size : DP_USER_PAGE_SIZE;
}

bool jit_copy_is_same(struct process_table *table, const struct process *p, uint64_t from,
		      uint64_t size, uint64_t hash)
{
	uint64_t n = end_of(size);
	uint8_t end[DP_USER_PAGE_SIZE];

	return jit_copy_bytes(table, p, from + size - n, n, end) < 0 ||
	       hash_fnv1a(FNV1A_START, end, n) == hash;
}

/* Nobody else has it, and nobody writes to it any more. */
int jit_copy_file(struct process_table *table, const struct process *p, const void *head,
		  size_t head_size, uint64_t from, uint64_t size, uint64_t *ret_hash)
{
	_cleanup_free_ uint8_t *bytes = malloc(size);
	_cleanup_close_ int file = -1;
	int err = bytes ? jit_copy_bytes(table, p, from, size, bytes) : -ENOMEM;

	if (err < 0)
		return err;
	file = memfd_create("jit", MFD_CLOEXEC);
	if (file < 0)
		return -errno;
	err = write_all(file, head, head_size) ?: write_all(file, bytes, size);
	*ret_hash = hash_fnv1a(FNV1A_START, bytes + size - end_of(size), end_of(size));
	return err < 0 ? err : steal_fd(&file);
}
