/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_JIT_COPY_H
#define DP_PROCESS_JIT_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process;
struct process_table;

/* Copies of what is in a process's memory, of more than a page, too (sandbox/fetchers.h). */

/* 0 or a negative errno: -EAGAIN and -ETIMEDOUT are no answer yet. */
int jit_copy_bytes(struct process_table *table, const struct process *process, uint64_t from,
		   uint64_t size, void *to);

/* Returns a file of this program's own with these bytes behind `head`, or a negative errno as above. */
int jit_copy_file(struct process_table *table, const struct process *process, const void *head,
		  size_t head_size, uint64_t from, uint64_t size, uint64_t *ret_hash);

/* Whether the file's last page still has this hash. True also if it cannot be read now. */
bool jit_copy_is_same(struct process_table *table, const struct process *process, uint64_t from,
		      uint64_t size, uint64_t hash);

#endif
