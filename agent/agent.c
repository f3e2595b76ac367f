// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "agent/figures.h"
#include "agent/left_spools.h"
#include "agent/memory_share.h"
#include "agent/notify.h"
#include "agent/own_use.h"
#include "agent/pulls.h"
#include "agent/rate.h"
#include "agent/recent.h"
#include "agent/serving.h"
#include "base/text.h"
#include "log/clock.h"
#include "log/log.h"
#include "profiler/file_limit.h"
#include "profiler/record.h"
#include "report/report.h"
#include "sandbox/cpu_budget.h"
#include "symbols/debug_queue.h"

/* From the order to end: names are left out, and then the program ends without the rest. */
#define HURRY_NS UINT64_C(2500000000)
#define GIVE_UP_NS UINT64_C(4500000000)
/* A run that has not turned for this long is stuck. Making its first tables may take longer. */
#define STUCK_NS UINT64_C(20000000000)
/* How often to look whether everything is well, and at the memory; and to begin a run anew. */
#define LOOK_NS UINT64_C(10000000000)
#define RENEW_NS UINT64_C(600000000000)
/* How often to look, while the server is to be tried again. */
#define SERVE_LOOK_NS UINT64_C(1000000000)
/* For delivering at the end, all backends together; and for the whole end, however long writing takes. */
#define LAST_DELIVERY_NS UINT64_C(1200000000)
#define END_NS UINT64_C(4900000000)

/* Why a run takes over from another; but for a reload, it has the same options. */
enum cause { BY_RELOAD, BY_MEMORY, BY_LOWER_RATE, BY_HIGHER_RATE };

/* A run with all that its options opened. */
struct generation {
	const struct agent_options *options;
	struct run_options run_options;
	unsigned int divisor; /* of the rate that the options ask for */
	/* May be those of the one before. */
	struct store *store;
	struct backend *backends[AGENT_BACKENDS];
	size_t n_backends;
	struct interval_output stored, delivered[AGENT_BACKENDS], recent;
	struct run *run;
};

struct agent {
	const struct agent_control *control;
	struct generation *now, *next; /* next: NULL unless it is about to take over */
	struct generation *old;        /* the one that now took over from, until it has ended */
	enum cause cause;              /* of next, or else of now */
	struct rate rate;
	bool reloads_later; /* as soon as neither next nor old is there */
	struct pulls *pulls;
	struct recent *recent;
	struct serving serving;
	int event_fd;
	struct interval_counts counts;
	struct cpu_budget_counts cpu_counts;
	struct debug_queue_counts fetched;
	struct left_spools left;
	uint64_t looked_ns, renewed_ns;
	uint64_t ends_ns; /* when the order to end came; 0: not yet */
	bool is_hurried, is_ready;
	int err;                 /* why it ends */
	pthread_mutex_t lock;    /* protects what follows, and now and old against the server */
	struct totals before;    /* of runs that have ended */
	struct figures constant; /* what does not change by itself */
};

static void give_figures(void *arg, struct figures *ret)
{
	struct agent *a = arg;

	pthread_mutex_lock(&a->lock);
	*ret = a->constant;
	ret->totals = a->before;
	if (a->old) {
		struct run_figures old = run_figures(a->old->run);

		ret->totals = totals_sum(&ret->totals, &old.totals);
	}
	if (a->now) {
		ret->run = run_figures(a->now->run);
		ret->memory_limit = a->now->options->memory;
		ret->cpu_share = a->now->options->cpu_share;
		ret->fetched = a->now->options->run.names.no_debuginfod ? NULL : &a->fetched;
		ret->asked_hz = ret->run.hz ? a->now->options->run.profiler.hz : 0;
		ret->has_store = a->now->store;
	}
	if (ret->has_store)
		ret->store = store_state(a->now->store);
	for (size_t i = 0; a->now && i < a->now->n_backends; i++) {
		snprintf(ret->backends[i].name, sizeof(ret->backends[i].name), "%s",
			 backend_name(a->now->backends[i]));
		ret->backends[ret->n_backends++].counts = backend_counts(a->now->backends[i]);
	}
	pthread_mutex_unlock(&a->lock);
	ret->totals = totals_sum(&ret->totals, &ret->run.totals);
	ret->recent = recent_counts(a->recent);
	ret->is_healthy = ret->run.is_on && clock_now_ns() < ret->run.turned_ns + STUCK_NS;
	ret->intervals_written = a->counts.written;
	ret->intervals_failed = a->counts.failed;
	ret->store_err = a->counts.store_err;
	ret->store_failed_real_ns = a->counts.store_failed_real_ns;
	ret->helpers_spent_ns = a->cpu_counts.spent_ns;
	ret->helpers_waited_ns = a->cpu_counts.waited_ns;
	ret->helpers_refused = a->cpu_counts.refused;
	ret->processes_unlabelled = a->counts.unlabelled;
	ret->left = left_spools_counts(&a->left);
}

