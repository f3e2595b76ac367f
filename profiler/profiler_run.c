// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "kernel/filter.h"
#include "log/clock.h"
#include "log/log.h"
#include "probes/label_probe.h"
#include "probes/probe_server.h"
#include "process/sideband.h"
#include "profiler/profiler_parts.h"
#include "report/report_queue.h"
#include "samples/unseen.h"
#include "samples/verify_queue.h"
#include "sandbox/fetchers.h"

/* The longest time between two reads of the rings, */
#define DRAIN_EVERY_NS UINT64_C(100000000)
/* and if samples are few, and can wait. */
#define REST_NS UINT64_C(1000000000)

/* Ended threads, and jobs that hang, are looked for; copies that wait to be verified are many. */
static uint64_t longest_wait(const struct profiler *p, uint64_t now)
{
	const struct profiler_options *o = p->options;
	bool are_polled = o->target.n_tids > 0 || o->verify > 0 || p->stores.binaries.n_jobs > 0 ||
			  p->stores.table.n_awaited > 0;
	bool may_rest = needs_are_few(&p->needs) && !are_polled && drain_may_rest(&p->drain, now);

	return may_rest ? REST_NS : DRAIN_EVERY_NS;
}

/* Nanoseconds until the next periodic work, or until the rings of records are polled. */
static uint64_t time_to_wait(const struct profiler *p, uint64_t until)
{
	uint64_t now = clock_now_ns(), most = longest_wait(p, now);
	uint64_t left = until > now ? until - now : 0;

	if (drain_is_behind(&p->drain))
		return 0;
	return record_wait_ns(&p->record_wait, left < most ? left : most, now);
}

static int drain(struct profiler *p)
{
	int err = drain_run(&p->drain, false);

	p->drained = clock_now_ns();
	record_wait_restart(&p->record_wait, sideband_n_read(p->sideband), &p->drain.ticks,
			    p->drained);
	return err;
}

/* Whether there is nothing to do, except perhaps about records. */
static bool may_rest(const struct profiler *p, uint64_t n_events, uint64_t now)
{
	return p->loop.n_events == n_events && p->drain.boundary.time_ns == 0 &&
	       p->drain.held.n == 0 && !drain_is_behind(&p->drain) &&
	       (now < p->drained + DRAIN_EVERY_NS || p->record_wait.gathers);
}

static struct sideband_look look(struct profiler *p)
{
	const struct process_table *table = &p->stores.table;
	struct sideband_look look = sideband_look(p->sideband, table);

	if (!record_wait_polls(&p->record_wait) || look.n_read != p->record_wait.n_seen)
		return look;
	/* Polling ends here. Records that were polled must not wake this thread any more. */
	sideband_forget_wakeups(p->sideband);
	return sideband_look(p->sideband, table);
}

/* Whether records can wait: beyond the time at which the caller returns, they cannot. */
static bool can_wait(struct profiler *p, uint64_t until, uint64_t now)
{
	struct sideband_look found;

	if (p->record_wait.gather_ns == 0)
		return false;
	found = look(p);
	return record_wait_allows(&p->record_wait, &found, &p->drain.ticks, now) &&
	       record_wait_due(&p->record_wait) <= until;
}

int profiler_run(struct profiler *p, uint64_t until_ns)
{
	const uint64_t n_events = p->loop.n_events;
	bool polls = p->options->host_polls || record_wait_polls(&p->record_wait);
	int fd = polls ? -1 : sideband_fd(p->sideband);
	int err = loop_run_with(&p->loop, fd, time_to_wait(p, until_ns));
	uint64_t now = clock_now_ns();

	if (err == 0 && can_wait(p, until_ns, now) && may_rest(p, n_events, now))
		return 0;
	return err < 0 ? err : drain(p);
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
		err = live_memory_report(&p->drain.memory, &p->session, p->report_queue,
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
