/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_TESTS_KERNEL_WORLD_H
#define DP_SAMPLES_TESTS_KERNEL_WORLD_H

#include <criterion/criterion.h>
#include <errno.h>

#include "kernel/ring_record.h"
#include "samples/tests/wrapped.h"

/*
 * A kernel whose rings and blocked threads a test sets: the linker redirects the program's calls to
 * the functions below (--wrap, samples/meson.build). The test's own sideband_drain() sets what
 * happens to processes.
 */
#define MAX_RECORDS 32

/* One record of a ring. */
struct record {
	_Alignas(8) uint8_t bytes[1024];
	size_t size;
};

static ring_fn read_record;
static void *read_arg;
static struct record records[MAX_RECORDS];
static size_t n_records, n_read;
static struct session_losses losses;
static struct dp_blocked blocked[4];
static uint64_t blocked_ns[4];
static size_t n_blocked;

int __wrap_session_read_rings(struct session *session, ring_fn fn, void *arg)
{
	read_record = fn;
	read_arg = arg;
	return 0;
}

/* Reads a ring: -EAGAIN ends it for this time. */
int __wrap_session_consume(struct session *session)
{
	int err = 0;

	while (err == 0 && n_read < n_records) {
		const struct record *r = &records[n_read++];

		err = read_record(read_arg, 0, r->bytes, r->size);
	}
	return err == -EAGAIN ? 0 : err;
}

void __wrap_session_losses(const struct session *session, struct session_losses *ret)
{
	*ret = losses;
}

int __wrap_session_each_blocked(const struct session *session, uint64_t until_ns,
				int (*fn)(void *arg, const struct dp_blocked *blocked,
					  uint64_t time_ns),
				void *arg)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < n_blocked; i++)
		err = fn(arg, &blocked[i], blocked_ns[i]);
	return err;
}

bool __wrap_sideband_take_loss(struct sideband *sideband)
{
	return false;
}

bool __wrap_sideband_is_behind(const struct sideband *sideband)
{
	return false;
}

static struct record *add_record(const void *bytes, size_t size)
{
	struct record *r = &records[n_records++];

	cr_assert(n_records <= MAX_RECORDS && size <= sizeof(r->bytes));
	memcpy(r->bytes, bytes, size);
	r->size = size;
	return r;
}

/* A sample as the kernel sends it: three frames, two of the kernel. */
static struct named_sample *add_sample_of(pid_t pid, const struct snapshot *snapshot, uint64_t time,
					  const __u64 frames[5])
{
	struct named_sample sample = {
		.names = { .part = { DP_RECORD_NAMES, sizeof(struct dp_names) },
			   .comm = "comm",
			   .thread_name = "thread" },
		.sample = {
			.part = { DP_RECORD_SAMPLE, sizeof(struct dp_sample) + 5 * sizeof(*frames) },
			.pid = (__u32)pid,
			.tid = (__u32)pid + 100,
			.cpu = 3,
			.time_ns = time,
			.n_user = 3,
			.n_kernel = 2,
			.outcome = DP_CHAIN_END,
			.weight = 2,
			.snapshot = snapshot ? snapshot->id : 0,
		},
	};
	struct record *r = add_record(&sample, sizeof(sample));

	memcpy(r->bytes + r->size, frames, 5 * sizeof(*frames));
	r->size += 5 * sizeof(*frames);
	return (void *)r->bytes;
}

#endif
