// SPDX-License-Identifier: Apache-2.0
#include "samples/live_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "kernel/session.h"
#include "limits/limits.h"
#include "log/log.h"
#include "report/report_queue.h"
#include "samples/owned_sample.h"

struct memory_site {
	UT_hash_handle hh;
	struct owned_sample *kept; /* the first sample */
	uint64_t n, bytes;         /* held */
	size_t key_size;
	uint64_t key[]; /* the process, and the frames' addresses, modules and offsets */
};

void live_memory_done(struct live_memory *memory)
{
	struct memory_site *site, *next;

	HASH_ITER(hh, memory->sites, site, next) {
		HASH_DEL(memory->sites, site);
		owned_sample_free(site->kept);
		free(site);
	}
	free(memory->of);
	memory->of = NULL;
	memory->size = 0;
}

static struct memory_site *site_new(const struct sample *sample)
{
	size_t key_size = (1 + 3 * sample->n_user) * sizeof(uint64_t);
	struct memory_site *site = calloc(1, sizeof(*site) + key_size);

	if (!site)
		return NULL;
	site->key_size = key_size;
	site->key[0] = (uint64_t)sample->pid;
	for (size_t i = 0; i < sample->n_user; i++) {
		site->key[1 + 3 * i] = sample->user[i].address;
		site->key[2 + 3 * i] = (uintptr_t)sample->user[i].module;
		site->key[3 + 3 * i] = sample->user[i].offset;
	}
	return site;
}

static int find_site(struct live_memory *memory, const struct sample *sample,
		     struct memory_site **ret)
{
	struct memory_site *made = site_new(sample), *site;
	int err;

	if (!made)
		return -ENOMEM;
	HASH_FIND(hh, memory->sites, made->key, made->key_size, site);
	if (site) {
		free(made);
		*ret = site;
		return 0;
	}
	if (HASH_COUNT(memory->sites) >= MEMORY_SITES_MAX) {
		free(made);
		*ret = NULL;
		return 0;
	}
	err = owned_sample_new(sample, NULL, &made->kept);
	if (err == 0) {
		HASH_ADD_KEYPTR(hh, memory->sites, made->key, made->key_size, made);
		if (!HASH_IS_ADDED(hh, made))
			err = -ENOMEM;
	}
	if (err < 0) {
		owned_sample_free(made->kept);
		free(made);
		return err;
	}
	*ret = made;
	return 0;
}

static int make_room(struct live_memory *memory, uint64_t number)
{
	size_t size = memory->size ? memory->size : 1024;
	struct memory_site **of;

	if (number < memory->size)
		return 0;
	while (size <= number)
		size *= 2;
	of = reallocarray(memory->of, size, sizeof(*of));
	if (!of)
		return -ENOMEM;
	memset(of + memory->size, 0, (size - memory->size) * sizeof(*of));
	memory->of = of;
	memory->size = size;
	return 0;
}

int live_memory_add(struct live_memory *memory, const struct named_sample *named,
		    struct sample *sample)
{
	const struct dp_values *values = sample_values(named);
	const void *cells = values ? values + 1 : NULL;
	const uint64_t *value = cells;
	struct memory_site *site;
	int err;

	if (sample->event != DP_EVENT_ALLOC || !values || values->n < DP_ALLOC_N_VALUES ||
	    values->part.size < sizeof(*values) + DP_ALLOC_N_VALUES * DP_CELL_SIZE)
		return 0;
	sample->value_ns = value[DP_ALLOC_SIZE];
	/* What is held of others is counted at the end. */
	if (value[DP_ALLOC_NUMBER] >= MEMORY_SAMPLES_MAX)
		return 0;
	err = make_room(memory, value[DP_ALLOC_NUMBER]);
	if (err == 0)
		err = find_site(memory, sample, &site);
	if (err < 0)
		return err;
	memory->of[value[DP_ALLOC_NUMBER]] = site;
	return 0;
}

static int count_held(void *arg, const struct dp_held *held)
{
	struct live_memory *memory = arg;
	struct memory_site *site = held->number < memory->size ? memory->of[held->number] : NULL;

	if (!site) {
		memory->n_unknown++;
		return 0;
	}
	site->n += held->weight;
	site->bytes += held->weight * held->size;
	return 0;
}

/* The last samples must not be lost. */
static void wait_for_room(struct report_queue *queue)
{
	const struct timespec pause = { 0, 1000000 };

	while (report_queue_is_full(queue))
		nanosleep(&pause, NULL);
}

/* Pieces of some size on average. */
static int report_some(const struct memory_site *site, uint64_t n, uint64_t size, uint64_t now_ns,
		       struct report_queue *queue, struct totals *totals)
{
	struct sample sample = site->kept->sample;

	if (n == 0)
		return 0;
	sample.event = DP_EVENT_HELD;
	sample.time_ns = now_ns;
	sample.weight = n;
	sample.value_ns = size;
	sample.verification = NULL;
	/* The threads and labels of all its pieces are not kept. */
	sample.tid = sample.pid;
	sample.cpu = 0;
	sample.labels = NULL;
	memcpy(sample.thread_name, sample.comm, sizeof(sample.thread_name));
	totals_count(totals, &sample);
	wait_for_room(queue);
	return report_queue_add(queue, &sample, totals);
}

/* A sample's pieces have one size: two samples have the sum. */
static int report_site(const struct memory_site *site, uint64_t now_ns, struct report_queue *queue,
		       struct totals *totals)
{
	uint64_t size, n_larger;
	int err;

	if (site->n == 0)
		return 0;
	size = site->bytes / site->n;
	n_larger = site->bytes % site->n;
	err = report_some(site, site->n - n_larger, size, now_ns, queue, totals);
	return err < 0 ? err : report_some(site, n_larger, size + 1, now_ns, queue, totals);
}

int live_memory_report(struct live_memory *memory, const struct session *session,
		       struct report_queue *queue, struct totals *totals, uint64_t now_ns)
{
	uint64_t n_full = session_held_full(session);
	const struct memory_site *site;
	int err = session_each_held(session, count_held, memory);

	for (site = memory->sites; err == 0 && site; site = site->hh.next)
		err = report_site(site, now_ns, queue, totals);
	if (n_full > 0)
		log_warning("more than %d allocations were held at once: for %" PRIu64
			    " it is not known whether they still are (--alloc=SIZE takes fewer)",
			    DP_MAX_HELD, n_full);
	if (memory->n_unknown > 0)
		log_warning("the stacks of %" PRIu64 " held allocations were lost",
			    memory->n_unknown);
	return err;
}
