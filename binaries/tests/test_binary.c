// SPDX-License-Identifier: Apache-2.0
/* How long the store keeps unmapped binaries. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binaries/binary_store.h"
#include "elf/tests/elf_bytes.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "symbols/tests/some_names.h"

#define MINUTE (60 * UINT64_C(1000000000))

static uint8_t *segments[64];
static int n_segments;
static struct pool pool;
static struct binary_store store;
static uint64_t now;

/* Calls from the store. */
static struct {
	int n_closed, n_freed;
	uint64_t oldest_ns;
	int err;
} used;

static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	*ret = segments[n_segments++] = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	return 0;
}

static int close_module(void *arg, struct module *module)
{
	module_close(module, false);
	used.n_closed++;
	return 0;
}

static uint64_t oldest_ns(void *arg)
{
	return used.oldest_ns;
}

static int release_module(void *arg, void (*fn)(void *object), void *object)
{
	if (used.err < 0)
		return used.err;
	used.n_freed++;
	fn(object);
	return 0;
}

static const struct module_users users = { close_module, oldest_ns, release_module, NULL };

static void begin(void)
{
	pool_init(&pool, add_segment, NULL);
	pool.max_segments = POOL_MIN_SEGMENTS;
	binary_store_init(&store, &pool, some_names());
	store.users = &users;
	now = clock_now_ns();
}

static void end(void)
{
	binary_store_done(&store);
	pool_done(&pool);
	for (int i = 0; i < n_segments; i++)
		free(segments[i]);
}

TestSuite(binary, .init = begin, .fini = end);

static struct binary *get(const char *path)
{
	struct binary *b;

	cr_assert_eq(binary_store_get(&store, 0, open(path, O_RDONLY | O_CLOEXEC), path, &b), 0);
	return b;
}

/* Updates the store over n minutes, in which idle binaries stay idle. */
static void wait_minutes(int n)
{
	for (int i = 0; i <= n; i++)
		binary_store_update(&store, now += MINUTE);
}

Test(binary, goes_when_nobody_has_mapped_it_for_a_minute)
{
	struct binary *b = get("/proc/self/exe");

	binary_hold(b);
	wait_minutes(5);
	cr_assert_eq(HASH_COUNT(store.binaries), 1);
	cr_assert_eq(store.files.n, 1);
	binary_drop(b);
	binary_store_update(&store, now += MINUTE);
	cr_assert_eq(HASH_COUNT(store.binaries), 1, "it has just become idle");
	wait_minutes(1);
	cr_assert_eq(HASH_COUNT(store.binaries), 0);
	cr_assert_eq(store.files.n, 0);
	cr_assert(!store.closed && used.n_closed == 0, "no report refers to it");
}

/* What a compiler has told debuggers: code of its own, by sections alone. */
static int make_object(void)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[2];
		uint8_t code[16];
	} o = { .header = elf_header(0, 2) };
	int fd = memfd_create("object", MFD_CLOEXEC);

	o.header.e_type = ET_REL;
	o.header.e_shoff = sizeof(o.header);
	o.sections[1] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
				      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				      .sh_addr = 0x7f0000001000,
				      .sh_offset = sizeof(o.header) + sizeof(o.sections),
				      .sh_size = sizeof(o.code) };
	cr_assert_eq(write(fd, &o, sizeof(o)), sizeof(o));
	return fd;
}

/* It is never found again. */
Test(binary, of_generated_code_goes_with_its_last_user)
{
	struct binary *b;

	cr_assert_eq(binary_store_get_object(&store, getpid(), make_object(), &b), 0);
	cr_assert(b->object_size > 0 && b->elf.n_segments == 1);
	cr_expect_eq(b->elf.segments[0].address, 0x7f0000001000);
	cr_expect_eq(store.files.object_bytes, b->object_size);
	binary_hold(b);
	wait_minutes(2);
	cr_assert_eq(HASH_COUNT(store.binaries), 1);
	binary_drop(b);
	binary_store_update(&store, now += 2 * UINT64_C(1000000000));
	cr_expect_eq(HASH_COUNT(store.binaries), 0);
	cr_expect(store.files.object_bytes == 0 && store.files.n == 0);
}

