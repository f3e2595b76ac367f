// SPDX-License-Identifier: Apache-2.0
#include "kernel/rings.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

struct ring_reader {
	struct rings *rings;
	unsigned int cpu;
	struct record_reader records;
};

static int reader_call(void *arg, void *data, size_t size)
{
	struct ring_reader *r = arg;
	struct rings *rings = r->rings;
	uint64_t refused = r->records.n_refused;
	int err;

	rings->n_bytes += BPF_RINGBUF_HDR_SZ + size;
	err = record_reader_read(&r->records, data, size, r->cpu, rings->fn, rings->arg);
	rings->n_refused += r->records.n_refused - refused;
	return err;
}

/*
 * libbpf reads all rings of a ring_buffer; when the callback stops it, those behind are not read.
 * So each ring has its own.
 */
static int map_next(struct rings *r)
{
	struct ring_buffer *buffer =
		ring_buffer__new(r->fds[r->n_mapped], reader_call, &r->readers[r->n_mapped], NULL);

	if (!buffer)
		return -errno;
	r->buffers[r->n_mapped++] = buffer;
	return 0;
}

int rings_init(struct rings *ret, const int *fds, size_t n, unsigned int n_cpus, ring_fn fn,
	       void *arg)
{
	int err = 0;

	*ret = (struct rings){
		.fn = fn,
		.arg = arg,
		.epoll_fd = epoll_create1(EPOLL_CLOEXEC),
		.fds = fds,
		.n = n,
		.buffers = calloc(n, sizeof(struct ring_buffer *)),
		.readers = calloc(n, sizeof(struct ring_reader)),
	};
	if (!ret->buffers || !ret->readers)
		err = -ENOMEM;
	else if (ret->epoll_fd < 0)
		err = -errno;
	for (unsigned int i = 0; err == 0 && i < n; i++) {
		struct epoll_event event = { .events = EPOLLIN };

		ret->readers[i] = (struct ring_reader){ .rings = ret, .cpu = i % n_cpus };
		if (epoll_ctl(ret->epoll_fd, EPOLL_CTL_ADD, fds[i], &event) < 0)
			err = -errno;
	}
	if (err < 0)
		rings_done(ret);
	return err;
}

void rings_done(struct rings *rings)
{
	for (size_t i = 0; i < rings->n_mapped; i++) {
		ring_buffer__free(rings->buffers[i]);
		record_reader_done(&rings->readers[i].records);
	}
	if (rings->epoll_fd >= 0)
		close(rings->epoll_fd);
	free(rings->buffers);
	free(rings->readers);
	*rings = (struct rings){ .epoll_fd = -1 };
}

int rings_read(struct rings *rings)
{
	int err = 0;

	while (err == 0 && rings->n_mapped < rings->n)
		err = map_next(rings);
	for (size_t i = 0; err >= 0 && i < rings->n; i++) {
		err = ring_buffer__consume(rings->buffers[i]);
		if (err == -EAGAIN)
			err = 0;
	}
	return err < 0 ? err : 0;
}
