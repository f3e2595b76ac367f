/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_RINGS_H
#define DP_KERNEL_RINGS_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/record_reader.h"

struct ring_buffer;
struct ring_reader;

/* The ring buffers of a session, each read on its own. It does not move. */
struct rings {
	ring_fn fn;
	void *arg;
	uint64_t n_bytes;   /* taken up in the rings by all that was read */
	uint64_t n_refused; /* records that were read, and are none */
	int epoll_fd;       /* readable when one of them is filling up; -1: there are none */
	const int *fds;
	size_t n, n_mapped; /* so many of the n have a buffer */
	struct ring_buffer **buffers;
	struct ring_reader *readers;
};

/*
 * fds: of n maps, the caller's for as long as there are rings; several may belong to one
 * CPU: that is the index's remainder by n_cpus. 0 or negative errno, and there are none.
 * They are mapped when they are first read, by which time they may be filled.
 */
int rings_init(struct rings *ret, const int *fds, size_t n, unsigned int n_cpus, ring_fn fn,
	       void *arg);
void rings_done(struct rings *rings);

/*
 * Have fn called for the records there are, in the order of each ring. 0, or an error of fn or
 * libbpf, as -ENOMEM when a ring is mapped.
 */
int rings_read(struct rings *rings);

#endif
