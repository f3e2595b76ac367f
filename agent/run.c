// SPDX-License-Identifier: Apache-2.0
#include "agent/run.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include "agent/pod_names.h"
#include "agent/process_labels.h"
#include "agent/pulls.h"
#include "base/signals.h"
#include "log/clock.h"
#include "log/log.h"
#include "loop/loop.h"
#include "profiler/fetch.h"
#include "profiler/profiler.h"
#include "sandbox/cpu_budget.h"
#include "symbols/debug_server.h"

/* Both runs learn that far ahead when one ends and the other begins. */
#define TAKE_OVER_NS UINT64_C(300000000)
/* How long after the end of its time a run still reads: events of then may be written later. */
#define LINGER_NS UINT64_C(50000000)
/* How long to wait at least; and if the thread that writes reports has yet to end an interval. */
#define RETRY_NS UINT64_C(2000000)
#define BUSY_NS UINT64_C(20000000)
/* How often the figures are brought up to date. */
#define FIGURES_NS UINT64_C(1000000000)

/* The reports of the profiler, by number: first those of the tracks. */
enum { SLOT_PULLS = RUN_TRACKS, N_SLOTS };

/* The intervals of some outputs. */
struct track {
	const struct track_options *options;
	struct interval *interval, *next; /* next: while one is replaced */
	uint64_t ends_ns;
};

/* An interval that is over, until it has been written. If the run fails before, nobody does that. */
struct ending {
	LIST_ENTRY(ending) next;
	struct run *run;
	struct interval *interval;
};

LIST_HEAD(endings, ending);

struct run {
	const struct run_options *options;
	struct profiler_options profiled;
	struct names *names;
	struct process_labels *labels; /* of the thread that writes reports */
	struct cpu_budget *budget;     /* NULL: no limit */
	struct profiler *profiler;
	struct report_context context;
	struct window window;
	struct track tracks[RUN_TRACKS];
	struct report *pulled;
	uint64_t figured_ns;
	struct fetch_said fetch_said;
	bool is_busy; /* an interval that is over has to wait for another one's end */
	int wake_fd;
	pthread_t thread;
	bool has_thread;
	atomic_bool ends, serves;
	_Atomic enum run_state state;
	_Atomic int err;
	pthread_mutex_t lock;  /* protects what follows */
	struct names *hurried; /* the names, while they may be disabled or requests stopped */
	struct run_figures figures;
	struct endings endings;
};

