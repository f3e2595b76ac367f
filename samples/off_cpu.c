// SPDX-License-Identifier: Apache-2.0
#include "samples/off_cpu.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "log/clock.h"

/* The function with the tracepoint; the compiler may add a suffix. */
#define SCHEDULER "__schedule"
#define MAX_OWN_FRAMES 8

/* How often to search for threads that are gone. */
#define LOOK_NS (10 * UINT64_C(1000000000))

static void interval_drop(struct off_cpu_intervals *intervals, struct off_cpu_interval *b)
{
	if (intervals->unread == b)
		intervals->unread = b->hh.next;
	HASH_DEL(intervals->by_tid, b);
	owned_sample_free(b->kept);
	free(b);
}

void off_cpu_done(struct off_cpu_intervals *intervals)
{
	struct off_cpu_interval *b, *next;

	HASH_ITER(hh, intervals->by_tid, b, next)
		interval_drop(intervals, b);
}

/* True if no thread has this TID. The record of its end was lost or is not read yet. */
static bool has_ended(const struct off_cpu_interval *b)
{
	return tgkill(b->kept->sample.pid, b->tid, 0) < 0 && errno == ESRCH;
}

void off_cpu_update(struct off_cpu_intervals *intervals, uint64_t before, uint64_t now)
{
	struct off_cpu_interval *b, *next;

	if (now < intervals->looked + LOOK_NS)
		return;
	intervals->looked = now;
	HASH_ITER(hh, intervals->by_tid, b, next) {
		if (b->ended_ns != 0 && b->ended_ns < before)
			interval_drop(intervals, b);
		else if (b->ended_ns == 0 && has_ended(b))
			b->ended_ns = now;
	}
}

int off_cpu_add(struct off_cpu_intervals *intervals, const struct sample *sample,
		const struct span_list *calls)
{
	struct off_cpu_interval *b = calloc(1, sizeof(*b)), *old;
	int err = b ? owned_sample_new(sample, calls, &b->kept) : -ENOMEM;

	if (err < 0) {
		free(b);
		return err;
	}
	b->tid = sample->tid;
	HASH_FIND(hh, intervals->by_tid, &sample->tid, sizeof(sample->tid), old);
	if (old)
		interval_drop(intervals, old);
	HASH_ADD(hh, intervals->by_tid, tid, sizeof(b->tid), b);
	if (HASH_IS_ADDED(hh, b)) {
		intervals->unread = intervals->unread ?: b;
		return 0;
	}
	owned_sample_free(b->kept);
	free(b);
	return -ENOMEM;
}

struct owned_sample *off_cpu_take(struct off_cpu_intervals *intervals, pid_t tid, uint64_t time_ns)
{
	struct owned_sample *kept;
	struct off_cpu_interval *b;

	HASH_FIND(hh, intervals->by_tid, &tid, sizeof(tid), b);
	if (!b || b->kept->sample.time_ns != time_ns)
		return NULL;
	kept = steal_ptr(b->kept);
	interval_drop(intervals, b);
	return kept;
}

int off_cpu_read(struct off_cpu_intervals *intervals, uint64_t before,
		 int (*read)(void *arg, const struct sample *sample), void *arg)
{
	struct off_cpu_interval *b;

	while ((b = intervals->unread) && b->kept->sample.time_ns < before) {
		int err = read(arg, &b->kept->sample);

		if (err != 0)
			return err;
		intervals->unread = b->hh.next;
	}
	return 0;
}

void off_cpu_forget(struct off_cpu_intervals *intervals, pid_t tid, uint64_t time_ns)
{
	struct off_cpu_interval *b;

	HASH_FIND(hh, intervals->by_tid, &tid, sizeof(tid), b);
	if (b && b->kept->sample.time_ns <= time_ns)
		interval_drop(intervals, b);
}

size_t off_cpu_own_frames(struct off_cpu_intervals *intervals, const __u64 *kernel, size_t n)
{
	if (!intervals->knows_own && intervals->kallsyms) {
		for (size_t i = 0; i < n && i < MAX_OWN_FRAMES; i++) {
			uint64_t offset;
			const char *name =
				kallsyms_find(intervals->kallsyms, kernel[i] - 1, &offset);

			if (!name || strncmp(name, SCHEDULER, strlen(SCHEDULER)) != 0)
				continue;
			intervals->n_own = i;
			intervals->knows_own = true;
			break;
		}
	}
	return intervals->n_own < n ? intervals->n_own : n;
}
