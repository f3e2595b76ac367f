// SPDX-License-Identifier: Apache-2.0
#include "samples/process_metrics.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/cond.h"
#include "base/hash.h"
#include "base/signals.h"
#include "kernel/proc_usage.h"
#include "limits/limits.h"
#include "log/clock.h"

enum metric {
	METRIC_CPU,
	METRIC_MEMORY,
	METRIC_READ,
	METRIC_WRITE,
	METRIC_WAIT,
	N_METRICS,
};

static const struct {
	const char *key, *unit;
} forms[N_METRICS] = {
	[METRIC_CPU] = { "usage.cpu", "percent" },
	[METRIC_MEMORY] = { "usage.memory", "bytes" },
	[METRIC_READ] = { "usage.read", "bytes_per_second" },
	[METRIC_WRITE] = { "usage.write", "bytes_per_second" },
	[METRIC_WAIT] = { "usage.run_queue_wait", "percent" },
};

struct reading {
	uint64_t time_ns;   /* 0: there is none */
	unsigned int known; /* bits by enum metric */
	int64_t of[N_METRICS];
};

/* A process of which there are samples. */
struct metered {
	UT_hash_handle hh;
	pid_t pid;
	uint64_t asked_ns; /* the time of its last sample */
	struct reading reading;
	/* The thread's: */
	struct proc_usage last;
	uint64_t last_ns; /* 0: none yet */
};

struct process_metrics {
	struct label_source source;
	pthread_mutex_t lock; /* protects what follows, but not what is the thread's */
	pthread_cond_t changed;
	struct metered *processes; /* only the thread removes some */
	pthread_t thread;
	bool is_started, has_new, ends, has_ended, is_left;
};

static void destroy(struct process_metrics *m)
{
	struct metered *p, *next;

	HASH_ITER(hh, m->processes, p, next) {
		HASH_DEL(m->processes, p);
		proc_usage_done(&p->last);
		free(p);
	}
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static void set(struct reading *r, enum metric metric, uint64_t value)
{
	r->of[metric] = value > INT64_MAX ? INT64_MAX : (int64_t)value;
	r->known |= 1U << metric;
}

static uint64_t per_second(uint64_t before, uint64_t now, uint64_t ns)
{
	return now > before ? (uint64_t)((double)(now - before) * 1e9 / (double)ns) : 0;
}

static uint64_t percent(uint64_t used_ns, uint64_t ns)
{
	return (uint64_t)((double)used_ns * 100 / (double)ns + 0.5);
}

/* before: the same process's, ns earlier; NULL: there is none. */
static struct reading make_reading(const struct proc_usage *before, const struct proc_usage *now,
				   uint64_t ns)
{
	struct reading r = { 0 };

	set(&r, METRIC_MEMORY, now->resident);
	if (!before || ns == 0)
		return r;
	set(&r, METRIC_CPU,
	    now->cpu_ns > before->cpu_ns ? percent(now->cpu_ns - before->cpu_ns, ns) : 0);
	if (before->has_io && now->has_io) {
		set(&r, METRIC_READ, per_second(before->read, now->read, ns));
		set(&r, METRIC_WRITE, per_second(before->written, now->written, ns));
	}
	if (before->has_waits && now->has_waits)
		set(&r, METRIC_WAIT, percent(proc_usage_waited(before, now), ns));
	return r;
}

/* Reads a process. One that has gone keeps what it had: its samples may still come. */
static void meter(struct process_metrics *m, struct metered *p)
{
	struct proc_usage now;
	struct reading r;
	bool is_same;
	uint64_t now_ns;

	/* Right before the first that it reads: in between, this thread may wait for a CPU. */
	now_ns = clock_now_ns();
	if (proc_usage_read(p->pid, &now) < 0)
		return;
	is_same = p->last_ns && now.started == p->last.started;
	r = make_reading(is_same ? &p->last : NULL, &now, now_ns - p->last_ns);
	r.time_ns = now_ns;
	proc_usage_done(&p->last);
	p->last = now;
	p->last_ns = now_ns;
	pthread_mutex_lock(&m->lock);
	p->reading = r;
	pthread_mutex_unlock(&m->lock);
}

/* Forgets those without samples, and finds the others. The lock is held. */
static size_t choose(struct process_metrics *m, uint64_t now_ns, struct metered **to)
{
	struct metered *p, *next;
	size_t n = 0;

	HASH_ITER(hh, m->processes, p, next) {
		if (p->asked_ns + PROCESS_METRICS_REST_NS > now_ns) {
			to[n++] = p;
			continue;
		}
		HASH_DEL(m->processes, p);
		proc_usage_done(&p->last);
		free(p);
	}
	return n;
}

/*
 * Reads those that are due: half a period after the last time at the earliest, so that what is new may be read
 * at once without the others.
 */
static void meter_all(struct process_metrics *m, struct metered *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t last_ns = all[i]->last_ns;

		if (last_ns == 0 || clock_now_ns() - last_ns > PROCESS_METRICS_PERIOD_NS / 2)
			meter(m, all[i]);
	}
}