Test(binary, of_generated_code_has_a_share)
{
	struct binary *b;

	store.files.object_bytes = JIT_OBJECTS_ALL;
	cr_expect_eq(binary_store_get_object(&store, getpid(), make_object(), &b), -ENOSPC);
	store.files.object_bytes = 0;
	cr_expect_eq(HASH_COUNT(store.binaries), 0);
}

/* A copy of this program, and the code at its end. */
static struct binary *get_copy(char *ret_path)
{
	_cleanup_close_ int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int to = mkstemp(ret_path);
	off_t size = lseek(from, 0, SEEK_END), at = 0;

	while (at < size)
		cr_assert_gt(sendfile(to, from, &at, (size_t)(size - at)), 0);
	return get(ret_path);
}

static int read_end(const struct binary *b)
{
	uint64_t bytes;

	return binary_read_before(b, b->elf.code[0].address + b->elf.code[0].size, &bytes,
				  sizeof(bytes));
}

/* Nothing guards the reader: a library's host may do what it likes at SIGBUS. */
Test(binary, can_be_cut_off_while_it_is_mapped)
{
	char path[] = "/tmp/binary.XXXXXX";
	struct binary *b = get_copy(path);

	cr_assert_eq(read_end(b), 0);
	cr_assert_eq(truncate(path, 0), 0);
	cr_assert_eq(read_end(b), -ENOENT);
	unlink(path);
}

/* A sampled binary is not freed before the last report that may refer to it. */
Test(binary, stays_for_reports_that_refer_to_it)
{
	struct binary *b = get("/proc/self/exe");

	b->is_sampled = true;
	wait_minutes(2);
	cr_assert(HASH_COUNT(store.binaries) == 0 && store.closed == b);
	cr_assert(used.n_closed == 1 && b->module->fd == -1);
	used.oldest_ns = b->closed_ns;
	wait_minutes(2);
	cr_assert(store.closed == b && used.n_freed == 0, "a report is as old as it");
	used.oldest_ns++;
	used.err = -ENOMEM;
	wait_minutes(2);
	cr_assert_eq(store.closed, b, "it could not be handed over");
	used.err = 0;
	wait_minutes(2);
	cr_assert(!store.closed && used.n_freed == 1 && used.n_closed == 1);
}

Test(binary, frees_those_that_were_closed_before)
{
	struct binary *first = get("/proc/self/exe"), *last;

	first->is_sampled = true;
	wait_minutes(2);
	last = get("/bin/sh");
	last->is_sampled = true;
	wait_minutes(2);
	cr_assert(store.closed == last && last->next_closed == first);
	used.oldest_ns = last->closed_ns;
	wait_minutes(2);
	cr_assert(store.closed == last && !last->next_closed && used.n_freed == 1);
}

/*
 * A sample that no report has yet, or a report that has got one since, keeps it, and only this one.
 */
Test(binary, stays_while_it_is_held)
{
	struct binary *first = get("/proc/self/exe"), *last;
	uint64_t now_ns;

	first->is_sampled = true;
	module_hold(first->module);
	wait_minutes(2);
	last = get("/bin/sh");
	last->is_sampled = true;
	wait_minutes(2);
	cr_assert(store.closed == last && last->next_closed == first);
	used.oldest_ns = UINT64_MAX;
	wait_minutes(2);
	cr_assert(store.closed == first && !first->next_closed && used.n_freed == 1);
	now_ns = clock_now_ns();
	module_drop(first->module, now_ns);
	used.oldest_ns = now_ns;
	wait_minutes(2);
	cr_assert_eq(store.closed, first, "a report may have got it");
	used.oldest_ns++;
	wait_minutes(2);
	cr_assert(!store.closed && used.n_freed == 2);
}