static void wake_run(void *arg)
{
	struct agent *a = arg;

	pthread_mutex_lock(&a->lock);
	if (a->now)
		run_serve(a->now->run);
	pthread_mutex_unlock(&a->lock);
}

/* What is wrong has been logged. */
static void go_on_as_before(struct agent *a, enum cause cause, int err)
{
	log_warning("sampling continues with the old options");
	if (cause != BY_RELOAD)
		return;
	pthread_mutex_lock(&a->lock);
	a->constant.reloads_failed++;
	a->constant.reload_err = err;
	a->constant.reload_failed_real_ns = clock_real_ns();
	pthread_mutex_unlock(&a->lock);
}

static struct backend *find_backend(const struct generation *g,
				    const struct backend_options *options, const char *spool)
{
	for (size_t i = 0; g && i < g->n_backends; i++)
		if (backend_is(g->backends[i], options, spool))
			return g->backends[i];
	return NULL;
}

static int open_outputs(struct agent *a, struct generation *g)
{
	const struct agent_options *o = g->options;
	int err = 0;

	if (o->store && a->now && text_is_same(o->store, a->now->options->store))
		g->store = a->now->store;
	else if (o->store)
		err = store_open(o->store, &o->store_limits, &g->store);
	for (size_t i = 0; err == 0 && i < o->n_backends; i++) {
		struct backend **backend = &g->backends[g->n_backends];

		*backend = find_backend(a->now, &o->backends[i], o->spool);
		if (!*backend)
			err = backend_open(&o->backends[i], o->spool, memory_share_spool_bytes(o),
					   backend);
		if (err == 0)
			g->delivered[g->n_backends++] =
				(struct interval_output){ .backend = *backend,
							  .backend_options = &o->backends[i] };
	}
	g->stored.store = g->store;
	g->recent = (struct interval_output){ .recent = a->recent, .named = g->n_backends > 0 };
	g->run_options.tracks[0] =
		(struct track_options){ &g->stored, g->store ? 1 : 0, o->interval_ns, true };
	g->run_options.tracks[1] =
		(struct track_options){ g->delivered, g->n_backends, o->deliver_ns, true };
	g->run_options.tracks[2] =
		(struct track_options){ &g->recent, o->pull ? 1 : 0, RECENT_INTERVAL_NS, false };
	return err;
}

static bool uses(const struct generation *g, const struct backend *backend)
{
	for (size_t i = 0; g && i < g->n_backends; i++)
		if (g->backends[i] == backend)
			return true;
	return false;
}

static uint64_t delivery_ns(const struct agent *a)
{
	uint64_t used = a->ends_ns ? clock_now_ns() - a->ends_ns : 0;

	if (used >= END_NS)
		return 0;
	return END_NS - used < LAST_DELIVERY_NS ? END_NS - used : LAST_DELIVERY_NS;
}

/* other: the one that stays, which may use the same. Accepts NULL. Returns NULL. */
static struct generation *close_generation(struct agent *a, struct generation *g,
					   const struct generation *other)
{
	uint64_t delivery;

	if (!g)
		return NULL;
	/* If the present run fails, nobody has told the next one. */
	if (g->run)
		run_end(g->run);
	run_free(g->run);
	if (!other || g->store != other->store)
		store_close(g->store);
	delivery = delivery_ns(a);
	for (size_t i = 0; i < g->n_backends; i++)
		if (!uses(other, g->backends[i]))
			backend_close(g->backends[i], delivery / g->n_backends);
	if (!other || g->options != other->options)
		a->control->drop(a->control->arg, g->options);
	free(g);
	return NULL;
}

