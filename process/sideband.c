// SPDX-License-Identifier: Apache-2.0
#include "process/sideband.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/event.h"
#include "kernel/permission.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "process/perf_record.h"
#include "symbols/kallsyms.h"

/* Size of a record with the longest path, rounded up. */
#define MAX_RECORD_SIZE 8192

/* More than MAX_GATHERED records usually take: most of these bytes are of handled records. */
#define USUAL_BYTES (UINT64_C(1) << 17)

/* If there are more records, they have gathered already. */
#define MAX_GATHERED 256

/* So many rings are asked at a time whether they are readable. */
#define AT_ONCE 64

/* If there is much to do, results so far are published to the kernel after this time. */
#define PUBLISH_NS UINT64_C(5000000)

/* A record and its time. */
struct record {
	uint64_t time, number; /* the number is in reading order */
	size_t at, size;       /* its place in sideband.bytes */
};

struct sideband {
	int epoll; /* of: */
	int *fds;  /* by CPU; -1: offline */
	struct perf_event_mmap_page **rings;
	size_t n_rings;
	size_t page_size;
	struct kallsyms *kallsyms; /* NULL: the kernel's names are not wanted */
	struct record *records;    /* read but not handled */
	size_t n_records, records_size;
	uint8_t *bytes; /* of these records, and perhaps still of handled ones */
	size_t n_bytes, bytes_size;
	uint64_t n_read;
	size_t n_looked; /* of these, whose haste is known: */
	enum sideband_haste looked;
	bool has_lost;  /* records were lost since the last question */
	bool is_behind; /* the last time, some were left */
};

static void ring_close(struct sideband *s, unsigned int cpu)
{
	if (s->fds[cpu] < 0)
		return;
	/* close() would not remove it if a child of this process has it, too. */
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->fds[cpu], NULL);
	munmap(s->rings[cpu], (SIDEBAND_PAGES + 1) * s->page_size);
	s->rings[cpu] = NULL;
	close(steal_fd(&s->fds[cpu]));
}

static int ring_open(struct sideband *s, unsigned int cpu)
{
	struct epoll_event readable = { .events = EPOLLIN };
	size_t size = (SIDEBAND_PAGES + 1) * s->page_size;
	_cleanup_close_ int fd = event_open_sideband(cpu);
	void *ring;
	int err;

	if (fd < 0)
		return steal_fd(&fd);
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return -errno;
	s->rings[cpu] = ring;
	s->fds[cpu] = steal_fd(&fd);
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->fds[cpu], &readable) == 0)
		return 0;
	err = -errno;
	ring_close(s, cpu);
	return err;
}

static int rings_open(struct sideband *s, unsigned int n_cpus)
{
	s->page_size = (size_t)sysconf(_SC_PAGESIZE);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		return -errno;
	s->fds = calloc(n_cpus, sizeof(*s->fds));
	s->rings = calloc(n_cpus, sizeof(*s->rings));
	if (!s->fds || !s->rings)
		return -ENOMEM;
	s->n_rings = n_cpus;
	memset(s->fds, -1, n_cpus * sizeof(*s->fds));
	for (unsigned int cpu = 0; cpu < n_cpus; cpu++) {
		int err = ring_open(s, cpu);

		if (err < 0 && err != -ENODEV)
			return err;
	}
	return 0;
}

