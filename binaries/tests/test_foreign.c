// SPDX-License-Identifier: Apache-2.0
/*
 * Files of file systems that may not answer: helpers open and read them, and this process only refers to
 * them. This program is also the helper.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binaries/binary_store.h"
#include "cache/stored_file.h"
#include "elf/mapped_file.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/finders.h"
#include "sandbox/helper.h"
#include "sandbox/tests/helper_test.h"
#include "symbols/tests/some_names.h"

/* What their permissions mean here. */
#define FOREIGN 0751
#define ENDLESS 0752

static pid_t test; /* but for helpers, which have none */

static mode_t mode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_mode & 07777 : 0;
}

bool __real_stored_file_is_foreign(int fd);
bool __wrap_stored_file_is_foreign(int fd);

bool __wrap_stored_file_is_foreign(int fd)
{
	return mode_of(fd) == FOREIGN || __real_stored_file_is_foreign(fd);
}

int __real_file_reopen(int fd);
int __wrap_file_reopen(int fd);

int __wrap_file_reopen(int fd)
{
	int word = 0;

	cr_assert(test == 0 || mode_of(fd) != FOREIGN, "this process has opened it");
	while (mode_of(fd) == ENDLESS)
		(void)syscall(SYS_futex, &word, FUTEX_WAIT, word, NULL, NULL, 0);
	return __real_file_reopen(fd);
}

int main(int argc, char **argv)
{
	if (helper_is_one(argv[0]))
		return helper_main(argc, argv);
	return run_tests(argc, argv);
}

static uint8_t *segments[64];
static int n_segments;
static struct pool pool;
static struct binary_store store;

static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	(void)arg;
	(void)index;
	*ret = segments[n_segments++] = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	return 0;
}

static void begin(void)
{
	if (geteuid() != 0)
		cr_skip("finders need CAP_DAC_READ_SEARCH");
	test = getpid();
	cr_assert(chdir("/tmp") == 0); /* helpers will be there, too */
	pool_init(&pool, add_segment, NULL);
	pool.max_segments = 64;
	binary_store_init(&store, &pool, some_names());
	cr_assert(parsers_new(HELPER_SELF, &store.parsers) == 0);
	cr_assert(parsers_use_finders(store.parsers) == 0);
	binary_store_start_workers(&store);
}

static void end(void)
{
	struct parsers *parsers = store.parsers;

	binary_store_done(&store);
	parsers_drop(parsers);
	pool_done(&pool);
	for (int i = 0; i < n_segments; i++)
		free(segments[i]);
}

TestSuite(foreign, .init = begin, .fini = end, .timeout = 120);

static int copy_self(mode_t mode)
{
	_cleanup_close_ int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("copy", MFD_CLOEXEC);
	off_t size = lseek(self, 0, SEEK_END), from = 0;

	while (from < size)
		cr_assert(sendfile(fd, self, &from, (size_t)(size - from)) > 0);
	cr_assert(fchmod(fd, mode) == 0);
	return fd;
}

static void wait_for_all(void)
{
	while (store.n_jobs > 0)
		binary_store_wait(&store, 1000);
}

static struct binary *get_reference(int reference)
{
	struct binary *b;

	cr_assert_geq(reference, 0);
	cr_assert(binary_store_get(&store, getpid(), reference, "/copy", &b) == 0);
	binary_hold(b);
	return b;
}

/* Of a copy of this program, which is only referred to. */
static struct binary *get(mode_t mode)
{
	_cleanup_close_ int fd = copy_self(mode);
	struct binary *b;
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	b = get_reference(open(link, O_PATH | O_CLOEXEC));
	wait_for_all();
	return b;
}

static int read_code(const struct binary *b)
{
	uint64_t bytes;

	cr_assert_gt(b->elf.n_code, 0);
	return binary_read_before(b, b->elf.code[0].address + b->elf.code[0].size, &bytes,
				  sizeof(bytes));
}

/* It is not mapped either: memory of the reading thread would come from it. */
Test(foreign, is_read_by_helpers)
{
	struct binary *own = get(0755), *b = get(FOREIGN);

	cr_assert(!own->is_foreign && !file_is_reference(own->module->fd) && own->bytes);
	cr_assert_eq(read_code(own), 0);
	cr_assert(b->is_foreign && file_is_reference(b->module->fd) && !b->bytes);
	cr_assert_eq(read_code(b), -EAGAIN);
	cr_assert_eq(b->module->user, geteuid());
	cr_assert(b->table && b->table != own->table);
	cr_assert_eq(b->table->n_cells, own->table->n_cells);
	/* And again. */
	binary_drop(b);
	table_store_update(&store.tables, clock_now_ns() + TABLE_IDLE_NS + TABLE_HOLD_NS);
	cr_assert_eq(table_image(b->table), DP_CELL_EVICTED);
	cr_assert_eq(get_reference(fcntl(b->module->fd, F_DUPFD_CLOEXEC, 0)), b);
	cr_assert(binary_is_pending(b));
	wait_for_all();
	cr_assert_geq(table_image(b->table), DP_FIRST_CELL);
}

Test(foreign, has_no_table_if_nobody_answers)
{
	uint64_t began = clock_now_ns();
	struct binary *b = get(ENDLESS);

	cr_assert(b->err == -EAGAIN && !b->is_unopened && !b->table);
	cr_assert_lt(clock_now_ns() - began, 10 * FINDERS_TIME_NS);
	binary_drop(b);
	cr_assert_eq(HASH_COUNT(store.binaries), 0);
}

static struct binary *find_later(const char *path, uint64_t inode)
{
	const struct file_mapping mapping = { .pid = getpid(), .inode = inode };
	struct binary *b;

	/* Not in the kernel's cache */
	cr_assert_eq(mapped_file_find(mapping.pid, 0, 0, inode, path), -EAGAIN);
	cr_assert_eq(binary_store_find_later(&store, &mapping, path, &b), 0);
	binary_hold(b);
	wait_for_all();
	return b;
}

/* A name that each process looks up for itself. */
Test(foreign, is_looked_up_by_helpers)
{
	char name[] = "dwarfprof-test-XXXXXX", path[64];
	_cleanup_close_ int file = mkstemp(name), self = copy_self(0755);
	off_t size = lseek(self, 0, SEEK_END), from = 0;
	struct binary *b;
	struct stat st;

	while (from < size)
		cr_assert(sendfile(file, self, &from, (size_t)(size - from)) > 0);
	cr_assert(fchmod(file, FOREIGN) == 0 && fstat(file, &st) == 0);
	snprintf(path, sizeof(path), "/proc/self/cwd/%s", name);
	b = find_later(path, st.st_ino);
	cr_assert(b->err == 0 && b->is_foreign && b->table);
	cr_assert_eq(b->id.inode, st.st_ino);
	b = find_later(path, st.st_ino + 1);
	cr_assert(b->err == -ESTALE && b->is_unopened);
	binary_drop(b);
	unlink(name);
	/* Nobody but this process has it. */
	snprintf(path, sizeof(path), "/proc/%d/cwd/%s", getpid(), name);
	b = find_later(path, st.st_ino);
	cr_assert_eq(b->err, -EACCES);
	binary_drop(b);
}
