// SPDX-License-Identifier: Apache-2.0
#include "samples/blocks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "log/clock.h"

/* The function that has the tracepoint; what is behind it is an affair of the compiler. */
#define SCHEDULER "__schedule"
#define MAX_OWN_FRAMES 8

/* How often threads are looked for that are gone. */
#define LOOK_NS (10 * UINT64_C(1000000000))

struct block *block_free(struct block *b)
{
	uint64_t now = b ? clock_now_ns() : 0;

	for (size_t i = 0; b && i < b->sample.n_user; i++)
		if (b->frames[i].module)
			module_drop(b->frames[i].module, now);
	free(b);
	return NULL;
}

static void block_drop(struct blocks *blocks, struct block *b)
{
	HASH_DEL(blocks->by_tid, b);
	block_free(b);
}

void blocks_done(struct blocks *blocks)
{
	struct block *b, *next;

	HASH_ITER(hh, blocks->by_tid, b, next)
		block_drop(blocks, b);
}

/* No thread has its number, but its end was lost, or is on its way. */
static bool has_ended(const struct block *b)
{
	return tgkill(b->sample.pid, b->sample.tid, 0) < 0 && errno == ESRCH;
}

void blocks_update(struct blocks *blocks, uint64_t before, uint64_t now)
{
	struct block *b, *next;

	if (now < blocks->looked + LOOK_NS)
		return;
	blocks->looked = now;
	HASH_ITER(hh, blocks->by_tid, b, next) {
		if (b->ended_ns != 0 && b->ended_ns < before)
			block_drop(blocks, b);
		else if (b->ended_ns == 0 && has_ended(b))
			b->ended_ns = now;
	}
}

int blocks_add(struct blocks *blocks, const struct sample *sample)
{
	size_t user_size = sample->n_user * sizeof(*sample->user);
	size_t kernel_size = sample->n_kernel * sizeof(*sample->kernel);
	size_t labels_size = label_set_size(sample->labels);
	struct block *b = malloc(sizeof(*b) + user_size + kernel_size + labels_size);
	struct block *old;
	__u64 *kernel;

	if (!b)
		return -ENOMEM;
	kernel = (__u64 *)(b->frames + sample->n_user);
	b->sample = *sample;
	b->ended_ns = 0;
	if (user_size > 0)
		memcpy(b->frames, sample->user, user_size);
	if (kernel_size > 0)
		memcpy(kernel, sample->kernel, kernel_size);
	b->sample.user = b->frames;
	b->sample.kernel = kernel;
	if (labels_size > 0)
		b->sample.labels = memcpy(kernel + sample->n_kernel, sample->labels, labels_size);

	HASH_FIND(hh, blocks->by_tid, &sample->tid, sizeof(sample->tid), old);
	if (old)
		block_drop(blocks, old);
	HASH_ADD(hh, blocks->by_tid, sample.tid, sizeof(b->sample.tid), b);
	if (!HASH_IS_ADDED(hh, b)) {
		free(b);
		return -ENOMEM;
	}
	for (size_t i = 0; i < sample->n_user; i++)
		if (b->frames[i].module)
			module_hold(b->frames[i].module);
	return 0;
}

struct block *blocks_take(struct blocks *blocks, pid_t tid, uint64_t time_ns)
{
	struct block *b;

	HASH_FIND(hh, blocks->by_tid, &tid, sizeof(tid), b);
	if (!b || b->sample.time_ns != time_ns)
		return NULL;
	HASH_DEL(blocks->by_tid, b);
	return b;
}

void blocks_forget(struct blocks *blocks, pid_t tid, uint64_t time_ns)
{
	struct block *b;

	HASH_FIND(hh, blocks->by_tid, &tid, sizeof(tid), b);
	if (b && b->sample.time_ns <= time_ns)
		block_drop(blocks, b);
}

size_t blocks_own_frames(struct blocks *blocks, const __u64 *kernel, size_t n)
{
	if (!blocks->knows_own && blocks->kallsyms) {
		for (size_t i = 0; i < n && i < MAX_OWN_FRAMES; i++) {
			uint64_t offset;
			const char *name = kallsyms_find(blocks->kallsyms, kernel[i] - 1, &offset);

			if (!name || strncmp(name, SCHEDULER, strlen(SCHEDULER)) != 0)
				continue;
			blocks->n_own = i;
			blocks->knows_own = true;
			break;
		}
	}
	return blocks->n_own < n ? blocks->n_own : n;
}
