// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <time.h>

#include "kernel/filter.h"
#include "log/clock.h"
#include "log/log.h"
#include "process/sideband.h"
#include "profiler/label_probe.h"
#include "profiler/probe_server.h"
#include "profiler/profiler_parts.h"
#include "report/report_queue.h"
#include "samples/unseen.h"
#include "samples/verify_queue.h"
#include "sandbox/fetchers.h"

/* The longest time between two reads of the rings, */
#define DRAIN_EVERY_NS UINT64_C(100000000)
/* and if samples are few, and can wait. */
#define REST_NS UINT64_C(1000000000)

#define MS UINT64_C(1000000)

/* For how much longer than they are gathered, records that follow are waited for: a third. */
#define FOLLOW_SHARE 3
/* So many times in sequence, nothing else is asked what it has to tell. */
#define FOLLOW_MOST 8

/* Ended threads, and jobs that hang, are looked for; copies that wait to be verified are many. */
static uint64_t longest_wait(const struct profiler *p, uint64_t now)
{
	const struct profiler_options *o = p->options;
	bool are_polled = o->target.n_tids > 0 || o->verify > 0 || p->stores.binaries.n_jobs > 0 ||
			  p->stores.table.n_awaited > 0;
	bool may_rest = needs_are_few(&p->needs) && !are_polled && drain_may_rest(&p->drain, now);

	return may_rest ? REST_NS : DRAIN_EVERY_NS;
}

/* Milliseconds until the next periodic work; not beyond the time at which records have to be handled. */
static int time_to_wait(const struct profiler *p, uint64_t until)
{
	uint64_t now = clock_now_ns();
	uint64_t left = until > now ? until - now : 0, most = longest_wait(p, now);
	uint64_t due = p->due > now ? (p->due - now) / MS : 0;

	if (drain_is_behind(&p->drain))
		return 0;
	left = ((left < most ? left : most) + MS - 1) / MS;
	return (int)(p->due > 0 && due < left ? due : left);
}

static int drain(struct profiler *p)
{
	p->due = 0;
	p->drained = clock_now_ns();
	return drain_run(&p->drain, false);
}

/* Something has come. If it can wait until a sample is taken, when is that? */
static void plan(struct profiler *p)
{
	if (p->due == 0)
		p->due = ticks_turn(&p->drain.ticks, clock_now_ns());
}

/* How long records are gathered: so long, or until they have to be handled. */
static uint64_t gather_ns(const struct profiler *p, uint64_t ns)
{
	uint64_t now = clock_now_ns(), left = p->due > now ? p->due - now : 0;

	return p->due == 0 || ns < left ? ns : left;
}

/* Whether nothing has to be done about records that can wait, and nobody but these has woken it. */
static bool may_rest(const struct profiler *p, uint64_t n_others)
{
	return p->loop.n_events - p->n_record_events == n_others &&
	       p->drain.boundary.time_ns == 0 && p->drain.held.n == 0 &&
	       !drain_is_behind(&p->drain) && clock_now_ns() < p->drained + DRAIN_EVERY_NS;
}

/* Whether records can wait: for any time if nobody waits for them, and else while the caller has nothing else to do. */
static bool can_wait(struct profiler *p, enum sideband_haste haste, uint64_t until)
{
	if (haste <= SIDEBAND_LATER)
		p->due = 0;
	return haste <= SIDEBAND_LATER ||
	       (haste == SIDEBAND_BY_SAMPLE && p->due <= until && p->due > clock_now_ns());
}

/* Whether there are records since the last look, and more are expected. */
static bool goes_on(struct profiler *p, enum sideband_haste haste)
{
	uint64_t n = sideband_n_read(p->sideband), n_before = p->n_seen;

	p->n_seen = n;
	return (haste == SIDEBAND_BY_SAMPLE || haste == SIDEBAND_SOON) && n > n_before &&
	       sideband_goes_on(p->sideband) && p->n_follows < FOLLOW_MOST;
}

/* What was there, and is to come, while records are gathered. */
struct gathering {
	uint64_t n_others; /* events before, but for those of records */
	uint64_t until;    /* when the caller has something to do */
};

/* Records have been gathered. True in *ret_rests: nothing has to be done. */
static int look(struct profiler *p, const struct gathering *g, bool *ret_rests)
{
	const struct process_table *table = &p->stores.table;
	enum sideband_haste haste = sideband_haste(p->sideband, table);
	bool follows = goes_on(p, haste);
	int err = 0;

	p->n_follows = follows ? p->n_follows + 1 : 0;
	if (!follows) {
		/* What has come has woken nobody yet, and need not. First, or what comes in between would be missed. */
		err = loop_run(&p->loop, 0);
		haste = sideband_haste(p->sideband, table);
	}
	*ret_rests = can_wait(p, haste, g->until) && may_rest(p, g->n_others);
	return err;
}