/* Takes the options over, even on failure, unless they are the present ones. */
static int begin_generation(struct agent *a, const struct agent_options *options,
			    unsigned int divisor, struct generation **ret)
{
	struct generation *g = calloc(1, sizeof(*g));
	int err;

	*ret = NULL;
	if (!g) {
		if (!a->now || options != a->now->options)
			a->control->drop(a->control->arg, options);
		return -ENOMEM;
	}
	g->options = options;
	g->run_options = options->run;
	g->divisor = divisor;
	g->run_options.profiler.hz = rate_divided(&options->run.profiler, divisor);
	g->run_options.pulls = options->pull ? a->pulls : NULL;
	g->run_options.counts = &a->counts;
	g->run_options.cpu_share = options->cpu_share;
	g->run_options.cpu_counts = &a->cpu_counts;
	g->run_options.fetched = &a->fetched;
	g->run_options.event_fd = a->event_fd;
	err = open_outputs(a, g);
	if (err == 0)
		err = run_new(&g->run_options, &g->run);
	if (err < 0)
		close_generation(a, g, a->now);
	else
		*ret = g;
	return err;
}

static int serve(struct agent *a, const struct agent_options *o)
{
	return serving_change(&a->serving, o->pull, o->pull_token_file);
}

static void begin_next(struct agent *a, const struct agent_options *options, enum cause cause,
		       unsigned int divisor)
{
	int err;

	a->cause = cause;
	err = begin_generation(a, options, divisor, &a->next);
	if (err < 0)
		go_on_as_before(a, cause, err);
}

static void reload(struct agent *a)
{
	const struct agent_options *options;
	int err;

	a->reloads_later = a->next || a->old;
	if (a->reloads_later) {
		log_info("the configuration is read again once the last change is complete");
		return;
	}
	(void)notify_send("RELOADING=1");
	err = a->control->load(a->control->arg, &options);
	if (err == 0)
		begin_next(a, options, BY_RELOAD,
			   rate_kept(&a->now->options->run.profiler, &options->run.profiler,
				     a->now->divisor));
	else
		go_on_as_before(a, BY_RELOAD, err);
	if (!a->next)
		(void)notify_send("READY=1");
}

/* Backends that stay post by the next run's options. */
static void configure_backends(const struct generation *old, const struct generation *next)
{
	for (size_t i = 0; old->options != next->options && i < next->n_backends; i++)
		if (uses(old, next->backends[i]) &&
		    backend_configure(next->backends[i], &next->options->backends[i],
				      memory_share_spool_bytes(next->options)) < 0)
			log_warning("%s keeps its old options", backend_name(next->backends[i]));
}

/* The next run samples: the present one ends where it begins, once its names are looked up. */
static void take_over(struct agent *a)
{
	struct generation *old = a->now;

	/* Not if only the rate changes: there is no need to look at files. */
	if (old->options != a->next->options && serve(a, a->next->options) < 0)
		log_warning("requests are %s",
			    a->serving.server ? "answered as before" : "not answered");
	configure_backends(old, a->next);
	run_take_over(a->next->run, old->run);
	pthread_mutex_lock(&a->lock);
	a->old = old;
	a->now = a->next;
	pthread_mutex_unlock(&a->lock);
	a->next = NULL;
}

