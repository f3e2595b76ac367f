// SPDX-License-Identifier: Apache-2.0
/* Workers read binaries and build tables, with the same results as without workers. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "binaries/binary_store.h"
#include "binaries/load.h"
#include "elf/code_pages.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "symbols/tests/some_names.h"

/* Two stores, each with its own pool. */
static struct world {
	uint8_t *segments[64];
	int n_segments;
	struct pool pool;
	struct binary_store store;
} with, without;

static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	struct world *w = arg;

	*ret = w->segments[w->n_segments++] = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	return 0;
}

static void world_init(struct world *w)
{
	pool_init(&w->pool, add_segment, w);
	w->pool.max_segments = 64;
	binary_store_init(&w->store, &w->pool, some_names());
}

static void world_done(struct world *w)
{
	binary_store_done(&w->store);
	pool_done(&w->pool);
	for (int i = 0; i < w->n_segments; i++)
		free(w->segments[i]);
}

static void begin(void)
{
	world_init(&with);
	world_init(&without);
	binary_store_start_workers(&with.store);
	cr_assert(with.store.workers);
}

static void end(void)
{
	world_done(&with);
	world_done(&without);
}

TestSuite(load, .init = begin, .fini = end, .timeout = 120);

static struct binary *get_fd(struct world *w, int fd, const char *path)
{
	struct binary *b;

	cr_assert(binary_store_get(&w->store, 0, fd, path, &b) == 0, "%s", path);
	return b;
}

static struct binary *get(struct world *w, const char *path)
{
	return get_fd(w, open(path, O_RDONLY | O_CLOEXEC), path);
}

