// SPDX-License-Identifier: Apache-2.0
/*
 * perf's records of any bytes, in the rings of two CPUs. Input: flags (1), where the rings begin (2),
 * the first ring's share of the rest (1), and the rest: what is in the rings as it is, or for each
 * record its type (1), misc (2), size (1, in words without the head) and so many bytes of body, time
 * and name, so that sizes are right.
 */
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/perf_record.h"
#include "process/process_snapshot.h"
#include "process/sideband.h"
#include "process/tests/fuzz_world.h"

enum {
	FEED_RECORDS = 1, /* one by one */
	FEED_ADDED = 2,   /* only processes that were added count */
	FEED_SYMBOLS = 4, /* names will be wanted */
};

#define N_CPUS 2
#define RING_SIZE (SIDEBAND_PAGES * (size_t)sysconf(_SC_PAGESIZE))

/* What perf_event_open(2) returns: memory that both sides map. */
static int ring_fds[N_CPUS];
static struct perf_event_mmap_page *rings[N_CPUS];

int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event);
int __wrap_event_open_sideband(unsigned int cpu);

/* Nobody tells that memory has changed. */
int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	return 0;
}

int __wrap_event_open_sideband(unsigned int cpu)
{
	return fcntl(ring_fds[cpu], F_DUPFD_CLOEXEC, 0);
}

static void make_rings(void)
{
	size_t size = RING_SIZE + (size_t)sysconf(_SC_PAGESIZE);

	for (int i = 0; i < N_CPUS; i++) {
		ring_fds[i] = memfd_create("ring", MFD_CLOEXEC);
		EXPECT(ring_fds[i] >= 0 && ftruncate(ring_fds[i], (off_t)size) == 0);
		rings[i] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fds[i], 0);
		EXPECT(rings[i] != MAP_FAILED);
	}
}

/* Adds bytes, in pieces where the ring ends. */
static void ring_put(struct perf_event_mmap_page *ring, const void *bytes, size_t size)
{
	uint8_t *data = (uint8_t *)ring + sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < size; i++)
		data[ring->data_head++ % RING_SIZE] = ((const uint8_t *)bytes)[i];
}

static void put_record(struct perf_event_mmap_page *ring, struct feed *f)
{
	/* Those that are used, and some others. */
	static const uint32_t types[] = { PERF_RECORD_MMAP2,   PERF_RECORD_FORK,
					  PERF_RECORD_COMM,    PERF_RECORD_EXIT,
					  PERF_RECORD_LOST,    PERF_RECORD_KSYMBOL,
					  PERF_RECORD_THROTTLE };
	uint8_t type = feed_u8(f);
	struct perf_event_header header = {
		.type = type < sizeof(types) / sizeof(*types) ? types[type] : type,
		.misc = (uint16_t)feed_number(f, 2),
	};
	size_t size = feed_u8(f) * sizeof(uint64_t);

	header.size = (uint16_t)(sizeof(header) + size);
	ring_put(ring, &header, sizeof(header));
	for (size_t i = 0; i < size; i++)
		ring_put(ring, &(uint8_t){ feed_u8(f) }, 1);
}

static void fill_ring(struct perf_event_mmap_page *ring, struct feed *f, uint64_t begin,
		      bool one_by_one)
{
	ring->data_head = ring->data_tail = begin;
	if (!one_by_one)
		ring_put(ring, f->pos, (size_t)(f->end - f->pos));
	while (one_by_one && f->pos < f->end)
		put_record(ring, f);
}

/* The mappings of a time are in order, and do not overlap. */
static void check_time(struct process *p, uint64_t time)
{
	struct snapshot *s;

	EXPECT(process_snapshot(&table, p, time, &s) == 0);
	for (size_t i = 0; i < s->n_mappings; i++) {
		const struct mapping *m = &s->mappings[i];

		EXPECT(m->start < m->end);
		EXPECT(i == 0 || s->mappings[i - 1].end <= m->start);
		EXPECT(snapshot_find(s, m->start) == m && snapshot_find(s, m->end - 1) == m);
	}
	snapshot_free(&table.snapshots, s);
}

/* Some times at which a process changed. */
struct times {
	uint64_t at[32];
	size_t n;
};

static void note_time(void *arg, struct mapping *m)
{
	struct times *times = arg;

	if (times->n < sizeof(times->at) / sizeof(*times->at))
		times->at[times->n++] = m->born;
}

static void check_processes(void)
{
	struct process *p, *next;

	HASH_ITER(hh, table.processes, p, next) {
		struct times times = { .at = { 0, TIME_NEVER - 1 }, .n = 2 };

		history_each(&p->mappings, note_time, &times);
		for (size_t i = 0; i < times.n; i++)
			check_time(p, times.at[i]);
	}
}

static void drain(bool symbols)
{
	struct sideband *sideband;
	uint64_t offset;

	binaries.symbols = symbols;
	EXPECT(sideband_new(N_CPUS, &sideband) == 0);
	sideband_tell_kallsyms(sideband, kallsyms);
	EXPECT(sideband_drain(sideband, &table) == 0);
	for (int i = 0; i < N_CPUS; i++)
		EXPECT(rings[i]->data_tail == rings[i]->data_head);
	EXPECT(!sideband_is_behind(sideband));
	check_processes();
	kallsyms_find(kallsyms, UINT64_C(0xffffffffc0000010), &offset);
	process_table_forget(&table, UINT64_MAX);
	sideband_free(sideband);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size }, first;
	uint8_t flags = feed_u8(&feed);
	uint64_t begin = feed_number(&feed, 2) * sizeof(uint64_t);
	size_t share = feed_u8(&feed);

	if (!rings[0])
		make_rings();
	first = feed;
	first.end = feed.pos = feed.pos + (size_t)(feed.end - feed.pos) * share / 256;
	fill_ring(rings[0], &first, begin, flags & FEED_RECORDS);
	fill_ring(rings[1], &feed, begin, flags & FEED_RECORDS);
	world_begin();
	table.all = !(flags & FEED_ADDED);
	if (flags & FEED_ADDED)
		EXPECT(process_table_add_launched(&table, PID(0)) == 0);
	drain(flags & FEED_SYMBOLS);
	world_end();
	return 0;
}
