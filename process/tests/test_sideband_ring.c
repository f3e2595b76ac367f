// SPDX-License-Identifier: Apache-2.0
/*
 * A ring of perf's records that the test writes in place of the kernel (--wrap), also with sizes that
 * no kernel writes.
 */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "kernel/event.h"
#include "kernel/filter.h"
#include "process/perf_record.h"
#include "process/sideband.h"
#include "process/tests/process_world.h"

static int ring_fd;
static size_t page_size;
static struct perf_event_mmap_page *ring;
static struct sideband *sideband;

int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	return 0; /* of a file's memory, nobody tells */
}

int __wrap_event_open_sideband(unsigned int cpu);
int __wrap_event_open_sideband(unsigned int cpu)
{
	return dup(ring_fd);
}

static void begin_ring(void)
{
	size_t size;

	begin();
	table.all = true;
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	size = (SIDEBAND_PAGES + 1) * page_size;
	ring_fd = memfd_create("ring", MFD_CLOEXEC);
	cr_assert(ring_fd >= 0 && ftruncate(ring_fd, (off_t)size) == 0);
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd, 0);
	cr_assert(ring != MAP_FAILED);
	cr_assert_eq(sideband_new(1, &sideband), 0);
}

static void end_ring(void)
{
	sideband_free(sideband);
	munmap(ring, (SIDEBAND_PAGES + 1) * page_size);
	close(ring_fd);
	end();
}

TestSuite(sideband_ring, .init = begin_ring, .fini = end_ring, .timeout = 60);

/* With a name and the time: of a size that does not divide the ring's. */
#define GOOD_SIZE (sizeof(struct perf_comm) + 16 + 8)

static void put(const void *record, size_t size)
{
	uint8_t *data = (uint8_t *)ring + page_size;

	for (size_t i = 0; i < size; i++)
		data[(ring->data_head + i) % (SIDEBAND_PAGES * page_size)] =
			((const uint8_t *)record)[i];
	ring->data_head += size;
}

/* The exec of a process, as a record that says it has this size. */
static void put_exec(int n, size_t size)
{
	const struct perf_comm comm = {
		.header = { .type = PERF_RECORD_COMM,
			    .misc = PERF_RECORD_MISC_COMM_EXEC,
			    .size = (uint16_t)size },
		.pid = (uint32_t)PID(n),
		.tid = (uint32_t)PID(n),
	};
	uint8_t record[GOOD_SIZE] = { 0 };

	memcpy(record, &comm, sizeof(comm));
	record[GOOD_SIZE - 8] = 10;
	put(record, sizeof(record));
}

/* A mapping of this program, or of a file that no process has, without a way to it. */
static void put_mapping(uint64_t inode, bool is_own)
{
	const uint64_t time = 10;
	struct perf_mmap2 body;
	uint8_t record[sizeof(body) + 16 + sizeof(time)] = { 0 };
	struct stat st;

	cr_assert_eq(stat("/proc/self/exe", &st), 0);
	body = (struct perf_mmap2){
		.header = { .type = PERF_RECORD_MMAP2, .size = sizeof(record) },
		.pid = (uint32_t)PID(0),
		.address = 0x1000,
		.length = 0x1000,
		.major = major(st.st_dev),
		.minor = minor(st.st_dev),
		.inode = is_own ? st.st_ino : inode,
	};
	memcpy(record, &body, sizeof(body));
	strcpy((char *)record + sizeof(body), is_own ? "/proc/self/exe" : "/nowhere");
	memcpy(record + sizeof(record) - sizeof(time), &time, sizeof(time));
	put(record, sizeof(record));
}

static void drain(void)
{
	cr_assert_eq(sideband_drain(sideband, &table), 0);
	cr_assert_eq(ring->data_tail, ring->data_head, "the kernel has the room");
	cr_assert(!sideband_is_behind(sideband));
}

static bool is_known(int n)
{
	return process_table_find(&table, PID(n));
}

Test(sideband_ring, goes_round)
{
	for (int i = 0; i < 5000; i++) {
		put_exec(0, GOOD_SIZE);
		put_exec(1, GOOD_SIZE);
		if (i % 100 == 0)
			drain();
	}
	drain();
	cr_assert(is_known(0) && is_known(1));
	cr_assert(!sideband_take_loss(sideband));
	cr_assert_gt(ring->data_tail, SIDEBAND_PAGES * page_size);
}

