// SPDX-License-Identifier: Apache-2.0
#include "sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "clock.h"
#include "event.h"
#include "log.h"
#include "permission.h"
#include "proc_maps.h"

/* Data pages per CPU: room for a thousand records, and within kernel.perf_event_mlock_kb. */
#define SIDEBAND_PAGES 32

/* A record and the time at its end (sample_id_all with PERF_SAMPLE_TIME alone). */
struct record {
	uint64_t time;
	struct perf_event_header *header; /* owned */
};

struct sideband {
	int *fds;
	struct perf_event_mmap_page **rings;
	size_t n_rings;
	size_t page_size;
	struct record *records; /* of one drain */
	size_t n_records, records_size;
};

/* The records' bodies, as perf_event_open(2) describes them. */
struct mmap2_body {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, length, offset;
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	uint32_t protection, flags;
	char name[];
};

struct task_body {
	struct perf_event_header header;
	uint32_t pid, parent_pid;
	uint32_t tid, parent_tid;
	uint64_t time;
};

struct comm_body {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[];
};

static int ring_open(struct sideband *s, unsigned int cpu)
{
	size_t size = (SIDEBAND_PAGES + 1) * s->page_size;
	_cleanup_close_ int fd = event_open_sideband(cpu);
	void *ring;

	if (fd < 0)
		return steal_fd(&fd);
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return -errno;
	s->rings[s->n_rings] = ring;
	s->fds[s->n_rings] = steal_fd(&fd);
	s->n_rings++;
	return 0;
}

static int rings_open(struct sideband *s, unsigned int n_cpus)
{
	s->page_size = (size_t)sysconf(_SC_PAGESIZE);
	s->fds = calloc(n_cpus, sizeof(*s->fds));
	s->rings = calloc(n_cpus, sizeof(*s->rings));
	if (!s->fds || !s->rings)
		return -ENOMEM;
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
		permission_explain_perf("the records of mappings and forks", err);
		sideband_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

static void records_clear(struct sideband *s)
{
	for (size_t i = 0; i < s->n_records; i++)
		free(s->records[i].header);
	s->n_records = 0;
}

struct sideband *sideband_free(struct sideband *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n_rings; i++) {
		munmap(s->rings[i], (SIDEBAND_PAGES + 1) * s->page_size);
		close(s->fds[i]);
	}
	records_clear(s);
	free(s->records);
	free(s->rings);
	free(s->fds);
	free(s);
	return NULL;
}

const int *sideband_fds(const struct sideband *s, size_t *ret_n)
{
	*ret_n = s->n_rings;
	return s->fds;
}

/* Copy size bytes from a position of the ring, which wraps around. */
static void ring_copy(const struct sideband *s, const struct perf_event_mmap_page *ring, void *to,
		      uint64_t position, size_t size)
{
	const uint8_t *data = (const uint8_t *)ring + s->page_size;
	size_t ring_size = SIDEBAND_PAGES * s->page_size;
	size_t at = position % ring_size;
	size_t n = size < ring_size - at ? size : ring_size - at;

	memcpy(to, data + at, n);
	memcpy((uint8_t *)to + n, data, size - n);
}

static int record_append(struct sideband *s, struct perf_event_header *header)
{
	struct record r = { .header = header };

	if (array_reserve(s->records, s->n_records, s->records_size) < 0)
		return -ENOMEM;
	if (header->size >= sizeof(*header) + sizeof(r.time))
		memcpy(&r.time, (const uint8_t *)header + header->size - sizeof(r.time),
		       sizeof(r.time));
	s->records[s->n_records++] = r;
	return 0;
}

static int ring_read(struct sideband *s, struct perf_event_mmap_page *ring)
{
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->data_tail;
	int err = 0;

	while (err == 0 && tail < head) {
		struct perf_event_header header, *copy;

		ring_copy(s, ring, &header, tail, sizeof(header));
		copy = malloc(header.size);
		if (!copy) {
			err = -ENOMEM;
			break;
		}
		ring_copy(s, ring, copy, tail, header.size);
		tail += header.size;
		err = record_append(s, copy);
		if (err < 0)
			free(copy);
	}
	__atomic_store_n(&ring->data_tail, tail, __ATOMIC_RELEASE);
	return err;
}

static int record_compare(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

static int apply_mmap(const struct record *r, struct process_table *table)
{
	struct mmap2_body *body = (void *)r->header;
	struct mmap_record m = {
		.pid = (pid_t)body->pid,
		.time = r->time,
		.start = body->address,
		.end = body->address + body->length,
		.offset = body->offset,
		.inode = body->inode,
		.name = body->name,
	};

	/* A kernel module's text is reported too, as a mapping of process -1. */
	if (m.pid <= 0)
		return 0;
	proc_maps_strip_deleted(body->name);
	return process_table_on_mmap(table, &m);
}

static int record_apply(const struct record *r, struct process_table *table)
{
	const struct task_body *task = (const void *)r->header;
	const struct comm_body *comm = (const void *)r->header;

	switch (r->header->type) {
	case PERF_RECORD_MMAP2:
		return apply_mmap(r, table);
	case PERF_RECORD_FORK:
		return process_table_on_fork(table, (pid_t)task->parent_pid, (pid_t)task->pid,
					     r->time);
	case PERF_RECORD_COMM:
		if (r->header->misc & PERF_RECORD_MISC_COMM_EXEC)
			process_table_on_exec(table, (pid_t)comm->pid, r->time);
		return 0;
	case PERF_RECORD_EXIT:
		process_table_on_exit(table, (pid_t)task->pid, r->time);
		return 0;
	case PERF_RECORD_LOST:
		log_debug("records of mappings were lost: reading all mappings again");
		process_table_resync(table, clock_now_ns());
		return 0;
	}
	return 0;
}

int sideband_drain(struct sideband *s, struct process_table *table)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < s->n_rings; i++)
		err = ring_read(s, s->rings[i]);
	if (s->n_records > 0)
		qsort(s->records, s->n_records, sizeof(*s->records), record_compare);
	for (size_t i = 0; err == 0 && i < s->n_records; i++)
		err = record_apply(&s->records[i], table);
	records_clear(s);
	return err < 0 ? err : process_table_publish(table, clock_now_ns());
}