/* Who polls it would find no rest. */
static bool is_ready(const struct world *w)
{
	struct pollfd fd = { .fd = workers_fd(w->store.workers), .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

static void wait_for_all(void)
{
	while (with.store.n_jobs > 0)
		binary_store_wait(&with.store, 1000);
}

/* A copy of the C library, whose table takes a while to build, with one byte changed. */
static int copy_of_libc(off_t changed)
{
	int fd = memfd_create("copy", 0), libc;
	off_t size, from = 0;
	Dl_info info;
	uint8_t byte;

	cr_assert(dladdr((void *)gnu_get_libc_version, &info));
	libc = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	size = lseek(libc, 0, SEEK_END);
	while (from < size)
		cr_assert(sendfile(fd, libc, &from, (size_t)(size - from)) > 0);
	cr_assert(pread(fd, &byte, 1, changed) == 1);
	byte ^= 0xff;
	cr_assert(pwrite(fd, &byte, 1, changed) == 1);
	close(libc);
	return fd;
}

static const void *cells(const struct world *w, const struct table *t)
{
	return w->segments[t->cell / DP_SEGMENT_CELLS] +
	       (size_t)(t->cell % DP_SEGMENT_CELLS) * DP_CELL_SIZE;
}

static int add_path(struct dl_phdr_info *info, size_t size, void *paths)
{
	const char **path = paths;

	while (*path)
		path++;
	if (info->dlpi_name[0] == '/')
		*path = info->dlpi_name;
	return 0;
}

/* What waits for them is woken for each, and then no more. */
Test(load, workers_have_nothing_to_say_without_jobs)
{
	for (off_t i = 0; i < 2; i++) {
		struct binary *b = get_fd(&with, copy_of_libc(EI_PAD + i), "/copy");

		cr_assert(binary_is_pending(b) && with.store.n_jobs > 0);
		wait_for_all();
		cr_assert(!binary_is_pending(b) && !is_ready(&with));
		cr_assert(!binary_store_collect(&with.store));
	}
}

/* This program and its libraries. */
Test(load, workers_make_the_same)
{
	const char *paths[128] = { "/proc/self/exe" };
	struct binary *made[128];
	size_t n = 0;

	dl_iterate_phdr(add_path, paths);
	for (; paths[n]; n++) {
		made[n] = get(&with, paths[n]);
		cr_assert(binary_is_pending(made[n]) && !made[n]->table);
	}
	cr_assert_geq(n, 3);
	wait_for_all();
	for (size_t i = 0; i < n; i++) {
		const struct binary *b = made[i], *same = get(&without, paths[i]);

		cr_assert(!binary_is_pending(b) && !binary_is_pending(same));
		cr_assert_str_eq(b->elf.origin.build_id, same->elf.origin.build_id);
		cr_assert_str_eq(b->module->build_id, same->elf.origin.build_id);
		cr_assert(b->elf.cookie == same->elf.cookie &&
			  b->elf.cookie_address == same->elf.cookie_address);
		cr_assert_eq(b->elf.n_segments, same->elf.n_segments);
		cr_assert_arr_eq(b->elf.segments, same->elf.segments,
				 b->elf.n_segments * sizeof(*b->elf.segments));
		cr_assert_eq(b->elf.n_code, same->elf.n_code);
		cr_assert_gt(b->module->n_pages, 0);
		cr_assert_eq(b->module->n_pages, same->module->n_pages);
		cr_assert_arr_eq(b->module->pages, same->module->pages,
				 b->module->n_pages * sizeof(*b->module->pages));
		cr_assert(b->table && b->table->n_cells == same->table->n_cells);
		cr_assert_arr_eq(cells(&with, b->table), cells(&without, same->table),
				 (size_t)b->table->n_cells * DP_CELL_SIZE, "%s", paths[i]);
	}
	cr_assert_eq(with.store.n_rows, without.store.n_rows);
}

/* Requests all before any of them is loaded. */
Test(load, copies_have_one_table)
{
	struct binary *copies[8], *other;

	for (size_t i = 0; i < ARRAY_SIZE(copies); i++)
		copies[i] = get_fd(&with, copy_of_libc(EI_PAD + (off_t)(i % 7)), "/copy");
	wait_for_all();
	for (size_t i = 0; i < ARRAY_SIZE(copies); i++) {
		cr_assert_eq(copies[i]->table, copies[0]->table, "copy %zu", i);
		binary_hold(copies[i]);
	}
	cr_assert(copies[0]->table->n_binaries == 8 && copies[0]->table->n_mappings == 8);
	cr_assert_eq(with.store.tables.n_made, 1);
	/* The same build id, but a different entry point. */
	other = get_fd(&with, copy_of_libc(offsetof(Elf64_Ehdr, e_entry)), "/other");
	wait_for_all();
	cr_assert(other->table && other->table != copies[0]->table);
	for (size_t i = 0; i < ARRAY_SIZE(copies); i++)
		binary_drop(copies[i]);
	cr_assert_eq(copies[0]->table->n_mappings, 0);
}

/* If the first one cannot be read, the others get the table, and nothing leaks. */
Test(load, what_is_no_binary_goes)
{
	struct binary *b = get(&with, "/etc/passwd"), *again;

	binary_hold(b);
	again = get(&with, "/etc/passwd");
	cr_assert_eq(again, b, "it is not known yet");
	wait_for_all();
	cr_assert(!binary_is_pending(b) && b->err == -ENOEXEC);
	cr_assert_eq(HASH_COUNT(with.store.binaries), 0);
	binary_drop(b); /* which frees it; AddressSanitizer would detect a later use */
	cr_assert_eq(binary_store_get(&without.store, 0, open("/etc/passwd", O_RDONLY),
				      "/etc/passwd", &again),
		     -ENOEXEC);
	cr_assert_eq(HASH_COUNT(without.store.binaries), 0);
}

/* An unmapped binary that somebody waits for is not idle. */
Test(load, jobs_hold_their_binaries)
{
	const uint64_t minute = 60 * UINT64_C(1000000000);
	struct binary *b = get(&with, "/proc/self/exe");
	uint64_t now = clock_now_ns();

	for (int i = 1; i < 5; i++)
		binary_store_update(&with.store, now += minute);
	cr_assert(HASH_COUNT(with.store.binaries) == 1 && binary_is_pending(b));
	wait_for_all();
	for (int i = 1; i < 5; i++)
		binary_store_update(&with.store, now += minute);
	cr_assert_eq(HASH_COUNT(with.store.binaries), 0);
}

/* While its evicted table is being rebuilt, a binary is pending for a new mapping. */
Test(load, tables_are_made_again)
{
	struct binary *b = get(&with, "/proc/self/exe");
	uint64_t later = clock_now_ns() + TABLE_IDLE_NS + TABLE_HOLD_NS;

	wait_for_all();
	cr_assert_geq(table_image(b->table), DP_FIRST_CELL);
	table_store_update(&with.store.tables, later);
	cr_assert_eq(table_image(b->table), DP_CELL_EVICTED);
	cr_assert(!binary_is_pending(b));
	cr_assert_eq(get(&with, "/proc/self/exe"), b);
	cr_assert(binary_is_pending(b) && table_image(b->table) == DP_CELL_EVICTED);
	wait_for_all();
	cr_assert(!binary_is_pending(b) && table_image(b->table) >= DP_FIRST_CELL);
	cr_assert_eq(with.store.tables.n_made, 2);
}

/* If room is short, the first request gets it, even if its table takes longer to build. */
Test(load, room_goes_by_who_asked_first)
{
	struct binary *first = get_fd(&with, copy_of_libc(EI_PAD), "/large"),
		      *last = get(&with, "/bin/true");

	wait_for_all();
	cr_assert_lt(first->table->cell, last->table->cell);
}

/*
 * The store ends with results that have not been collected and with more jobs than workers may have
 * finished.
 */
Test(load, ends_while_jobs_wait)
{
	for (int i = 0; i < 100; i++)
		get_fd(&with, copy_of_libc(EI_PAD + i % 7), "/copy");
	cr_assert_eq(with.store.n_jobs, 100);
	binary_store_wait(&with.store, 1000);
	cr_assert_gt(with.store.n_jobs, 1);
}

/* A descriptor that only refers to the file is enough; it is opened for the module. */
Test(load, opens_what_is_held)
{
	struct binary *b;

	b = get_fd(&with, open("/proc/self/exe", O_PATH | O_CLOEXEC), "/exe");
	cr_assert(binary_is_pending(b) && b->module->fd < 0);
	cr_assert_eq(get(&with, "/proc/self/exe"), b);
	wait_for_all();
	cr_assert(b->table && b->module->fd >= 0);
	cr_assert_eq(fcntl(b->module->fd, F_GETFL) & (O_ACCMODE | O_PATH), O_RDONLY);
}

static struct binary *find_later(struct world *w, const char *path)
{
	struct file_mapping mapping = { .pid = getpid() };
	struct binary *b;
	struct stat st;

	cr_assert_eq(stat(path, &st), 0);
	mapping.inode = st.st_ino;
	cr_assert_eq(binary_store_find_later(&w->store, &mapping, path, &b), 0);
	return b;
}

/* A file that a worker looks up may turn out to be known already, or be requested several times. */
Test(load, files_turn_out_to_be_the_same)
{
	char path[PATH_MAX] = "";
	struct binary *known, *first, *second;

	cr_assert(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	first = find_later(&with, path);
	second = find_later(&with, path);
	cr_assert_neq(first, second);
	binary_hold(first);
	binary_hold(second);
	wait_for_all();
	known = first->same ? second : first;
	cr_assert(!known->same && (known == first ? second : first)->same == known);
	cr_assert(known->table && known->n_users == 2);
	cr_assert_eq(HASH_COUNT(with.store.binaries), 1);
	cr_assert_eq(get(&with, path), known);
	binary_drop(known == first ? second : first); /* which frees it */
	cr_assert_eq(known->n_users, 1);
	binary_drop(known);
	/* Without workers the result is available at once. */
	cr_assert_eq(get(&without, path), find_later(&without, path));
	cr_assert_eq(HASH_COUNT(without.store.binaries), 1);
}

/* A file that cannot be opened any more yields no binary, but the reason. */
Test(load, files_that_are_gone)
{
	char path[] = "/tmp/load-XXXXXX";
	struct binary *b;
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	close(fd);
	b = find_later(&with, path);
	binary_hold(b);
	unlink(path);
	wait_for_all();
	cr_assert(b->is_unopened || b->err == -ENOEXEC, "it was opened before");
	cr_assert(!binary_is_pending(b) && b->err < 0);
	cr_assert_eq(HASH_COUNT(with.store.binaries), 0);
	binary_drop(b);
}

static struct {
	struct job job;
	sem_t begun, may_end, dropped;
} hanging[2];

static void hang(struct job *job)
{
	size_t i = job != &hanging[0].job;

	sem_post(&hanging[i].begun);
	sem_wait(&hanging[i].may_end);
}

static void drop_hanging(struct job *job)
{
	sem_post(&hanging[job != &hanging[0].job].dropped);
}

/* Files of a file system that hangs are not opened. Others are, and the store ends. */
Test(load, ends_while_files_hang)
{
	struct binary *b, *other;
	struct stat st;

	cr_assert_eq(stat("/proc/self/exe", &st), 0);
	for (size_t i = 0; i < ARRAY_SIZE(hanging); i++) {
		hanging[i].job =
			(struct job){ .run = hang, .drop = drop_hanging, .source = st.st_dev };
		sem_init(&hanging[i].begun, 0, 0);
		sem_init(&hanging[i].may_end, 0, 0);
		sem_init(&hanging[i].dropped, 0, 0);
		workers_add(with.store.workers, &hanging[i].job, false);
	}
	for (size_t i = 0; i < ARRAY_SIZE(hanging); i++)
		sem_wait(&hanging[i].begun);
	for (uint64_t end = clock_now_ns() + 2 * WORKERS_HANG_NS; clock_now_ns() < end;)
		binary_store_wait(&with.store, 10);
	b = get(&with, "/proc/self/exe");
	other = get_fd(&with, copy_of_libc(EI_PAD), "/copy");
	while (binary_is_pending(other))
		binary_store_wait(&with.store, 10);
	cr_assert(other->table && binary_is_pending(b));
	load_end(&with.store);
	for (size_t i = 0; i < ARRAY_SIZE(hanging); i++) {
		cr_assert(sem_trywait(&hanging[i].dropped) < 0);
		sem_post(&hanging[i].may_end);
		sem_wait(&hanging[i].dropped);
	}
}
