/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_MEMORY_H
#define DP_RUNTIMES_MEMORY_H

#include "runtimes/runtime.h"

/* Reads of a process's memory, which may contain anything. They return 0 or a negative errno. */

int memory_read(const struct runtime_memory *memory, uint64_t address, void *ret, size_t size);
int memory_word(const struct runtime_memory *memory, uint64_t address, uint64_t *ret);
int memory_half(const struct runtime_memory *memory, uint64_t address, uint32_t *ret);

/* Reads a text of n bytes, cut to the buffer or at a NUL. It need not be valid UTF-8. */
int memory_text(const struct runtime_memory *memory, uint64_t address, uint64_t n,
		char ret[RUNTIME_NAME_SIZE]);

/* Pages that were read are kept: reads from here on see memory as it is now. */
void memory_forget(const struct runtime_memory *memory);

/* -ESTALE unless the function of a frame still has the frame's tag. */
int memory_check_tag(const struct runtime_memory *memory, const struct dp_chain *chain,
		     const struct dp_runtime_frame *frame);

#endif
