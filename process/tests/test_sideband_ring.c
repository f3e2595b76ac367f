// SPDX-License-Identifier: Apache-2.0
/*
 * A ring of perf's records that the test writes in place of the kernel (--wrap), also with sizes that
 * no kernel writes.
 */
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "kernel/event.h"
#include "process/perf_record.h"
#include "process/sideband.h"
#include "process/tests/process_world.h"

static int ring_fd;
static size_t page_size;
static struct perf_event_mmap_page *ring;
static struct sideband *sideband;

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
	uint8_t record[GOOD_SIZE] = { 0 }, *data = (uint8_t *)ring + page_size;

	memcpy(record, &comm, sizeof(comm));
	record[GOOD_SIZE - 8] = 10;
	for (size_t i = 0; i < sizeof(record); i++)
		data[(ring->data_head + i) % (SIDEBAND_PAGES * page_size)] = record[i];
	ring->data_head += sizeof(record);
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
