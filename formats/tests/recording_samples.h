/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_TESTS_RECORDING_SAMPLES_H
#define DP_FORMATS_TESTS_RECORDING_SAMPLES_H

/* Random samples, realistic as far as recording is concerned: equal seeds give equal samples. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/tests/labels.h"
#include "symbols/names.h"

#define N_RANDOM_MODULES 40
/* Those that there were when the corpus was recorded, which has to be made up the same again. */
#define N_RANDOM_OUTCOMES (DP_GOROUTINE_LEFT + 1)
#define N_RANDOM_EVENTS (DP_EVENT_OFF_CPU + 1)

struct random_samples {
	struct names *names; /* owned */
	uint64_t state;
	struct module modules[N_RANDOM_MODULES];
	char paths[N_RANDOM_MODULES][32];
	uint64_t time_ns;
	size_t n_stacks; /* number of distinct stacks, approximately */
	bool shallow;    /* they have few frames */
	bool texts_only; /* no label is a number */
	struct frame user[DP_MAX_FRAMES];
	__u64 kernel[DP_MAX_KERNEL_FRAMES];
	struct label_set *labels;
	struct sample sample;
	struct totals totals;
};

/* xorshift64*, Vigna 2016. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline uint64_t random_below(struct random_samples *r, uint64_t n)
{
	return (random_next(&r->state) >> 16) % n;
}

static inline void random_init(struct random_samples *r, uint64_t seed, size_t n_stacks)
{
	const struct names_options options = { 0 };

	*r = (struct random_samples){ .state = seed, .n_stacks = n_stacks, .time_ns = 1 << 30 };
	if (names_new(&options, &r->names) < 0)
		abort();
	for (size_t i = 0; i < N_RANDOM_MODULES; i++) {
		struct module *m = &r->modules[i];

		/* Some have no build id, some differ only in their time. */
		snprintf(r->paths[i], sizeof(r->paths[i]), "/nowhere/lib%zu.so", i / 2);
		*m = (struct module){ .names = r->names };
		if (i % 3)
			for (size_t j = 0; j < 40; j++)
				m->build_id[j] = "0123456789abcdef"[random_below(r, 16)];
		m->path = r->paths[i];
		m->name = r->paths[i] + strlen("/nowhere/");
		m->fd = -1;
		m->symtab_tried = m->no_debug = true;
		m->size = (int64_t)random_below(r, 1 << 30);
		m->written.tv_sec = (time_t)random_below(r, 1 << 30);
		m->written.tv_nsec = (long)random_below(r, 1000000000);
	}
}

/* Also frees its memory. */
static inline void random_free(struct random_samples *r)
{
	for (size_t i = 0; i < N_RANDOM_MODULES; i++)
		location_cache_done(&r->modules[i].locations);
	label_set_free(r->labels);
	names_free(r->names);
	free(r);
}

/* A stack depends on its number; only its addresses depend on the process. */
static inline void random_stack(struct random_samples *r, uint64_t number, uint64_t process)
{
	struct random_samples own = { .state = number * 2 + 1 };
	struct sample *s = &r->sample;

	s->n_user = random_below(&own, r->shallow ? 8 : 40);
	if (!r->shallow && random_below(&own, 1000) == 0)
		s->n_user = DP_MAX_FRAMES;
	for (size_t i = 0; i < s->n_user; i++) {
		uint64_t module = random_below(&own, N_RANDOM_MODULES + 4);
		struct frame *f = &r->user[i];

		/* Those of native code. */
		*f = (struct frame){ .method = (enum dp_method)random_below(&own, DP_METHOD_PYTHON),
				     .offset = random_below(&own, 1 << 24) };
		/* Without a module it has no offset. */
		f->address = module < N_RANDOM_MODULES ?
				     f->offset + ((process << 28 | module) << 12) :
				     random_below(&own, UINT64_C(1) << 47);
		if (module < N_RANDOM_MODULES)
			f->module = &r->modules[module];
		else
			f->offset = 0;
		/* The same file at two addresses. */
		if (f->module && random_below(&own, 50) == 0)
			f->address += 0x1000;
	}
	s->n_kernel = random_below(&own, 3) ?
			      0 :
			      random_below(&own, r->shallow ? 8 : DP_MAX_KERNEL_FRAMES + 1);
	for (size_t i = 0; i < s->n_kernel; i++)
		r->kernel[i] = UINT64_C(0xffffffff81000000) + random_below(&own, 1 << 24);
}

