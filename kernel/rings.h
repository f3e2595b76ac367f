/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_RINGS_H
#define DP_KERNEL_RINGS_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/record_reader.h"

struct ring_buffer;
struct ring_reader;

/* The ring buffers of a session, each read separately. The structure must not move. */
struct rings {
	ring_fn fn;
	void *arg;
	uint64_t n_bytes;   /* of ring snapshot consumed so far */
	uint64_t n_refused; /* records that were read and are invalid */
	int epoll_fd;       /* readable when a ring is filling up; -1: there are no rings */
	const int *fds;
	size_t n, n_mapped; /* the first n_mapped rings have a buffer */
	struct ring_buffer **buffers;
	struct ring_reader *readers;
};

/*
 * fds: descriptors of n maps, owned by the caller, which keeps them open until rings_done(). If
 * there are several rings per CPU, ring i belongs to CPU i % n_cpus. Rings are mapped when they are
 * first read and may contain records by then. On failure returns a negative errno and leaves no
 * rings.
 */
int rings_init(struct rings *ret, const int *fds, size_t n, unsigned int n_cpus, ring_fn fn,
	       void *arg);
void rings_done(struct rings *rings);

/*
 * Calls fn for all available records, in order within each ring. 0, or an error of fn or libbpf,
 * such as -ENOMEM when a ring is mapped.
 */
int rings_read(struct rings *rings);

#endif
