// SPDX-License-Identifier: Apache-2.0
/* Lists of generated code in memory: this process's own, as nothing fetches for the table. */
#include "process/jit_objects.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "binaries/binary.h"
#include "limits/limits.h"
#include "process/process.h"

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
static struct jitted jitted;
static struct list list;
static struct binary with_list;
static uint8_t bytes[4096];
static size_t n_got, n_bytes;
static struct binary *got[2 * JIT_OBJECTS_MAX];

int __wrap_binary_store_get_object(struct binary_store *store, pid_t pid, int fd,
				   struct binary **ret);

/* None has any code. */
int __wrap_binary_store_get_object(struct binary_store *store, pid_t pid, int fd,
				   struct binary **ret)
{
	n_bytes += (size_t)lseek(fd, 0, SEEK_END);
	close(fd);
	*ret = got[n_got++] = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void begin(void)
{
	struct mapping m = { .binary = &with_list };

	list = (struct list){ .version = 1 };
	with_list.elf.jit_descriptor = (uintptr_t)&list;
	table = (struct process_table){ .binaries = &binaries };
	p = (struct process){ .pid = getpid(), .thread = getpid(), .jitted = &jitted };
	n_got = n_bytes = 0;
	jit_objects_meet(&p, &m);
	cr_assert(p.jit_objects);
}

/* Memory of the few binaries is left to the end. */
static void end(void)
{
	p.jit_objects = jit_objects_free(p.jit_objects);
}

TestSuite(jit_objects, .init = begin, .fini = end);

static void put(struct entry *e)
{
	*e = (struct entry){ .next = list.first, .file = bytes, .size = sizeof(bytes) };
	list.first = e;
}

Test(jit_objects, each_entry_is_copied_once)
{
	struct entry first, second;

	put(&first);
	put(&second);
	second.size = 100;
	jit_objects_update(&table, &p, SECOND);
	cr_expect_eq(n_got, 2);
	cr_expect_eq(n_bytes, sizeof(bytes) + 100);
	jitted.n_met++;
	jit_objects_update(&table, &p, 10 * SECOND);
	cr_expect_eq(n_got, 2);
}

Test(jit_objects, it_is_read_again_for_samples_only)
{
	struct entry first, second;

	put(&first);
	jit_objects_update(&table, &p, SECOND);
	put(&second);
	jit_objects_update(&table, &p, 10 * SECOND);
	cr_expect_eq(n_got, 1);
	jitted.n_met++;
	jit_objects_update(&table, &p, 20 * SECOND);
	cr_expect_eq(n_got, 2);
	/* And not for each of many. */
	put(&(struct entry){ 0 });
	jitted.n_met++;
	jit_objects_update(&table, &p, 20 * SECOND + 1);
	cr_expect_eq(n_got, 2);
}

Test(jit_objects, what_is_taken_off_the_list_is_let_go)
{
	struct entry first, second;

	put(&first);
	put(&second);
	jit_objects_update(&table, &p, SECOND);
	cr_assert_eq(n_got, 2);
	list.first = &second;
	second.next = NULL;
	jitted.n_met++;
	jit_objects_update(&table, &p, 10 * SECOND);
	cr_expect_eq(got[0]->n_users + got[1]->n_users, 1);
	/* Put there again, it may be other code. */
	put(&first);
	jitted.n_met++;
	jit_objects_update(&table, &p, 20 * SECOND);
	cr_expect_eq(n_got, 3);
}

Test(jit_objects, another_file_at_the_same_place_is_seen)
{
	struct entry first;

	put(&first);
	jit_objects_update(&table, &p, SECOND);
	bytes[sizeof(bytes) - 1]++;
	jitted.n_met++;
	jit_objects_update(&table, &p, 10 * SECOND);
	cr_assert_eq(n_got, 2);
	cr_expect_eq(got[0]->n_users, 0);
	cr_expect_eq(got[1]->n_users, 1);
}

Test(jit_objects, it_is_read_again_for_samples_in_its_code)
{
	struct table used = { .last_used = SECOND };
	struct entry first, second;

	put(&first);
	jit_objects_update(&table, &p, SECOND);
	got[0]->table = &used;
	put(&second);
	jit_objects_update(&table, &p, 10 * SECOND);
	cr_expect_eq(n_got, 1);
	used.last_used = 2 * SECOND;
	jit_objects_update(&table, &p, 20 * SECOND);
	cr_expect_eq(n_got, 2);
}

Test(jit_objects, a_circle_ends)
{
	struct entry first, second;

	put(&first);
	put(&second);
	first.next = &second;
	jit_objects_update(&table, &p, SECOND);
	cr_expect_eq(n_got, 2);
	jitted.n_met++;
	jit_objects_update(&table, &p, 10 * SECOND);
	cr_expect_eq(n_got, 2);
}

Test(jit_objects, forged_ones_are_left_out)
{
	static uint8_t readable[JIT_OBJECT_SIZE + 1];
	struct entry large, far, empty, good;

	put(&good);
	put(&large);
	large.file = readable;
	large.size = sizeof(readable);
	put(&far);
	far.file = (const void *)0xffffffffff600000;
	far.size = 1;
	put(&empty);
	empty.size = 0;
	jit_objects_update(&table, &p, SECOND);
	cr_expect_eq(n_got, 1);
	/* Nor is the rest of a list that leads nowhere, or of another version. */
	list.first = (struct entry *)8;
	jitted.n_met++;
	jit_objects_update(&table, &p, 10 * SECOND);
	cr_expect_eq(got[0]->n_users, 1, "it is not known to be gone");
	list = (struct list){ .version = 2, .first = &good };
	jitted.n_met++;
	jit_objects_update(&table, &p, 20 * SECOND);
	cr_expect_eq(got[0]->n_users, 0);
}

Test(jit_objects, only_so_many_are_copied)
{
	static struct entry many[JIT_OBJECTS_MAX + 10];

	for (size_t i = 0; i < JIT_OBJECTS_MAX + 10; i++)
		put(&many[i]);
	for (uint64_t i = 1; i < 20; i++) {
		jitted.n_met++;
		jit_objects_update(&table, &p, i * 10 * SECOND);
	}
	cr_expect_eq(n_got, JIT_OBJECTS_MAX);
}

Test(jit_objects, a_child_looks_for_itself)
{
	struct entry first;

	put(&first);
	jit_objects_update(&table, &p, SECOND);
	struct process child = { .pid = p.pid,
				 .thread = p.thread,
				 .jit_objects = jit_objects_copy(p.jit_objects) };
	jit_objects_update(&table, &child, SECOND);
	cr_expect_eq(n_got, 2);
	jit_objects_free(child.jit_objects);
	cr_expect_eq(got[1]->n_users, 0);
	cr_expect_eq(got[0]->n_users, 1);
}
