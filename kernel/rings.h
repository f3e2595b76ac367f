/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_RINGS_H
#define DP_KERNEL_RINGS_H

#include <stddef.h>
#include <stdint.h>

struct ring_buffer;
struct ring_reader;

/*
 * Called for a record, which is gone afterwards. A sample is a struct named_sample by then,
 * checked and whole (last_stacks.h), so its kind is DP_RECORD_NAMES. Anything but 0 and
 * -EAGAIN is an error that ends the reading. -EAGAIN: this record was taken, and the others
 * of its ring are left for the next time. Without it, a ring that is filled as fast as it is
 * read would be read for ever.
 */
typedef int (*ring_fn)(void *arg, unsigned int cpu, const void *record, size_t size);

/* The ring buffers of a session, each read on its own. It does not move. */
struct rings {
	ring_fn fn;
	void *arg;
	uint64_t n_bytes; /* taken up in the rings by all that was read */
	int epoll_fd;     /* readable when one of them is filling up; -1: there are none */
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