/* The lock is held. False: it is the end. */
static bool wait_until(struct process_metrics *m, uint64_t until_ns, bool also_for_new)
{
	int err = 0;

	while (!m->ends && err == 0 && !(also_for_new && m->has_new))
		err = cond_wait_until(&m->changed, &m->lock, until_ns);
	return !m->ends;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* So much later than it began, a round may be followed by the next one. */
static uint64_t rest_after(uint64_t used_ns)
{
	return used_ns * 100 / PROCESS_METRICS_PERCENT;
}

static void *run(void *arg)
{
	struct process_metrics *m = arg;
	struct metered **chosen = calloc(PROCESS_METRICS_MAX_PROCESSES, sizeof(*chosen));
	bool goes_on = chosen != NULL;

	pthread_mutex_lock(&m->lock);
	while (goes_on) {
		uint64_t begin_ns = clock_now_ns(),
			 used_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
		size_t n = choose(m, begin_ns, chosen);

		m->has_new = false;
		pthread_mutex_unlock(&m->lock);
		meter_all(m, chosen, n);
		used_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - used_ns;
		pthread_mutex_lock(&m->lock);
		goes_on = wait_until(m, begin_ns + rest_after(used_ns), false) &&
			  wait_until(m,
				     begin_ns + max(rest_after(used_ns), PROCESS_METRICS_PERIOD_NS),
				     true);
	}
	m->has_ended = true;
	pthread_cond_broadcast(&m->changed);
	goes_on = m->is_left;
	pthread_mutex_unlock(&m->lock);
	free(chosen);
	if (goes_on)
		destroy(m);
	return NULL;
}

/* The lock is held. Without a thread, nothing is known. */
static void start(struct process_metrics *m)
{
	sigset_t old;

	if (m->is_started)
		return;
	signals_block(&old);
	m->is_started = pthread_create(&m->thread, NULL, run, m) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (m->is_started)
		pthread_setname_np(m->thread, "metrics");
}

/* The lock is held. NULL: there are too many, or out of memory. */
static struct metered *find(struct process_metrics *m, pid_t pid)
{
	struct metered *p;

	HASH_FIND(hh, m->processes, &pid, sizeof(pid), p);
	if (p || HASH_COUNT(m->processes) == PROCESS_METRICS_MAX_PROCESSES)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	HASH_ADD(hh, m->processes, pid, sizeof(p->pid), p);
	if (!HASH_IS_ADDED(hh, p)) {
		free(p);
		return NULL;
	}
	m->has_new = true;
	pthread_cond_broadcast(&m->changed);
	return p;
}

static bool is_near(uint64_t a_ns, uint64_t b_ns)
{
	return (a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) <= PROCESS_METRICS_AGE_NS;
}

static struct reading reading_of(struct process_metrics *m, pid_t pid, uint64_t time_ns)
{
	struct reading r = { 0 };
	struct metered *p;

	pthread_mutex_lock(&m->lock);
	p = find(m, pid);
	if (p) {
		p->asked_ns = max(p->asked_ns, time_ns);
		r = p->reading;
		start(m);
	}
	pthread_mutex_unlock(&m->lock);
	return r;
}

static int add(const struct label_source *source, const struct label_context *context,
	       struct label_list *list)
{
	/* Not constant: each sample says which processes matter. */
	struct process_metrics *m = (struct process_metrics *)source->arg;
	const struct dp_sample *sample = &context->named->sample;
	const struct reading r = reading_of(m, (pid_t)sample->pid, sample->time_ns);
	int err = 0;

	if (r.time_ns == 0 || !is_near(r.time_ns, sample->time_ns))
		return 0;
	for (size_t i = 0; err == 0 && i < N_METRICS; i++)
		if (r.known >> i & 1)
			err = label_list_add(list, &(struct label){ .key = forms[i].key,
								    .number = r.of[i],
								    .unit = forms[i].unit });
	return err;
}

int process_metrics_new(struct process_metrics **ret)
{
	struct process_metrics *m = *ret = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->source = (struct label_source){ .name = "metrics", .arg = m, .add = add };
	pthread_mutex_init(&m->lock, NULL);
	cond_init_monotonic(&m->changed);
	return 0;
}

const struct label_source *process_metrics_source(const struct process_metrics *m)
{
	return m ? &m->source : NULL;
}

/* The lock is held. */
static bool await_end(struct process_metrics *m)
{
	uint64_t end_ns = clock_now_ns() + PROCESS_METRICS_PATIENCE_NS;
	int err = 0;

	while (m->is_started && !m->has_ended && err == 0)
		err = cond_wait_until(&m->changed, &m->lock, end_ns);
	return !m->is_started || m->has_ended;
}

struct process_metrics *process_metrics_free(struct process_metrics *m)
{
	bool has_ended;

	if (!m)
		return NULL;
	pthread_mutex_lock(&m->lock);
	m->ends = true;
	pthread_cond_broadcast(&m->changed);
	has_ended = await_end(m);
	if (!has_ended)
		pthread_detach(m->thread);
	m->is_left = !has_ended;
	pthread_mutex_unlock(&m->lock);
	if (!has_ended)
		return NULL;
	if (m->is_started)
		pthread_join(m->thread, NULL);
	destroy(m);
	return NULL;
}
