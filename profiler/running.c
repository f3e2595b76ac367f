// SPDX-License-Identifier: Apache-2.0
#include "profiler/running.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "kernel/cpus.h"
#include "kernel/filter.h"
#include "kernel/session.h"
#include "log/clock.h"
#include "profiler/needs.h"
#include "profiler/profiler_options.h"

/* High, to need little time, and a prime, to avoid lockstep with periodic work. */
#define RATE_HZ 997

struct running {
	struct session session;
	int (*fn)(void *arg, const struct named_sample *sample, const struct stack_copy *copy);
	void *arg;
	struct stack_copy **copies; /* by CPU: the stack of its next sample */
	int result;                 /* returned by fn */
};

static int on_sample(struct running *r, struct stack_copy **copy, const struct named_sample *sample)
{
	const struct stack_copy *own = NULL;
	uint32_t tid = sample->sample.tid;

	if (*copy && (*copy)->tid == tid && (*copy)->time_ns == sample->sample.time_ns)
		own = *copy;
	if (r->result == 0)
		r->result = r->fn(r->arg, sample, own);
	*copy = stack_copy_free(*copy);
	return 0;
}

/* Chunks precede their sample in its ring. If a sample was lost, chunks of another one follow. */
static int on_chunk(struct stack_copy **copy, const struct dp_chunk *chunk)
{
	if (!chunk_bytes(chunk))
		return -EBADMSG;
	if (*copy && ((*copy)->tid != chunk->tid || (*copy)->time_ns != chunk->time_ns))
		*copy = stack_copy_free(*copy);
	return stack_copy_add(copy, chunk);
}

static int on_part(void *arg, unsigned int cpu, const void *part, size_t size)
{
	struct running *r = arg;

	switch (((const struct dp_part *)part)->type) {
	case DP_RECORD_NAMES:
		return on_sample(r, &r->copies[cpu], part);
	case DP_RECORD_CHUNK:
		return on_chunk(&r->copies[cpu], part);
	}
	return 0;
}

static int sample(struct running *r, const struct running_options *o)
{
	uint64_t end;
	char why[EVENT_WHY_SIZE];
	const char *event;
	int err = session_read_rings(&r->session, on_part, r);

	for (size_t i = 0; err == 0 && i < o->n_tids; i++)
		err = session_add_thread(&r->session, o->tids[i]);
	if (err == 0)
		err = session_sample_cpus(&r->session, RATE_HZ, &event, why);
	end = clock_now_ns() + o->duration_ns;
	while (err == 0 && r->result == 0 && clock_now_ns() < end) {
		poll(NULL, 0, 2);
		err = session_consume(&r->session);
	}
	session_stop(&r->session);
	if (err == 0)
		err = session_consume(&r->session);
	return err == 0 && r->result < 0 ? r->result : err;
}

int running_sample(const struct running_options *o,
		   int (*fn)(void *, const struct named_sample *, const struct stack_copy *),
		   void *arg)
{
	struct running r = { .fn = fn, .arg = arg };
	char cpus[CPUS_LIST_SIZE];
	unsigned int n_cpus = cpus_read(cpus);
	struct filter filter;
	/* No process is published, so all samples include their stacks. */
	struct profiler_options profiled = {
		.target = { .n_tids = o->n_tids, .filter = &filter },
		.event = { .source = &event_cpu },
		.hz = RATE_HZ,
		.sides = o->sides,
		.max_frames = 1,
		.table_memory = POOL_MIN_MEMORY,
		.btf = o->btf,
	};
	struct needs needs = needs_of(&profiled);
	struct session_options options = needs_session_options(&needs, &profiled, n_cpus);
	int err;

	filter_init(&filter);
	err = session_open(&r.session, &options);
	if (err == 0) {
		r.copies = calloc(n_cpus, sizeof(struct stack_copy *));
		err = r.copies ? sample(&r, o) : -ENOMEM;
		for (unsigned int i = 0; r.copies && i < n_cpus; i++)
			stack_copy_free(r.copies[i]);
		free(r.copies);
		session_close(&r.session);
	}
	filter_done(&filter);
	return err;
}