/* Half of those with labels have values of a call, without a change of what comes next at random. */
static inline unsigned char random_probe(struct random_samples *r)
{
	unsigned char probe = (unsigned char)(1 + r->time_ns % DP_MAX_LABEL_PROBES);

	if (r->texts_only || r->sample.n_user == 0 || r->time_ns & 16)
		return 0;
	r->user[r->time_ns % r->sample.n_user].probe = probe;
	return probe;
}

/* A fifth of the samples have labels. */
static inline void random_labels(struct random_samples *r)
{
	char text[] = { (char)('a' + random_below(r, 100)), '\0' };
	struct label labels[] = { { .key = "key", .text = text },
				  { .key = "other", .text = "b" },
				  { .key = "key", .unit = "bytes" } };

	r->labels = label_set_free(r->labels);
	if (random_below(r, 5) == 0) {
		bool is_cut = random_below(r, 2);
		size_t n = random_below(r, 2) ? 2 : 0;

		if (!r->texts_only && random_below(r, 2)) {
			labels[2].number =
				((int64_t)random_below(r, 100) - 50) * INT64_C(0x0123456789abcd);
			n++;
		}
		labels[1].probe = labels[2].probe = random_probe(r);
		r->labels = labels_of(n == 1 ? &labels[2] : labels, n, is_cut);
	}
	r->sample.labels = r->labels;
	r->totals.cut_labels += label_set_is_part(r->labels);
}

/* Makes the next one in r->sample, and counts it in r->totals. */
static inline void random_sample(struct random_samples *r)
{
	uint64_t process = random_below(r, 20);
	struct sample *s = &r->sample;
	struct totals *t = &r->totals;
	bool plain = random_below(r, 4) > 0;

	r->time_ns += random_below(r, 20000000);
	*s = (struct sample){ .time_ns = r->time_ns - random_below(r, 1000),
			      .weight = 1,
			      .cpu = (uint32_t)random_below(r, 256),
			      .pid = (pid_t)(1000 + process),
			      .tid = (pid_t)(1000 + process + random_below(r, 4)),
			      .outcome = DP_COMPLETE,
			      .user = r->user,
			      .kernel = r->kernel };
	snprintf(s->comm, sizeof(s->comm), "process %d", s->pid);
	snprintf(s->thread_name, sizeof(s->thread_name), "\xff;thread %d", s->tid);
	random_stack(r, random_below(r, r->n_stacks), process);
	random_labels(r);
	if (!plain) {
		s->event = (enum dp_event)random_below(r, N_RANDOM_EVENTS);
		s->state = s->event == DP_EVENT_OFF_CPU ?
				   (enum dp_state)random_below(r, DP_N_STATES) :
				   (enum dp_state)0;
		s->weight = 1 + random_below(r, 100);
		s->value_ns = random_next(&r->state) >> 30;
		s->outcome = (enum dp_outcome)(DP_COMPLETE +
					       random_below(r, N_RANDOM_OUTCOMES - DP_COMPLETE));
		s->fault_address = s->outcome == DP_READ_FAULT ? random_next(&r->state) : 0;
		s->kernel_error = -(int)random_below(r, 4097);
		s->late = random_below(r, 2);
	}
	t->samples++;
	t->outcomes[s->outcome]++;
	t->events += s->weight;
	t->time_ns += s->weight * s->value_ns;
	t->finished_late += s->late;
	if (random_below(r, 100) == 0) {
		t->lost += random_below(r, 10);
		t->lost_ns += random_below(r, 1000000);
	}
}

#endif