/* A program that has started has more records within milliseconds. None of them has to wake it. */
static int follow(struct profiler *p, const struct gathering *g, bool *ret_rests)
{
	const uint64_t ns = needs_gather_ns(&p->needs);
	struct timespec pause = { 0 };

	plan(p);
	pause.tv_nsec = (long)gather_ns(p, ns + ns / FOLLOW_SHARE);
	nanosleep(&pause, NULL);
	return look(p, g, ret_rests);
}

int profiler_run(struct profiler *p, uint64_t until_ns)
{
	const struct gathering g = { p->loop.n_events - p->n_record_events, until_ns };
	bool rests = false;
	int err;

	if (p->n_follows > 0) {
		err = follow(p, &g, &rests);
		return err < 0 || rests ? err : drain(p);
	}
	err = loop_run(&p->loop, time_to_wait(p, until_ns));
	plan(p);
	if (err == 0 && sideband_gather(p->sideband, &p->stores.table,
					gather_ns(p, needs_gather_ns(&p->needs))))
		err = look(p, &g, &rests);
	return err < 0 || rests ? err : drain(p);
}

bool profiler_has_targets(struct profiler *p)
{
	pid_t tid;

	/* The number of a thread that has ended may be reused. */
	while ((tid = watch_ended_thread(&p->watch, clock_now_ns())))
		session_drop_thread(&p->session, tid);
	return p->options->target.all || p->watch.n_running > 0;
}

int profiler_tick(struct profiler *p)
{
	uint64_t now = clock_now_ns();

	p->drain.totals.duration_ns = now - p->started;
	return report_queue_tick(p->report_queue, &p->drain.totals, now);
}

int profiler_take(struct profiler *p, size_t i, struct report *report, report_taken_fn fn,
		  void *arg, uint64_t *ret_ns)
{
	uint64_t now = clock_now_ns();

	*ret_ns = now;
	return drain_take(&p->drain, &(struct drain_boundary){ .time_ns = now,
							       .duration_ns = now - p->started,
							       .i = i,
							       .next = report,
							       .taken = fn,
							       .arg = arg });
}

struct totals profiler_totals_of(const struct profiler *p, size_t i)
{
	return report_queue_totals(p->report_queue, i, &p->drain.totals);
}

uint64_t profiler_started(const struct profiler *p)
{
	return p->started;
}

const struct totals *profiler_totals(const struct profiler *p)
{
	return &p->drain.totals;
}

size_t profiler_n_unseen(const struct profiler *p)
{
	return p->n_unseen;
}

void profiler_stop(struct profiler *p)
{
	const struct profiler_options *o = p->options;

	/* With a rate limit or a filter, a thread may have been seen and not sampled. */
	if (p->needs.states && o->max_rate == 0 && !filter_is_set(o->target.filter))
		unseen_count(&p->session, o->target.pids, o->target.n_pids, o->states,
			     &p->n_unseen);
	probe_server_end(p->probes);
	session_stop(&p->session);
	p->stopped = clock_now_ns();
	p->drain.totals.duration_ns = p->stopped - p->started;
}

int profiler_finish(struct profiler *p)
{
	int err = drain_run(&p->drain, true);

	p->drain.totals.pages_requested += fetchers_touched(p->stores.fetchers);
	if (err == 0)
		err = drain_finish_off_cpu(&p->drain, p->stopped);
	if (err == 0 && (p->needs.session.programs & EVENT_BIT(DP_EVENT_ALLOC)))
		err = kept_memory_report(&p->drain.memory, &p->session, p->report_queue,
					 &p->drain.totals, p->stopped);
	label_probe_count(&p->session, &p->drain.spans, &p->drain.totals);
	if (p->needs.session.label_probes > 0)
		label_probe_say_forgotten(&p->session);
	probed_files_say_changed(&p->session.probed);
	if (err == 0 && p->verify)
		verify_queue_finish(p->verify);
	if (err == 0 && report_queue_size(p->report_queue) > 0)
		log_progress("samples that wait for their names: %zu (Ctrl-C to leave these out)",
			     report_queue_size(p->report_queue));
	if (err == 0)
		err = report_queue_finish(p->report_queue);
	log_progress_clear();
	cpu_watch_warn(&p->cpus, p->options->target.filter);
	return err;
}
