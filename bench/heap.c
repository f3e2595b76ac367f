// SPDX-License-Identifier: Apache-2.0
#include "bench/heap.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>

/* Names of ld's --wrap: NAME() calls __wrap_NAME(), and __real_NAME() is the original. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
void __wrap_free(void *p);

static bool counting;
static int64_t in_use, most; /* negative if older memory was freed */

static void *taken(void *p)
{
	if (!counting)
		return p;
	in_use += (int64_t)malloc_usable_size(p);
	if (in_use > most)
		most = in_use;
	return p;
}

static int64_t size_of(void *p)
{
	return counting ? (int64_t)malloc_usable_size(p) : 0;
}

/* Accounts for an object of old_size that was moved or freed. */
static void *replaced(int64_t old_size, void *p)
{
	if (p)
		in_use -= old_size;
	return taken(p);
}

void *__wrap_malloc(size_t size)
{
	return taken(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return taken(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	int64_t old_size = size_of(p);

	return replaced(old_size, __real_realloc(p, size));
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	int64_t old_size = size_of(p);

	return replaced(old_size, __real_reallocarray(p, n, size));
}

void __wrap_free(void *p)
{
	in_use -= size_of(p);
	__real_free(p);
}

void heap_start(void)
{
	in_use = 0;
	most = 0;
	counting = true;
}

size_t heap_stop(void)
{
	counting = false;
	return (size_t)most;
}