int sideband_new(unsigned int n_cpus, struct sideband **ret)
{
	struct sideband *s = calloc(1, sizeof(*s));
	int err = s ? rings_open(s, n_cpus) : -ENOMEM;

	if (err < 0) {
		permission_explain_perf("the records of mappings and forks", err, 0);
		sideband_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

static struct perf_event_header *header_of(const struct sideband *s, const struct record *r)
{
	return (void *)(s->bytes + r->at);
}

/* Drops the bytes of handled records, if that is worth it and there is memory for it. */
static void bytes_compact(struct sideband *s)
{
	size_t size = 0, n = 0;
	uint8_t *bytes;

	for (size_t i = 0; i < s->n_records; i++)
		size += s->records[i].size;
	bytes = size < s->n_bytes / 2 ? malloc(size) : NULL;
	if (!bytes)
		return;
	for (size_t i = 0; i < s->n_records; i++) {
		struct record *r = &s->records[i];

		memcpy(bytes + n, s->bytes + r->at, r->size);
		r->at = n;
		n += r->size;
	}
	free(s->bytes);
	s->bytes = bytes;
	s->n_bytes = s->bytes_size = size;
}

/* No record is left. Frees the buffer if a burst of records has made it large. */
static void bytes_forget(struct sideband *s)
{
	s->n_bytes = 0;
	if (s->bytes_size <= USUAL_BYTES)
		return;
	free(s->bytes);
	s->bytes = NULL;
	s->bytes_size = 0;
}

/* Drops the first n. */
static void records_drop(struct sideband *s, size_t n)
{
	s->n_records -= n;
	if (n == 0)
		return;
	memmove(s->records, s->records + n, s->n_records * sizeof(*s->records));
	if (s->n_records > 0 && s->n_bytes > USUAL_BYTES)
		bytes_compact(s);
	if (s->n_records == 0)
		bytes_forget(s);
}

struct sideband *sideband_free(struct sideband *s)
{
	if (!s)
		return NULL;
	for (unsigned int cpu = 0; cpu < s->n_rings; cpu++)
		ring_close(s, cpu);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s->records);
	free(s->bytes);
	free(s->rings);
	free(s->fds);
	free(s);
	return NULL;
}

void sideband_tell_kallsyms(struct sideband *s, struct kallsyms *kallsyms)
{
	s->kallsyms = kallsyms;
}

int sideband_fd(const struct sideband *s)
{
	return s->epoll;
}

static int bytes_reserve(struct sideband *s, size_t n)
{
	size_t want = s->n_bytes + n > 2 * s->bytes_size ? s->n_bytes + n : 2 * s->bytes_size;
	uint8_t *bytes;

	if (s->n_bytes + n <= s->bytes_size)
		return 0;
	bytes = realloc(s->bytes, want);
	if (!bytes)
		return -ENOMEM;
	s->bytes = bytes;
	s->bytes_size = want;
	return 0;
}

/* The record of so many bytes at a position of a ring. */
static int record_append(struct sideband *s, const uint8_t *ring, size_t ring_size,
			 uint64_t position, size_t size, uint64_t now)
{
	/* Records have 8-byte fields. */
	const size_t room = (size + 7) / 8 * 8;
	struct record *r;

	if (array_reserve(s->records, s->n_records, s->records_size) < 0 ||
	    bytes_reserve(s, room) < 0)
		return -ENOMEM;
	r = &s->records[s->n_records++];
	*r = (struct record){ .number = s->n_read++, .at = s->n_bytes, .size = room };
	s->n_bytes += room;
	perf_ring_copy(ring, ring_size, position, s->bytes + r->at, size);
	r->time = perf_record_time(header_of(s, r), now);
	return 0;
}

static bool is_whole(const struct perf_event_header *header, uint64_t left)
{
	return header->size >= sizeof(*header) && header->size <= left;
}

static int ring_read(struct sideband *s, struct perf_event_mmap_page *ring)
{
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->data_tail;
	const uint8_t *data = (const uint8_t *)ring + s->page_size;
	size_t size = SIDEBAND_PAGES * s->page_size;
	uint64_t now;
	int err = 0;

	if (tail == head)
		return 0;
	now = clock_now_ns(); /* everything up to the head has been written by now */
	/* The kernel reports a loss only with the next record, which may take long. */
	s->has_lost |= head - tail > size - MAX_RECORD_SIZE;
	while (err == 0 && tail < head) {
		struct perf_event_header header;

		perf_ring_copy(data, size, tail, &header, sizeof(header));
		if (!is_whole(&header, head - tail)) {
			/* Where the next one begins is not known; the kernel will write at the head. */
			s->has_lost = true;
			tail = head;
			break;
		}
		err = record_append(s, data, size, tail, header.size, now);
		if (err == 0)
			tail += header.size;
	}
	__atomic_store_n(&ring->data_tail, tail, __ATOMIC_RELEASE);
	return err;
}

static enum sideband_haste record_haste(const struct perf_event_header *record,
					const struct process_table *table)
{
	if (perf_record_is_urgent(record, table))
		return SIDEBAND_NOW;
	if (perf_record_is_of_no_file(record))
		return SIDEBAND_SOON;
	return perf_record_is_of_thread(record) ? SIDEBAND_LATER : SIDEBAND_BY_SAMPLE;
}

/* Looks at the records that were read since the last look. */
static void look_at_records(struct sideband *s, const struct process_table *table)
{
	if (s->n_looked == 0)
		s->looked = SIDEBAND_LATER;
	for (; s->n_looked < s->n_records; s->n_looked++) {
		const struct perf_event_header *record = header_of(s, &s->records[s->n_looked]);
		enum sideband_haste haste = record_haste(record, table);

		s->looked = haste > s->looked ? haste : s->looked;
	}
}

static enum sideband_haste haste_of(struct sideband *s, const struct process_table *table)
{
	for (size_t i = 0; i < s->n_rings; i++)
		if (s->rings[i] && ring_read(s, s->rings[i]) < 0)
			return SIDEBAND_NOW;
	if (s->has_lost || s->n_records > MAX_GATHERED)
		return SIDEBAND_NOW;
	if (s->n_records == 0)
		return SIDEBAND_NEVER;
	if (table->filter)
		return SIDEBAND_NOW;
	look_at_records(s, table);
	return s->looked;
}

struct sideband_look sideband_look(struct sideband *s, const struct process_table *table)
{
	enum sideband_haste haste = haste_of(s, table);

	return (struct sideband_look){ haste, s->n_read };
}

/* Asking perf whether a ring is readable makes it forget that it was (perf_poll()). */
void sideband_forget_wakeups(struct sideband *s)
{
	struct epoll_event events[AT_ONCE];

	for (size_t i = 0; i < s->n_rings; i += AT_ONCE)
		if (epoll_wait(s->epoll, events, AT_ONCE, 0) < AT_ONCE)
			return;
}

uint64_t sideband_n_read(const struct sideband *s)
{
	return s->n_read;
}

int sideband_add_cpu(struct sideband *s, unsigned int cpu)
{
	int err;

	sideband_drop_cpu(s, cpu);
	err = ring_open(s, cpu);
	s->has_lost = true;
	return err;
}

void sideband_drop_cpu(struct sideband *s, unsigned int cpu)
{
	if (s->fds[cpu] >= 0 && ring_read(s, s->rings[cpu]) < 0)
		s->has_lost = true;
	ring_close(s, cpu);
}

static int record_compare(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int record_apply(struct sideband *s, const struct record *r, struct process_table *table)
{
	struct perf_event_header *header = header_of(s, r);

	s->has_lost |= header->type == PERF_RECORD_LOST;
	return perf_record_apply(header, r->time, table, s->kallsyms);
}

/* Applies the records from before a time, and publishes the changes to the kernel. */
static int records_apply(struct sideband *s, struct process_table *table, uint64_t before)
{
	uint64_t shown = clock_now_ns();
	size_t n = 0;
	int err = 0;

	while (err == 0 && n < s->n_records && s->records[n].time < before) {
		err = record_apply(s, &s->records[n++], table);
		if (err == 0 && clock_now_ns() - shown > PUBLISH_NS) {
			err = process_table_publish(table, clock_now_ns());
			shown = clock_now_ns();
		}
	}
	records_drop(s, n);
	return err < 0 ? err : process_table_publish(table, clock_now_ns());
}

/*
 * A record caused by another one (a child's exec by its fork) was written after it. If it is older
 * than the reading of the rings, its cause was in a ring by then and was read. If not, the cause
 * may have gone to a ring that had been read already, and another round is needed to order the two.
 */
int sideband_drain(struct sideband *s, struct process_table *table)
{
	int err;

	for (unsigned int round = 0; round < SIDEBAND_MAX_ROUNDS; round++) {
		uint64_t before = clock_now_ns();

		err = 0;
		for (size_t i = 0; err == 0 && i < s->n_rings; i++)
			err = s->rings[i] ? ring_read(s, s->rings[i]) : 0;
		if (s->n_records > 0)
			qsort(s->records, s->n_records, sizeof(*s->records), record_compare);
		if (err == 0)
			err = records_apply(s, table, before);
		if (err < 0 || s->n_records == 0)
			break;
	}
	s->n_looked = 0; /* what was left may have moved */
	s->is_behind = s->n_records > 0;
	return err;
}

bool sideband_is_behind(const struct sideband *s)
{
	return s->is_behind;
}

bool sideband_take_loss(struct sideband *s)
{
	bool has_lost = s->has_lost;

	s->has_lost = false;
	return has_lost;
}
