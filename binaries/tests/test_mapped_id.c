// SPDX-License-Identifier: Apache-2.0
/* Which binary a record of a mapping tells of, without a look at the file. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "binaries/binary_store.h"
#include "log/clock.h"
#include "symbols/tests/some_names.h"

#define MINUTE (60 * UINT64_C(1000000000))

static uint8_t *segments[64];
static int n_segments;
static struct pool pool;
static struct binary_store store;

static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	*ret = segments[n_segments++] = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	return 0;
}

static void begin(void)
{
	pool_init(&pool, add_segment, NULL);
	pool.max_segments = POOL_MIN_SEGMENTS;
	binary_store_init(&store, &pool, some_names());
}

static void end(void)
{
	binary_store_done(&store);
	pool_done(&pool);
	for (int i = 0; i < n_segments; i++)
		free(segments[i]);
}

TestSuite(mapped_id, .init = begin, .fini = end);

/* A copy of this program. */
static int copy_self(void)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = memfd_create("copy", 0);
	off_t size = lseek(self, 0, SEEK_END), from = 0;

	cr_assert(sendfile(fd, self, &from, (size_t)size) == size);
	close(self);
	return fd;
}

static struct mapped_id id_of(int fd, uint64_t generation)
{
	struct stat st;

	cr_assert_eq(fstat(fd, &st), 0);
	return (struct mapped_id){ st.st_dev, st.st_ino, generation };
}

static struct binary *get(int fd)
{
	struct binary *b;

	cr_assert_eq(binary_store_get(&store, 0, dup(fd), "/copy", &b), 0);
	return b;
}

Test(mapped_id, tells_files_apart)
{
	const int fd = copy_self(), other_fd = copy_self();
	const struct mapped_id id = id_of(fd, 3), other_id = id_of(other_fd, 3);
	struct binary *b = get(fd), *other = get(other_fd);

	cr_assert_null(mapped_id_find(&store, &id));
	mapped_id_note(&store, b, &id);
	mapped_id_note(&store, b, &id);
	cr_assert_eq(mapped_id_find(&store, &id), b);
	cr_assert_null(mapped_id_find(&store, &other_id));
	mapped_id_note(&store, other, &other_id);
	cr_assert_eq(mapped_id_find(&store, &id), b);
	cr_assert_eq(mapped_id_find(&store, &other_id), other);
	for (int i = 0; i < 3; i++) {
		const struct mapped_id near = { id.device + (i == 0), id.inode + 1000 * (i == 1),
						id.generation + (i == 2) };

		cr_assert(!mapped_id_find(&store, &near) && !mapped_id_is_known(&store, &near));
	}
}

/* The first mapping's file was removed before it was looked up, and this one has its inode now. */
Test(mapped_id, has_one_generation)
{
	const int fd = copy_self();
	const struct mapped_id first = id_of(fd, 3), id = id_of(fd, 4);
	struct binary *b = get(fd);

	mapped_id_note(&store, b, &first);
	mapped_id_note(&store, b, &id);
	cr_assert_eq(mapped_id_find(&store, &id), b);
	cr_assert_null(mapped_id_find(&store, &first));
	cr_assert_eq(HASH_CNT(by_mapped, store.mapped), 1);
}

/* Where stat(2) has another device than the file system, or it is not known, it proves nothing. */
Test(mapped_id, is_not_of_another_device)
{
	const int fd = copy_self();
	const struct mapped_id id = id_of(fd, 0);
	const struct mapped_id others[] = { { id.device + 1, id.inode, 0 },
					    { id.device, id.inode + 1, 0 },
					    { 0, id.inode, 0 } };
	struct binary *b = get(fd);

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		mapped_id_note(&store, b, &others[i]);
		cr_assert(!mapped_id_is_known(&store, &others[i]), "%zu", i);
	}
	b->id.device = 0; /* of no file */
	mapped_id_note(&store, b, &others[2]);
	cr_assert(!mapped_id_is_known(&store, &others[2]));
}

/* It is another binary then, with the same inode. */
Test(mapped_id, is_not_of_a_file_that_was_written_to)
{
	const struct timespec times[] = { { 1, 0 }, { 1, 0 } };
	const int fd = copy_self();
	const struct mapped_id id = id_of(fd, 0);
	struct binary *before = get(fd), *after;

	mapped_id_note(&store, before, &id);
	cr_assert_eq(futimens(fd, times), 0);
	cr_assert_null(mapped_id_find(&store, &id));
	after = get(fd);
	cr_assert_neq(after, before);
	mapped_id_note(&store, after, &id);
	cr_assert_eq(mapped_id_find(&store, &id), after);
	mapped_id_forget(&store, before);
	cr_assert_eq(mapped_id_find(&store, &id), after);
}

/* Its descriptor no longer keeps others from having the inode. */
Test(mapped_id, is_forgotten_with_the_binary)
{
	const int fd = copy_self();
	const struct mapped_id id = id_of(fd, 0);
	uint64_t now = clock_now_ns();
	struct binary *b = get(fd);

	mapped_id_note(&store, b, &id);
	b->is_sampled = true; /* it is kept, without its file */
	for (int i = 0; i < 4; i++)
		binary_store_update(&store, now += MINUTE);
	cr_assert(HASH_COUNT(store.binaries) == 0 && !mapped_id_is_known(&store, &id));
}

/* Nor before that is known. */
Test(mapped_id, is_not_believed_where_other_files_may_have_the_inode)
{
	const int fd = copy_self();
	const struct mapped_id id = id_of(fd, 0);
	struct binary *b = get(fd);

	mapped_id_note(&store, b, &id);
	cr_assert(mapped_id_is_known(&store, &id) && mapped_id_find(&store, &id) == b);
	b->has_own_inode = false;
	cr_assert(!mapped_id_is_known(&store, &id) && !mapped_id_find(&store, &id));
}

/* As for any mapping of a known file: its table may have been freed. */
Test(mapped_id, brings_the_table_back)
{
	const int fd = copy_self();
	const struct mapped_id id = id_of(fd, 0);
	struct binary *b = get(fd);

	mapped_id_note(&store, b, &id);
	binary_store_update(&store, clock_now_ns() + TABLE_IDLE_NS + TABLE_HOLD_NS);
	cr_assert_eq(table_image(b->table), DP_CELL_EVICTED);
	cr_assert_eq(mapped_id_find(&store, &id), b);
	cr_assert_geq(table_image(b->table), DP_FIRST_CELL);
}