static void look_at_old(struct agent *a)
{
	struct generation *old = a->old;
	struct figures *c = &a->constant;
	uint64_t *const counters[] = { &c->reloads, &c->renewals, &c->rate_lowered,
				       &c->rate_raised }; /* by cause */
	struct run_figures figures;

	if (!old || run_state(old->run) == RUN_SAMPLES)
		return;
	figures = run_figures(old->run);
	pthread_mutex_lock(&a->lock);
	a->before = totals_sum(&a->before, &figures.totals);
	a->old = NULL;
	pthread_mutex_unlock(&a->lock);
	close_generation(a, old, a->now);
	if (a->now->store)
		store_set_limits(a->now->store, &a->now->options->store_limits);
	run_serve(a->now->run);
	pthread_mutex_lock(&a->lock);
	(*counters[a->cause])++;
	pthread_mutex_unlock(&a->lock);
	left_spools_look(&a->left, a->now->options, a->cause == BY_RELOAD);
	if (a->cause == BY_RELOAD)
		log_info("sampling goes on with the new configuration");
	(void)notify_send("READY=1");
}

static void look_at_next(struct agent *a)
{
	int err;

	switch (a->next ? run_state(a->next->run) : RUN_OPENS) {
	case RUN_OPENS:
		break;
	case RUN_SAMPLES:
		take_over(a);
		break;
	case RUN_ENDED:
	case RUN_FAILED:
		err = run_error(a->next->run);
		a->next = close_generation(a, a->next, a->now);
		go_on_as_before(a, a->cause, err);
		(void)notify_send("READY=1");
	}
}

/* False: the present run has ended. */
static bool look_at_run(struct agent *a)
{
	enum run_state state = run_state(a->now->run);

	if (state == RUN_SAMPLES && !a->is_ready) {
		a->is_ready = true;
		(void)notify_send("READY=1");
	}
	if (state == RUN_FAILED && !a->ends_ns)
		a->err = run_error(a->now->run);
	return state != RUN_ENDED && state != RUN_FAILED;
}

/* False: nothing runs any more, or only what has not taken over yet. */
static bool look_at_runs(struct agent *a)
{
	look_at_old(a);
	if (!look_at_run(a))
		return a->old;
	if (a->ends_ns)
		return true;
	look_at_next(a);
	if (a->reloads_later && !a->next && !a->old)
		reload(a);
	return true;
}

/* Of all backends. */
static uint64_t waiting_bytes(const struct generation *g)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < g->n_backends; i++)
		bytes += backend_counts(g->backends[i]).deliver.spooled_bytes;
	return bytes;
}

static void look_at_memory(struct agent *a, uint64_t now)
{
	const struct agent_options *o = a->now->options;
	struct own_use own, helpers;

	if (a->next || a->old || !a->is_ready || (a->renewed_ns && now < a->renewed_ns + RENEW_NS))
		return;
	own_use_read(&own, &helpers);
	if (!memory_share_is_exceeded(o, own.private_bytes + helpers.private_bytes,
				      waiting_bytes(a->now)))
		return;
	a->renewed_ns = now;
	log_warning("%" PRIu64 " MiB of memory are in use, more than --memory allows (%" PRIu64
		    " MiB): the profiler is restarted",
		    (own.private_bytes + helpers.private_bytes) >> 20, o->memory >> 20);
	begin_next(a, o, BY_MEMORY, a->now->divisor);
}

static void look_at_rate(struct agent *a, const struct figures *figures, uint64_t now)
{
	const struct agent_options *o = a->now->options;
	bool is_steady = a->is_ready && !a->next && !a->old;
	unsigned int divisor = a->now->divisor;

	if (rate_change(&a->rate, figures, &o->run.profiler, is_steady, &divisor, now))
		begin_next(a, o, divisor > a->now->divisor ? BY_LOWER_RATE : BY_HIGHER_RATE,
			   divisor);
}

static void look_around(struct agent *a)
{
	uint64_t now = clock_now_ns();
	struct figures figures;

	give_figures(a, &figures);
	if (!a->is_ready || figures.is_healthy)
		(void)notify_send("WATCHDOG=1");
	look_at_memory(a, now);
	look_at_rate(a, &figures, now);
	left_spools_look(&a->left, a->now->options, false);
	server_look(a->serving.server);
}

static void obey(struct agent *a)
{
	switch (a->control->order(a->control->arg)) {
	case AGENT_NONE:
		break;
	case AGENT_RELOAD:
		if (!a->ends_ns)
			reload(a);
		break;
	case AGENT_END:
		if (a->ends_ns)
			break;
		a->ends_ns = clock_now_ns();
		(void)notify_send("STOPPING=1");
		run_end(a->now->run);
		if (a->next)
			run_end(a->next->run);
	}
}