/* What is behind it up to the head is lost, as if it had not had room. */
Test(sideband_ring, has_a_record_of_no_possible_size)
{
	static const size_t sizes[] = { 0, 1, 7, 2 * GOOD_SIZE + 1, UINT16_MAX };

	for (int i = 0; i < (int)ARRAY_SIZE(sizes); i++) {
		int first = 4 * i;

		put_exec(first, GOOD_SIZE);
		put_exec(first + 1, sizes[i]);
		put_exec(first + 2, GOOD_SIZE);
		drain();
		cr_assert(is_known(first));
		cr_assert(!is_known(first + 1) && !is_known(first + 2), "size %zu", sizes[i]);
		cr_assert(sideband_take_loss(sideband), "size %zu", sizes[i]);
		put_exec(first + 3, GOOD_SIZE);
		drain();
		cr_assert(is_known(first + 3));
		cr_assert(!sideband_take_loss(sideband));
	}
}

static enum sideband_haste haste(void)
{
	return sideband_look(sideband, &table).haste;
}

static bool can_wait(void)
{
	return haste() >= SIDEBAND_LATER && haste() <= SIDEBAND_SOON;
}

/* The process of a file that is not known may end meanwhile. */
Test(sideband_ring, lets_records_of_known_files_wait)
{
	cr_assert(!can_wait(), "there are none");
	put_exec(0, GOOD_SIZE);
	cr_assert(can_wait());
	cr_assert(!is_known(0) && ring->data_tail == ring->data_head);
	put_mapping(0, false);
	cr_assert(can_wait(), "it is of no file");
	put_mapping(0, true);
	cr_assert(!can_wait());
	drain();
	cr_assert(is_known(0));
	expect_mappings(0, 10, 1);
	cr_assert(!can_wait());
	put_mapping(0, true);
	cr_assert(can_wait());
	put_mapping(1, false);
	cr_assert(!can_wait());
	drain();
	put_exec(1, GOOD_SIZE);
	put_exec(1, 0);
	cr_assert(!can_wait(), "some are lost");
	drain();
	cr_assert(is_known(1) && sideband_take_loss(sideband));
}

/* Those of a filter are looked at in /proc. */
Test(sideband_ring, lets_no_records_wait_for_a_filter_or_for_many)
{
	struct filter filter;

	filter_init(&filter);
	table.filter = &filter;
	put_exec(0, GOOD_SIZE);
	cr_assert(!can_wait());
	table.filter = NULL;
	for (int i = 1; i < 256; i++)
		put_exec(0, GOOD_SIZE);
	cr_assert(can_wait());
	put_exec(0, GOOD_SIZE);
	cr_assert(!can_wait());
	drain();
	filter_done(&filter);
}

static void put_task(uint32_t type, int n, int parent)
{
	const struct perf_task task = { .header = { .type = type, .size = sizeof(task) },
					.pid = (uint32_t)PID(n),
					.parent_pid = (uint32_t)PID(parent),
					.tid = (uint32_t)PID(n),
					.time = 10 };

	put(&task, sizeof(task));
}

/* Nobody waits for what they tell, but they are handled in their order. */
Test(sideband_ring, lets_threads_wait_for_processes)
{
	cr_assert_eq(haste(), SIDEBAND_NEVER);
	put_exec(0, GOOD_SIZE);
	cr_assert_eq(haste(), SIDEBAND_BY_SAMPLE);
	drain();
	put_task(PERF_RECORD_FORK, 0, 0);
	put_task(PERF_RECORD_EXIT, 0, 0);
	cr_assert_eq(haste(), SIDEBAND_LATER);
	cr_assert(!sideband_is_behind(sideband));
	cr_assert_eq(process_table_find(&table, PID(0))->exited, TIME_NEVER);
	put_task(PERF_RECORD_FORK, 1, 0);
	cr_assert_eq(haste(), SIDEBAND_BY_SAMPLE);
	put_mapping(1, false);
	cr_assert_eq(haste(), SIDEBAND_NOW);
	drain();
	cr_assert(is_known(1) && process_table_find(&table, PID(0))->exited != TIME_NEVER);
	cr_assert_eq(haste(), SIDEBAND_NEVER);
}

/* Some are as young as the reading of the rings, and wait while others are handled. */
Test(sideband_ring, keeps_what_it_has_not_handled)
{
	const uint64_t future = clock_now_ns() + UINT64_C(3600000000000);
	struct perf_task task = { .header = { .type = PERF_RECORD_FORK, .size = sizeof(task) },
				  .parent_pid = (uint32_t)PID(0),
				  .time = future };

	for (int i = 1; i <= 3; i++) {
		put_exec(0, GOOD_SIZE);
		task.pid = task.tid = (uint32_t)PID(i);
		put(&task, sizeof(task));
		for (int n = 0; n < 3000; n++)
			put_exec(0, GOOD_SIZE);
		drain();
		cr_assert(is_known(0) && is_known(i));
	}
}