static void change_state(struct run *r, enum run_state state)
{
	atomic_store(&r->state, state);
	(void)!write(r->options->event_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
}

static uint64_t to_real_ns(uint64_t monotonic_ns)
{
	uint64_t now = clock_now_ns();

	return clock_real_ns() - (now - monotonic_ns);
}

static bool is_to_end(const void *arg)
{
	const struct run *r = arg;

	return atomic_load(&r->ends);
}

static int on_wake(void *arg, int fd)
{
	uint64_t count;

	(void)!read(fd, &count, sizeof(count));
	return 0;
}

static int open_profiler(struct run *r)
{
	const struct run_options *o = r->options;
	int err = names_new(&o->names, &r->names);

	if (err == 0)
		names_set_limits(r->names, o->symbol_memory, o->string_memory);
	if (err == 0 && !o->names.no_debuginfod)
		err = fetch_begin_meanwhile(r->names, r->budget, o->fetched);
	if (err == 0)
		err = process_labels_new("/proc", POD_NAMES_DIRECTORY, &o->counts->unlabelled,
					 &r->labels);
	if (err < 0)
		return err;
	r->profiled = o->profiler;
	r->profiled.names = r->names;
	r->profiled.has_cgroups = process_labels_set_cgroups(r->labels, "/proc/self/mounts");
	r->profiled.cpu_budget = r->budget;
	r->profiled.is_interrupted = is_to_end;
	r->profiled.interrupt_arg = r;
	err = profiler_open(&r->profiled, &r->profiler);
	if (err == 0)
		process_labels_set_containers(r->labels, "", profiler_parsers(r->profiler));
	if (err == 0)
		err = loop_add(profiler_loop(r->profiler), r->wake_fd, on_wake, r);
	if (err == 0)
		err = profiler_attach(r->profiler, 0);
	return err;
}

static int new_interval(struct run *r, const struct track *t, struct interval **ret)
{
	return interval_new(t->options->outputs, t->options->n, &r->context, &r->window,
			    t->options->is_labelled ? r->labels : NULL, r->options->counts, ret);
}

static int start(struct run *r)
{
	struct report *reports[N_SLOTS];
	int err = 0;

	profiler_describe(r->profiler, &r->context);
	r->context.command = r->options->command_line;
	for (size_t i = 0; err == 0 && i < RUN_TRACKS; i++)
		err = new_interval(r, &r->tracks[i], &r->tracks[i].interval);
	if (err == 0 && r->options->pulls)
		err = pulls_report_new(r->options->pulls, &r->context, &r->window, r->labels,
				       &r->pulled);
	if (err < 0)
		return err;
	for (size_t i = 0; i < RUN_TRACKS; i++)
		reports[i] = interval_report(r->tracks[i].interval);
	reports[SLOT_PULLS] = r->pulled;
	err = profiler_start(r->profiler, reports, r->pulled ? N_SLOTS : RUN_TRACKS, false);
	for (size_t i = 0; i < RUN_TRACKS; i++)
		r->tracks[i].ends_ns =
			r->tracks[i].options->n == 0 ?
				UINT64_MAX :
				profiler_started(r->profiler) + r->tracks[i].options->interval_ns;
	return err;
}

/* NULL: memory is short. */
static struct ending *ending_new(struct run *r, struct interval *interval)
{
	struct ending *e = malloc(sizeof(*e));

	if (!e)
		return NULL;
	e->run = r;
	e->interval = interval;
	pthread_mutex_lock(&r->lock);
	LIST_INSERT_HEAD(&r->endings, e, next);
	pthread_mutex_unlock(&r->lock);
	return e;
}

/* Leaves the interval. */
static void ending_free(struct ending *e)
{
	struct run *r = e->run;

	pthread_mutex_lock(&r->lock);
	LIST_REMOVE(e, next);
	pthread_mutex_unlock(&r->lock);
	free(e);
}

static int finish_interval(void *arg, struct report *report, const struct totals *totals)
{
	struct ending *e = arg;

	interval_finish(e->interval, totals);
	ending_free(e);
	return 0;
}

/* Ends the interval if it is over, unless another report is being replaced. */
static int end_interval(struct run *r, size_t i, uint64_t now)
{
	struct track *t = &r->tracks[i];
	struct ending *e;
	uint64_t time;
	int err = 0;

	if (now < t->ends_ns)
		return 0;
	if (!t->next)
		err = new_interval(r, t, &t->next);
	if (err < 0)
		return err;
	e = ending_new(r, t->interval);
	if (!e)
		return -ENOMEM;
	err = profiler_take(r->profiler, i, interval_report(t->next), finish_interval, e, &time);
	r->is_busy |= err == -EBUSY;
	if (err < 0) {
		ending_free(e);
		return err == -EBUSY ? 0 : err;
	}
	interval_begin(t->next, time, to_real_ns(time));
	t->interval = t->next;
	t->next = NULL;
	/* After a time without the CPU, the next one is not shortened to catch up. */
	while (t->ends_ns <= time)
		t->ends_ns += t->options->interval_ns;
	return 0;
}

static uint64_t pulls_time(struct run *r)
{
	return r->pulled && atomic_load(&r->serves) ? pulls_due(r->options->pulls) : UINT64_MAX;
}

static int turn_pulls(struct run *r, uint64_t now)
{
	uint64_t time;
	int err;

	if (now < pulls_time(r))
		return 0;
	err = profiler_take(r->profiler, SLOT_PULLS, r->pulled, pulls_taken, r->pulled, &time);
	r->is_busy |= err == -EBUSY;
	if (err < 0)
		return err == -EBUSY ? 0 : err;
	pulls_plan(r->pulled, time, to_real_ns(time));
	return 0;
}

static void note_figures(struct run *r, uint64_t now)
{
	if (now < r->figured_ns + FIGURES_NS && !atomic_load(&r->ends))
		return;
	r->figured_ns = now;
	if (!r->options->names.no_debuginfod)
		fetch_look(r->names, &r->fetch_said);
	pthread_mutex_lock(&r->lock);
	r->figures.totals = *profiler_totals(r->profiler);
	r->figures.usage = profiler_usage(r->profiler);
	r->figures.kept = names_kept(r->names);
	r->figures.turned_ns = now;
	r->figures.is_on = true;
	snprintf(r->figures.target, sizeof(r->figures.target), "%s", r->context.target);
	snprintf(r->figures.event, sizeof(r->figures.event), "%s", r->context.event);
	r->figures.hz = r->context.hz;
	pthread_mutex_unlock(&r->lock);
}

static bool is_over(const struct run *r, uint64_t now)
{
	uint64_t until = atomic_load(&r->window.until_ns);

	return atomic_load(&r->ends) && (until == UINT64_MAX || now >= until + LINGER_NS);
}

/* When there is something to do; soon, if it is due and has to wait for another boundary. */
static uint64_t next_time(struct run *r, uint64_t now)
{
	uint64_t next = pulls_time(r), least = now + (r->is_busy ? BUSY_NS : RETRY_NS);

	for (size_t i = 0; i < RUN_TRACKS; i++)
		if (r->tracks[i].ends_ns < next)
			next = r->tracks[i].ends_ns;
	return next > least ? next : least;
}

static int sample(struct run *r)
{
	uint64_t now = clock_now_ns();
	int err = 0;

	(void)loop_go_first();
	while (err == 0 && !is_over(r, now)) {
		err = profiler_run(r->profiler, next_time(r, now));
		now = clock_now_ns();
		r->is_busy = false;
		for (size_t i = 0; err == 0 && i < RUN_TRACKS; i++)
			err = end_interval(r, i, now);
		if (err == 0)
			err = turn_pulls(r, now);
		note_figures(r, now);
	}
	return err;
}

static int finish(struct run *r)
{
	struct totals totals;
	int err;

	profiler_stop(r->profiler);
	err = profiler_finish(r->profiler);
	if (err < 0)
		return err;
	for (size_t i = 0; i < RUN_TRACKS; i++) {
		totals = profiler_totals_of(r->profiler, i);
		interval_finish(r->tracks[i].interval, &totals);
		r->tracks[i].interval = NULL;
	}
	note_figures(r, clock_now_ns());
	if (r->pulled) {
		totals = profiler_totals_of(r->profiler, SLOT_PULLS);
		pulls_report_free(r->pulled, &totals);
		r->pulled = NULL;
	}
	return 0;
}

static void set_hurried(struct run *r, struct names *names)
{
	pthread_mutex_lock(&r->lock);
	r->hurried = names;
	pthread_mutex_unlock(&r->lock);
}

static void done(struct run *r)
{
	struct ending *e;

	set_hurried(r, NULL);
	r->profiler = profiler_free(r->profiler);
	while ((e = LIST_FIRST(&r->endings))) {
		interval_free(e->interval);
		ending_free(e);
	}
	for (size_t i = 0; i < RUN_TRACKS; i++) {
		interval_free(r->tracks[i].interval);
		interval_free(r->tracks[i].next);
	}
	if (r->pulled)
		pulls_report_free(r->pulled, &(struct totals){ 0 });
	r->labels = process_labels_free(r->labels);
	r->names = names_free(r->names);
}

static void *run_thread(void *arg)
{
	struct run *r = arg;
	int err = open_profiler(r);

	if (err == 0) {
		set_hurried(r, r->names);
		err = start(r);
	}
	if (err == 0) {
		note_figures(r, clock_now_ns());
		if (r->budget)
			cpu_budget_begin(r->budget);
		change_state(r, RUN_SAMPLES);
		err = sample(r);
		if (err == 0)
			err = finish(r);
		if (err < 0)
			log_error("sampling failed: %s", strerror(-err));
	}
	done(r);
	atomic_store(&r->err, err);
	change_state(r, err < 0 ? RUN_FAILED : RUN_ENDED);
	return NULL;
}

int run_new(const struct run_options *options, struct run **ret)
{
	struct run *r = calloc(1, sizeof(*r));
	sigset_t old;
	int err;

	*ret = NULL;
	if (!r)
		return -ENOMEM;
	r->options = options;
	for (size_t i = 0; i < RUN_TRACKS; i++)
		r->tracks[i].options = &options->tracks[i];
	r->window.from_ns = r->window.until_ns = UINT64_MAX;
	pthread_mutex_init(&r->lock, NULL);
	LIST_INIT(&r->endings);
	r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = r->wake_fd < 0 ? -errno : 0;
	if (err == 0 && options->cpu_share > 0)
		err = cpu_budget_new(options->cpu_share, options->cpu_counts, &r->budget);
	if (err < 0) {
		run_free(r);
		return err;
	}
	signals_block(&old);
	err = -pthread_create(&r->thread, NULL, run_thread, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err < 0) {
		run_free(r);
		return err;
	}
	r->has_thread = true;
	pthread_setname_np(r->thread, "run");
	*ret = r;
	return 0;
}

enum run_state run_state(const struct run *r)
{
	return atomic_load(&r->state);
}

int run_error(const struct run *r)
{
	return atomic_load(&r->err);
}

struct run_figures run_figures(struct run *r)
{
	struct run_figures figures;

	pthread_mutex_lock(&r->lock);
	figures = r->figures;
	pthread_mutex_unlock(&r->lock);
	return figures;
}

static void wake(struct run *r)
{
	(void)!write(r->wake_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
}

void run_take_over(struct run *r, struct run *before)
{
	uint64_t time = before ? clock_now_ns() + TAKE_OVER_NS : 0;

	if (before)
		atomic_store(&before->window.until_ns, time);
	atomic_store(&r->window.from_ns, time);
	if (before)
		run_end(before);
}

void run_serve(struct run *r)
{
	atomic_store(&r->serves, true);
	wake(r);
}

void run_end(struct run *r)
{
	if (r->budget)
		cpu_budget_lift(r->budget);
	pthread_mutex_lock(&r->lock);
	if (r->hurried)
		debug_server_stop(names_debug_server(r->hurried));
	pthread_mutex_unlock(&r->lock);
	atomic_store(&r->ends, true);
	wake(r);
}

void run_hurry(struct run *r)
{
	pthread_mutex_lock(&r->lock);
	if (r->hurried)
		names_disable(r->hurried);
	pthread_mutex_unlock(&r->lock);
}

struct run *run_free(struct run *r)
{
	if (!r)
		return NULL;
	if (r->has_thread)
		pthread_join(r->thread, NULL);
	if (r->wake_fd >= 0)
		close(r->wake_fd);
	if (r->budget)
		cpu_budget_lift(r->budget);
	cpu_budget_drop(r->budget);
	pthread_mutex_destroy(&r->lock);
	free(r);
	return NULL;
}