/* How long poll(2) may wait. An event does not put the next look off. */
static int wait_ms(const struct agent *a, uint64_t every_ns)
{
	uint64_t now = clock_now_ns(), look = a->looked_ns + every_ns;
	uint64_t wait = a->ends_ns ? UINT64_C(100000000) : look > now ? look - now : 0;

	if (a->serving.again_ns && wait > SERVE_LOOK_NS)
		wait = SERVE_LOOK_NS;
	return (int)(wait / 1000000 + 1);
}

static void hurry(struct agent *a, uint64_t now)
{
	if (!a->is_hurried && now > a->ends_ns + HURRY_NS) {
		a->is_hurried = true;
		run_hurry(a->now->run);
		if (a->old)
			run_hurry(a->old->run);
	}
	if (now < a->ends_ns + GIVE_UP_NS)
		return;
	log_error("the current interval could not be written in time, and is lost");
	for (size_t i = 0; i < a->now->n_backends; i++)
		backend_say_left(a->now->backends[i]);
	_exit(EXIT_CODE_FAILED);
}

static void turn(struct agent *a)
{
	uint64_t watchdog = notify_watchdog_ns() / 2;
	uint64_t every = watchdog && watchdog < LOOK_NS ? watchdog : LOOK_NS;
	struct pollfd fds[] = { { .fd = a->control->fd, .events = POLLIN },
				{ .fd = a->event_fd, .events = POLLIN } };

	while (look_at_runs(a)) {
		uint64_t now, woken;

		(void)poll(fds, 2, wait_ms(a, every));
		if (fds[1].revents)
			(void)!read(a->event_fd, &woken, sizeof(woken));
		if (fds[0].revents)
			obey(a);
		now = clock_now_ns();
		if (!a->ends_ns)
			serving_look(&a->serving, now);
		if (a->ends_ns)
			hurry(a, now);
		else if (now >= a->looked_ns + every) {
			a->looked_ns = now;
			look_around(a);
		}
	}
}

static int prepare(struct agent *a)
{
	const struct agent_options *options;
	int err;

	a->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = a->event_fd < 0 ? -errno : pulls_new(wake_run, a, &a->pulls);
	if (err == 0)
		err = recent_new(&a->recent);
	if (err == 0)
		err = a->control->load(a->control->arg, &options);
	if (err < 0)
		return err;
	a->serving.options = (struct server_options){
		.pulls = a->pulls, .recent = a->recent, .figures = give_figures, .arg = a
	};
	file_limit_raise();
	figures_begin(&a->constant);
	err = begin_generation(a, options, 1, &a->now);
	if (err < 0)
		return err;
	run_take_over(a->now->run, NULL);
	run_serve(a->now->run);
	left_spools_look(&a->left, options, true);
	err = serve(a, options);
	if (err == 0 || !serving_may_pass(err))
		return err;
	log_warning("requests are not answered until that is possible");
	return 0;
}

static void say_end(struct agent *a)
{
	struct figures figures;

	give_figures(a, &figures);
	log_info("%" PRIu64 " samples, %" PRIu64 " lost, %.1f %% of user stacks complete; %" PRIu64
		 " intervals written, %" PRIu64 " failed",
		 figures.totals.samples, figures.totals.lost, totals_complete(&figures.totals),
		 figures.intervals_written, figures.intervals_failed);
}

int agent_run(const struct agent_control *control)
{
	struct agent a = { .control = control, .event_fd = -1 };
	int err;

	pthread_mutex_init(&a.lock, NULL);
	err = prepare(&a);
	if (err == 0) {
		turn(&a);
		err = a.err;
	}
	serving_end(&a.serving);
	if (a.is_ready)
		say_end(&a);
	close_generation(&a, a.next, a.now);
	close_generation(&a, a.now, NULL);
	pulls_free(a.pulls);
	recent_free(a.recent);
	if (a.event_fd >= 0)
		close(a.event_fd);
	pthread_mutex_destroy(&a.lock);
	return exit_code_of(err);
}
