// SPDX-License-Identifier: Apache-2.0
/*
 * Profilers in a process that also does other things: two at once, and profiles taken while
 * sampling continues.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/root_main.h"
#include "kernel/filter.h"
#include "log/clock.h"
#include "profiler/profiler.h"
#include "symbols/tests/some_names.h"

#define MS UINT64_C(1000000)
#define N_THREADS 3
#define N_PARTS 20

/* Identifies a sample: a thread is sampled once at a time. */
struct seen {
	uint64_t time_ns;
	pid_t tid;
};

/* A report that records what it receives. */
struct noted {
	struct report report;
	struct seen *seen;
	size_t n, size;
	uint64_t weight;
	struct totals totals; /* when it was taken */
	uint64_t from_ns, to_ns;
	bool is_taken;
};

/* Threads of this process that use CPU time. */
static atomic_bool has_ended;
static pthread_t threads[N_THREADS];
static struct filter filter;
static pid_t self;

static void *burn(void *arg)
{
	while (!atomic_load(&has_ended))
		;
	return NULL;
}

static int noted_add(struct report *report, const struct sample *sample,
		     const struct totals *totals)
{
	struct noted *noted = (struct noted *)report;

	cr_assert_eq(array_reserve(noted->seen, noted->n, noted->size), 0);
	noted->seen[noted->n++] = (struct seen){ sample->time_ns, sample->tid };
	noted->weight += sample->weight;
	cr_assert_eq(totals->samples, noted->n, "the totals are those of its time");
	return 0;
}

static struct profiler_options options_of(unsigned int hz)
{
	return (struct profiler_options){
		.target = { .pids = &self, .n_pids = 1, .filter = &filter },
		.event = { .source = &event_cpu },
		.hz = hz,
		.max_block_ns = UINT64_MAX,
		.max_frames = 128,
		.unwind = DP_UNWIND_AUTO,
		.table_memory = pool_default_memory(),
		.names = some_names(),
	};
}

static struct profiler *start(const struct profiler_options *options, struct noted *const *noted,
			      size_t n)
{
	struct report *reports[2];
	struct report_context context;
	struct profiler *p;

	for (size_t i = 0; i < n; i++)
		reports[i] = &noted[i]->report;
	cr_assert_eq(profiler_open(options, &p), 0);
	cr_assert_eq(profiler_attach(p, 0), 0);
	profiler_describe(p, &context);
	cr_assert_eq(profiler_start(p, reports, n, false), 0);
	cr_assert_eq(context.hz, options->hz);
	cr_assert(strlen(context.event) > 0);
	return p;
}

static void end(struct profiler *p)
{
	profiler_stop(p);
	cr_assert_eq(profiler_finish(p), 0);
}

static void begin(void)
{
	self = getpid();
	filter_init(&filter);
	for (int i = 0; i < N_THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, burn, NULL), 0);
}

static void finish(void)
{
	atomic_store(&has_ended, true);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	filter_done(&filter);
}

TestSuite(profiler, .init = begin, .fini = finish, .timeout = 120);

static int on_taken(void *arg, struct report *report, const struct totals *totals)
{
	struct noted *noted = arg;

	cr_assert_eq(report, &noted->report);
	noted->totals = *totals;
	noted->is_taken = true;
	return 0;
}

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* The parts of a run add up to one report of the whole, and each has the samples of its time. */
static void check_parts(const struct noted *whole, const struct noted *parts, size_t n_parts)
{
	struct seen *all = calloc(whole->n, sizeof(*all));
	struct totals sum = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < n_parts; i++) {
		const struct noted *part = &parts[i];

		cr_assert(part->is_taken);
		cr_assert_leq(n + part->n, whole->n);
		for (size_t j = 0; j < part->n; j++)
			all[n + j] = part->seen[j];
		n += part->n;
		cr_assert_eq(part->totals.samples, part->n);
		cr_assert_eq(part->totals.events, part->weight);
		cr_assert_eq(part->totals.duration_ns, part->to_ns - part->from_ns);
		for (size_t j = 0; j < part->n; j++)
			cr_assert(part->seen[j].time_ns < part->to_ns &&
					  part->seen[j].time_ns >= part->from_ns,
				  "part %zu: sample %zu is of another time", i, j);
		sum.samples += part->totals.samples;
		sum.events += part->totals.events;
		for (int o = 0; o < DP_N_OUTCOMES; o++)
			sum.outcomes[o] += part->totals.outcomes[o];
	}
	cr_assert_eq(n, whole->n);
	qsort(all, n, sizeof(*all), compare_seen);
	qsort(whole->seen, whole->n, sizeof(*all), compare_seen);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(compare_seen(&all[i], &whole->seen[i]), 0, "sample %zu", i);
	cr_assert(sum.samples == whole->totals.samples && sum.events == whole->totals.events);
	for (int o = 0; o < DP_N_OUTCOMES; o++)
		cr_assert_eq(sum.outcomes[o], whole->totals.outcomes[o]);
	free(all);
}

