/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_PYTHON_PYTHON_H
#define DP_RUNTIMES_PYTHON_PYTHON_H

#include "runtimes/runtime.h"

/* Versions as major << 8 | minor. This one and later ones publish their layout (published.h). */
#define PYTHON_PUBLISHES 0x30d

/*
 * Reads the layout that _PyRuntime begins with, and checks that its members lie in their structures.
 * 0, or -ENOTSUP if it is none, or of a version that is not known.
 */
int python_published(const struct elf_file *file, uint64_t runtime, uint32_t version,
		     struct dp_runtime_image *ret);

/* No version's struct _Py_DebugOffsets is larger. */
#define PYTHON_PUBLISHED_SIZE 1024

struct python_tasks;

/*
 * Likewise where tasks are, but for what their own module publishes, from the first
 * PYTHON_PUBLISHED_SIZE bytes of _PyRuntime in memory.
 */
int python_published_tasks(const uint8_t *bytes, uint32_t version, struct python_tasks *ret);

/*
 * A frame that is a task of asyncio has this bit in its position: its code is the string of its name,
 * with a word of it as the tag; or with the other bit, its number.
 */
#define PYTHON_TASK (1ULL << 62)
#define PYTHON_TASK_NUMBER (1ULL << 61)

/* The runtime's `read` and `line`: see struct runtime_source. */
int python_read_code(const void *layout, const struct dp_runtime_frame *frame,
		     const struct runtime_memory *memory, struct runtime_code **ret);
unsigned int python_code_line(const void *layout, const struct runtime_code *code,
			      const struct dp_runtime_frame *frame);

/*
 * The line of a byte of a code object's instructions, by its line table and first line, which need not
 * be above 0, as made code has any; 0: it has none. A negative offset is in front of the first instruction.
 */
unsigned int python_line(uint32_t version, const uint8_t *table, size_t size, int first,
			 int64_t offset);

#endif
