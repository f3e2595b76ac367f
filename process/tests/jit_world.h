/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_TESTS_JIT_WORLD_H
#define DP_PROCESS_TESTS_JIT_WORLD_H

/* Lists of generated code in memory: this process's own, as nothing fetches for the table. */

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "binaries/binary_store.h"
#include "limits/limits.h"
#include "process/process_table.h"

#define SECOND UINT64_C(1000000000)

/* As a process has them. */
struct entry {
	struct entry *next, *previous;
	const void *file;
	uint64_t size;
};

struct list {
	uint32_t version, action;
	struct entry *relevant, *first;
};

static struct binary_store binaries;
static struct process_table table;
static struct process p;
static struct list list, other_list;
static struct binary with_list;
static uint8_t bytes[4096];
static size_t n_got, n_bytes;
static struct binary *got[2 * JIT_OBJECTS_MAX];
static int get_err, load_err;
/* Of the next ones: none has any, unless a test says so. */
static struct elf_segment code[JIT_OBJECT_MAX_CODE];
static size_t n_code;
/* Passes with each look at the clock. */
static uint64_t clock_ns, tick_ns;

int __wrap_binary_store_get_object(struct binary_store *store, pid_t pid, int fd,
				   struct binary **ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_binary_store_get_object(struct binary_store *store, pid_t pid, int fd,
				   struct binary **ret)
{
	struct binary *b;

	n_bytes += (size_t)lseek(fd, 0, SEEK_END);
	close(fd);
	if (get_err < 0)
		return get_err;
	b = calloc(1, sizeof(*b));
	cr_assert(b);
	b->object_size = 1;
	b->err = load_err;
	b->elf.segments = load_err < 0 ? NULL : code;
	b->elf.n_segments = load_err < 0 ? 0 : n_code;
	*ret = got[n_got++] = b;
	return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	clock_ns += tick_ns;
	*ret = (struct timespec){ (time_t)(clock_ns / SECOND), (long)(clock_ns % SECOND) };
	return 0;
}

static inline void load(struct binary *b, const struct list *l, uint64_t at)
{
	const struct mapping m = { at, at + 0x1000, .binary = b, .died = TIME_NEVER };

	b->elf.jit_descriptor = (uintptr_t)l;
	cr_assert_eq(process_add_mapping(&p, &m), 0);
	jit_objects_meet(&p, &m);
}

static inline void put_memory(struct process *to, uint64_t start, uint64_t stop, uint64_t born)
{
	const struct mapping m = { start, stop, .born = born, .died = TIME_NEVER };

	cr_assert_eq(process_add_mapping(to, &m), 0);
}

static void begin(void)
{
	list = other_list = (struct list){ .version = 1 };
	table = (struct process_table){ .binaries = &binaries };
	p = (struct process){ .pid = getpid(),
			      .thread = getpid(),
			      .exited = TIME_NEVER,
			      .left = TIME_NEVER,
			      .due = &table.due };
	n_got = n_bytes = n_code = 0;
	load(&with_list, &list, 0x1000);
	cr_assert(p.jit_objects);
}

/* Memory of the few binaries is left to the end. */
static void end(void)
{
	p.jit_objects = jit_objects_free(p.jit_objects);
	history_done(&p.mappings);
}

static inline void look(struct process *at, uint64_t now)
{
	(void)jit_objects_update(&table, at, now, UINT64_MAX);
}

static inline void put(struct entry *e)
{
	*e = (struct entry){ .next = list.first, .file = bytes, .size = sizeof(bytes) };
	if (e->next)
		e->next->previous = e;
	list.first = e;
}

#endif