Test(profiler, takes_profiles_while_it_samples)
{
	struct profiler_options options = options_of(997);
	struct noted whole = { .report.add = noted_add }, parts[N_PARTS + 1];
	struct profiler *p = NULL;
	size_t n = 0;

	for (size_t i = 0; i <= N_PARTS; i++)
		parts[i] = whole;
	p = start(&options, (struct noted *[]){ &whole, &parts[0] }, 2);
	parts[0].from_ns = profiler_started(p);
	while (n < N_PARTS) {
		uint64_t until = clock_now_ns() + 50 * MS, before;
		int err;

		while (clock_now_ns() < until)
			cr_assert_eq(profiler_run(p, until), 0);
		before = clock_now_ns();
		err = profiler_take(p, 1, &parts[n + 1].report, on_taken, &parts[n],
				    &parts[n].to_ns);
		cr_assert(err == 0 || err == -EBUSY);
		if (err == -EBUSY)
			continue;
		cr_assert(parts[n].to_ns >= before && parts[n].to_ns <= clock_now_ns());
		parts[n + 1].from_ns = parts[n].to_ns;
		n++;
	}
	end(p);
	whole.totals = profiler_totals_of(p, 0);
	parts[n].totals = profiler_totals_of(p, 1);
	parts[n].to_ns = parts[n].from_ns + parts[n].totals.duration_ns;
	parts[n].is_taken = true;
	profiler_free(p);
	cr_assert_gt(whole.n, 100, "%zu samples in a second of %d busy threads", whole.n,
		     N_THREADS);
	cr_assert_lt(whole.totals.finished_late, whole.n / 2, "the kernel has no tables");
	check_parts(&whole, parts, N_PARTS + 1);
	for (size_t i = 0; i <= N_PARTS; i++)
		free(parts[i].seen);
	free(whole.seen);
}

static size_t count_between(const struct noted *noted, uint64_t from_ns, uint64_t to_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < noted->n; i++)
		n += noted->seen[i].time_ns >= from_ns && noted->seen[i].time_ns < to_ns;
	return n;
}

/* They are independent: what one filters out or ends does not affect the other. */
Test(profiler, is_one_of_two)
{
	struct profiler_options fast = options_of(997), slow = options_of(97);
	struct noted often = { .report.add = noted_add }, seldom = often;
	struct profiler *a = start(&fast, (struct noted *[]){ &often }, 1);
	struct profiler *b = start(&slow, (struct noted *[]){ &seldom }, 1);
	uint64_t from = clock_now_ns(), until = from + 1000 * MS, to;
	size_t n_of_first, n_of_second;

	/* Long enough, however busy the machine is. */
	while (clock_now_ns() < until || seldom.n < 50) {
		cr_assert_eq(profiler_run(a, clock_now_ns() + 10 * MS), 0);
		cr_assert_eq(profiler_run(b, clock_now_ns() + 10 * MS), 0);
	}
	to = clock_now_ns();
	end(a);
	a = profiler_free(a);
	n_of_first = often.n;
	n_of_second = seldom.n;
	until = clock_now_ns() + 500 * MS;
	while (clock_now_ns() < until)
		cr_assert_eq(profiler_run(b, until), 0);
	end(b);
	cr_assert_eq(profiler_totals(b)->samples, seldom.n);
	profiler_free(b);
	cr_assert_eq(often.n, n_of_first);
	cr_assert_gt(seldom.n, n_of_second, "it goes on without the other one");
	/* Ending one takes a while: only when there were both. */
	cr_assert_gt(count_between(&often, from, to), 4 * count_between(&seldom, from, to),
		     "ten times as often");
	free(often.seen);
	free(seldom.seen);
}
