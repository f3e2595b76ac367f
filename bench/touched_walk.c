// SPDX-License-Identifier: Apache-2.0
/*
 * The walker, with a call before each access to memory: -fsanitize=thread inserts them, and
 * touched.c has them instead of the sanitizer's library. gcc inserts none before a built-in
 * function, for which its library has one of its own: so has this file.
 */
#include <string.h>

#include "bench/touched.h"

static inline void *set_and_note(void *dst, int value, size_t size)
{
	touched_note((uintptr_t)dst, size);
	return memset(dst, value, size);
}

static inline void *copy_and_note(void *dst, const void *src, size_t size)
{
	touched_note((uintptr_t)src, size);
	touched_note((uintptr_t)dst, size);
	return memcpy(dst, src, size);
}

#define __builtin_memset set_and_note
#define memset set_and_note
#define __builtin_memcpy copy_and_note
#define memcpy copy_and_note

#include "bpf/walk.h"

void touched_walk(struct walk *w)
{
	walk_run(w);
}
