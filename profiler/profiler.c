// SPDX-License-Identifier: Apache-2.0
#include "profiler/profiler_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/filter.h"
#include "kernel/permission.h"
#include "log/clock.h"
#include "log/log.h"
#include "probes/probe_server.h"
#include "process/process_list.h"
#include "process/sideband.h"
#include "profiler/profiler_usage.h"
#include "profiler/resting.h"
#include "profiler/summary.h"
#include "report/report_queue.h"
#include "report/report.h"
#include "samples/process_metrics.h"
#include "samples/type_names.h"
#include "samples/unwinder.h"
#include "samples/verify_queue.h"
#include "sandbox/fetchers.h"
#include "symbols/kallsyms.h"

static void name_events(struct profiler *p)
{
	const struct profiler_options *o = p->options;

	for (size_t i = 0; i < profiler_n_events(o); i++) {
		const struct event *event = profiler_event(o, i);

		event_name(event, p->names[i]);
		p->several[i] = (struct report_event){
			.name = p->names[i],
			.counts = event->source->counts ? event->source->counts : p->names[i],
		};
	}
	event_labels_init(&p->event_labels, p->several, profiler_n_events(o));
}

static void drop_comm(void *arg, const char comm[DP_COMM_SIZE])
{
	session_drop_comm(arg, comm);
}

/* What has not been explained where it was found. */
static void explain_targets(int err)
{
	if (err == -ECANCELED)
		summary_tell_interrupted();
	else if (err < 0 && err != -ESRCH && err != -EPERM)
		log_error("cannot make the unwind tables: %s", strerror(-err));
}

static struct session_options session_options_of(const struct profiler *p)
{
	struct session_options options =
		needs_session_options(&p->needs, p->options, p->cpus.n_cpus);

	options.not_inherited = parsers_spawner(p->stores.parsers);
	return options;
}

/* What takes samples; its programs are still to be loaded. */
static int prepare_session(struct profiler *p)
{
	struct session_options options;
	int err;

	cpu_watch_init(&p->cpus);
	err = loop_init(&p->loop);
	if (err < 0) {
		log_error("cannot prepare sampling: %s", strerror(-err));
		return err;
	}
	options = session_options_of(p);
	session_init(&p->session, &options);
	return 0;
}

/*
 * Looks up the targets' files, so that their tables are made while the kernel verifies the programs. Not without
 * permission to load these (that is reported first), not with a filter (it updates loaded maps), and not with
 * probes of exceptions or allocations (which are attached as files are read).
 */
static int look_ahead(struct profiler *p)
{
	int err;

	if (!permission_may_load() || filter_is_set(p->options->target.filter) ||
	    p->needs.session.has_exceptions ||
	    (p->needs.session.programs & EVENT_BIT(DP_EVENT_ALLOC)))
		return 0;
	/* First, so that no mapping is missed. */
	err = sideband_new(p->cpus.n_cpus, &p->sideband);
	if (err < 0)
		return err;
	err = stores_add_targets(&p->stores, p->options);
	explain_targets(err);
	return err;
}

static int load_session(struct profiler *p)
{
	const struct session_options options = session_options_of(p);
	struct filter *filter = p->options->target.filter;
	int err = session_load(&p->session, &options);

	if (err < 0)
		return err;
	p->stores.binaries.exceptions = p->session.exceptions;
	filter->tell = drop_comm;
	filter->arg = &p->session;
	return p->sideband ? 0 : sideband_new(p->cpus.n_cpus, &p->sideband);
}

/* What knows processes and their tables, and walks stacks with them. */
static int open_stores(struct profiler *p)
{
	const struct profiler_options *o = p->options;
	int err;

	stores_init(&p->stores, o, p->needs.session.programs ? &p->session : NULL);
	err = unwinder_new(p->stores.pool, o->unwind, o->max_frames, &p->unwinder);
	if (err < 0)
		log_error("cannot walk stacks: %s", strerror(-err));
	return err;
}

int profiler_open(const struct profiler_options *o, struct profiler **ret)
{
	struct profiler *p = calloc(1, sizeof(*p));
	int err = 0;

	*ret = p;
	if (!p)
		return -ENOMEM;
	p->options = o;
	p->needs = needs_of(o);
	name_events(p);
	target_describe(&o->target, p->target, sizeof(p->target));
	uname(&p->machine);
	snprintf(p->kernel, sizeof(p->kernel), "%s %s %s", p->machine.sysname, p->machine.release,
		 p->machine.machine);
	p->cpus.fd = -1;
	p->loop = LOOP_NONE;
	watch_init(&p->watch, &p->loop);
	err = stores_begin(&p->stores, o);
	if (!p->needs.session.programs) /* no samples arrive meanwhile */
		fetchers_be_patient(p->stores.fetchers);
	else if (err == 0)
		err = prepare_session(p);
	if (err == 0)
		err = stores_check(&p->stores, o) ?: open_stores(p);
	if (err == 0 && p->needs.session.programs)
		err = look_ahead(p) ?: load_session(p);
	if (err < 0)
		*ret = profiler_free(p);
	return err;
}

/* With what has happened since they were looked up. */
static int publish_targets(struct profiler *p)
{
	const struct target *target = &p->options->target;
	int err = sideband_drain(p->sideband, &p->stores.table);

	if (err == 0)
		err = process_table_publish(&p->stores.table, clock_now_ns());
	for (size_t i = 0; err == 0 && i < target->n_tids; i++)
		err = session_add_thread(&p->session, target->tids[i]);
	return err;
}

/* Waits for the tables. */
static int settle_targets(struct profiler *p)
{
	struct binary_store *binaries = &p->stores.binaries;
	int err = 0;

	binaries->is_interrupted = p->options->is_interrupted;
	stores_settle(&p->stores);
	if (binary_store_is_cancelled(binaries))
		err = -ECANCELED;
	binaries->is_interrupted = NULL; /* while sampling, building goes on */
	return err;
}

int profiler_attach(struct profiler *p, pid_t launched)
{
	const struct binary_store *binaries = &p->stores.binaries;
	uint64_t start = clock_now_ns();
	int err = stores_add_targets(&p->stores, p->options);

	p->launched = launched;
	if (err == 0 && launched)
		err = process_table_add_launched(&p->stores.table, launched);
	if (err == 0)
		err = settle_targets(p);
	if (err == 0 && profiler_has_session(p))
		err = publish_targets(p);
	explain_targets(err);
	if (err == 0)
		log_debug("tables: %u files, %" PRIu64 " rows, %" PRIu64 " KiB, ready in %.1f ms",
			  HASH_COUNT(binaries->binaries), binaries->n_rows,
			  binaries->n_cells * DP_CELL_SIZE / 1024,
			  (double)(clock_now_ns() - start) / 1e6);
	return err;
}

/* The thread that reads the rings may look up kernel functions, and must not wait then. */
static int open_kallsyms(struct profiler *p)
{
	const struct profiler_options *o = p->options;

	if (!o->symbols || o->sides == DP_SIDES_USER)
		return -ENODATA;
	if (!p->needs.finds_own_frames)
		return kallsyms_new_unread(o->names, "/proc/kallsyms", &p->kallsyms);
	return kallsyms_new(o->names, "/proc/kallsyms", &p->kallsyms);
}

void profiler_lend(struct profiler *p, struct thread_set *set)
{
	set->table = &p->stores.table;
	set->unwinder = p->unwinder;
}

void profiler_look_again(struct profiler *p)
{
	stores_look_again(&p->stores);
}

static bool has_more_numbers(const struct profiler *p)
{
	return !p->needs.session.has_several && p->options->n_numbers > 1;
}

/* Reports may begin before the units are known (name_numbers()). */
static void describe_more(struct profiler *p)
{
	_Static_assert(EVENT_MAX - 1 <= REPORT_NUMBERS_MAX, "each has room");
	for (size_t i = 1; has_more_numbers(p) && i < p->options->n_numbers; i++)
		p->more[i - 1] =
			(struct report_number){ p->options->numbers[i].name, p->value_units[i] };
}

void profiler_describe(struct profiler *p, struct report_context *ret)
{
	const struct profiler_options *o = p->options;

	describe_more(p);
	if (!p->kallsyms && open_kallsyms(p) == 0 && p->sideband)
		sideband_tell_kallsyms(p->sideband, p->kallsyms);
	*ret = (struct report_context){
		.host = p->machine.nodename,
		.kernel = p->kernel,
		.started_ns = clock_now_ns(),
		.started_real_ns = clock_real_ns(),
		.target = p->target,
		.event = p->event.name,
		.hz = p->needs.hz,
		.period = p->needs.period,
		.counts = p->needs.counts,
		.value = p->needs.session.has_several ? NULL : o->numbers[0].name,
		.value_unit = !p->needs.session.has_several && o->n_numbers > 0 ?
				      p->value_units[0] :
				      NULL,
		.more = p->more,
		.n_more = has_more_numbers(p) ? o->n_numbers - 1 : 0,
		.several = p->several,
		.n_several = p->needs.session.has_several ? profiler_n_events(o) : 0,
		.events = p->needs.session.programs,
		.symbols = o->symbols,
		.names = o->names,
		.kallsyms = p->kallsyms,
	};
}

static int close_module(void *queue, struct module *module)
{
	return report_queue_close_module(queue, module);
}

static uint64_t oldest_use_ns(void *queue)
{
	return report_queue_oldest_ns(queue);
}

static int release_object(void *queue, void (*fn)(void *object), void *object)
{
	return report_queue_call(queue, fn, object);
}

/* Connects the rings with the reports. */
static int connect_reports(struct profiler *p, struct report **reports, size_t n, bool names)
{
	const struct profiler_options *o = p->options;
	int err = report_queue_new(reports, n, o->names, o->symbols && (names || o->verify),
				   &p->report_queue);

	if (err < 0)
		return err;
	p->users = (struct module_users){ .close = close_module,
					  .oldest_ns = oldest_use_ns,
					  .release = release_object,
					  .arg = p->report_queue };
	p->stores.binaries.users = &p->users;
	if (p->kallsyms)
		kallsyms_set_release(p->kallsyms, release_object, p->report_queue);
	if (p->needs.session.has_exceptions)
		err = type_names_install(p->stores.parsers, o->label_sources.redaction,
					 p->report_queue);
	if (err == 0 && o->verify)
		err = verify_queue_new(p->stores.parsers, o->max_frames, o->names, &p->verify);
	if (err == 0)
		err = drain_init(&p->drain, &p->session, p->sideband, &p->stores.table,
				 o->target.filter, p->unwinder, p->verify, p->report_queue);
	record_wait_init(&p->record_wait, o->host_polls ? 0 : needs_gather_ns(&p->needs));
	p->drain.intervals.kallsyms = p->kallsyms;
	p->drain.unread = p->kallsyms;
	p->drain.label_sources = o->label_sources;
	p->drain.label_sources.keys = p->stores.thread_keys;
	p->drain.label_sources.metrics = process_metrics_source(p->stores.metrics);
	if (p->needs.session.has_exceptions)
		p->drain.label_sources.redaction = NULL; /* type_names_install() */
	p->drain.runtime_join.keeps_native = o->native_frames == NATIVE_FRAMES_ALL;
	if (p->needs.session.has_several)
		p->drain.label_sources.event = &p->event_labels.source;
	if (p->needs.session.has_values || p->needs.session.label_probes > 0)
		p->drain.label_sources.values = &p->value_labels;
	p->drain.cpu_value_ns = p->needs.cpu_value_ns;
	p->drain.last_wait = (struct last_wait){ o->is_interrupted, o->interrupt_arg };
	return err;
}

/* Registers everything that wakes the loop, except records (profiler_run()). */
static int watch_all(struct profiler *p)
{
	const struct profiler_options *o = p->options;
	int err = loop_add(&p->loop, session_rings_fd(&p->session), NULL, NULL);

	if (err == 0 && p->stores.binaries.workers)
		err = loop_add(&p->loop, workers_fd(p->stores.binaries.workers), NULL, NULL);
	if (err == 0)
		err = process_lists_listen(&p->stores.table, &p->loop);
	if (err == 0)
		err = cpu_watch_listen(&p->cpus, &p->session, p->sideband, &p->loop);
	if (err == 0 && o->host_polls)
		err = loop_add(&p->loop, sideband_fd(p->sideband), NULL, NULL);
	if (err == 0 && p->launched)
		err = watch_add_process(&p->watch, p->launched);
	for (size_t i = 0; err == 0 && i < o->target.n_pids; i++)
		err = watch_add_process(&p->watch, o->target.pids[i]);
	for (size_t i = 0; err == 0 && i < o->target.n_tids; i++)
		err = watch_add_thread(&p->watch, o->target.tids[i]);
	return err;
}

/* Before sampling: the threads of all processes up to now, with their tables. */
static int take_resting(struct profiler *p, struct resting *ret)
{
	static const struct resting_limits limits = { RESTING_TAKE_NS, RESTING_BEGIN_NS,
						      RESTING_MAX_THREADS };
	bool is_slow = p->stores.binaries.n_jobs > 0; /* some have been waited for */
	int err = resting_take(ret, p->options, &p->stores.table, p->unwinder, &limits);

	if (err < 0)
		return err;
	err = drain_run(&p->drain, false);
	if (err == 0 && !is_slow)
		stores_settle(&p->stores);
	if (err == 0)
		err = resting_take_started(ret);
	if (err < 0)
		resting_done(ret);
	return err;
}

/* Reports, which have begun, show it from the first sample on. Of several events, each has its list. */
static void name_numbers(struct profiler *p)
{
	for (size_t i = 0; i < profiler_n_events(p->options); i++) {
		struct own_number own = { 0 };

		(void)value_labels_own(&p->value_labels, i, &own);
		snprintf(p->value_units[i], sizeof(p->value_units[i]), "%s",
			 own.unit && *own.unit ? own.unit : "count");
		p->several[i].value = own.name;
		p->several[i].value_unit = p->value_units[i];
	}
	for (size_t i = 1; has_more_numbers(p) && i < p->options->n_numbers; i++) {
		const struct own_number *more = &p->options->numbers[i];
		const char *unit = more->unit ?: value_labels_unit(&p->value_labels, 0, more->name);

		snprintf(p->value_units[i], sizeof(p->value_units[i]), "%s",
			 *unit ? unit : "count");
	}
}

int profiler_start(struct profiler *p, struct report **reports, size_t n, bool names)
{
	const struct event_means means = { &p->session, p->stores.parsers, &p->stores.table };
	struct resting resting;
	int err = profiler_has_session(p) ? 0 : -EINVAL;
	bool rests;

	if (err == 0)
		err = connect_reports(p, reports, n, names);
	if (err == 0)
		err = watch_all(p);
	if (err < 0) {
		log_error("cannot prepare sampling: %s", strerror(-err));
		return err;
	}
	/* A launched process has not begun. */
	rests = p->needs.states && !p->launched;
	if (rests) {
		err = drain_run(&p->drain, false); /* processes that were started meanwhile */
		rests = err == 0 && take_resting(p, &resting) == 0;
	}
	/* Before the first event: one CPU's event takes samples while the next one is opened. */
	p->started = clock_now_ns();
	if (err == 0)
		err = events_attach(&means, p->options, &p->event, &p->value_labels,
				    &p->drain.spans);
	if (err == 0)
		err = probe_server_open(&p->session, p->stores.parsers, p->options->probe_socket,
					p->options->label_sources.redaction, &p->value_labels,
					&p->drain.spans, &p->probes);
	if (err == 0)
		err = ticks_init(&p->drain.ticks, p->session.n_cpus, session_tick_ns(&p->session));
	name_numbers(p);
	resting.labels = &p->value_labels;
	if (err == 0 && rests)
		err = drain_processes(&p->drain);
	if (err == 0 && rests)
		err = resting_begin(&resting, &p->session, &p->drain.intervals, p->started);
	if (rests)
		resting_done(&resting);
	if (err == -ECANCELED)
		summary_tell_interrupted();
	if (err < 0)
		return err;
	log_info("sampling %s %s", p->target, p->event.how);
	return 0;
}

struct parsers *profiler_parsers(struct profiler *p)
{
	return p->stores.parsers;
}

struct loop *profiler_loop(struct profiler *p)
{
	return &p->loop;
}

struct profiler_usage profiler_usage(const struct profiler *p)
{
	const struct table_store *tables = &p->stores.binaries.tables;

	return (struct profiler_usage){
		.table_bytes = p->session.pool.n_segments * DP_SEGMENT_SIZE,
		.table_limit = p->session.pool.max_segments * DP_SEGMENT_SIZE,
		.tables_made = tables->n_made,
		.tables_from_cache = tables->n_from_cache,
		.tables_freed = tables->n_freed,
		.tables_evicted = tables->n_evicted,
		.programs = run_stats_of(&p->session),
	};
}

void profiler_log(struct profiler *p)
{
	const struct profiler_usage usage = profiler_usage(p);

	log_debug("table memory: %" PRIu64 " of %" PRIu64 " MiB in use; tables made %" PRIu64
		  " times, %" PRIu64 " freed, %" PRIu64 " evicted",
		  usage.table_bytes >> 20, usage.table_limit >> 20, usage.tables_made,
		  usage.tables_freed, usage.tables_evicted);
	log_debug("read from the kernel: %" PRIu64 " bytes, %" PRIu64 " records refused",
		  p->session.rings.n_bytes, p->session.rings.n_refused);
	if (p->verify)
		verify_queue_log(p->verify, p->options->symbols);
}

struct profiler *profiler_free(struct profiler *p)
{
	if (!p)
		return NULL;
	watch_done(&p->watch);
	loop_done(&p->loop);
	if (profiler_has_session(p))
		session_stop(&p->session);
	verify_queue_give_up(p->verify); /* reports may wait for results */
	report_queue_free(p->report_queue);
	drain_done(&p->drain);
	probe_server_free(p->probes);
	unwinder_free(p->unwinder);
	verify_queue_free(p->verify);
	kallsyms_free(p->kallsyms);
	if (p->stores.pool)
		stores_done(&p->stores);
	sideband_free(p->sideband);
	if (profiler_has_session(p))
		p->options->target.filter->tell = NULL;
	/* Without programs, it may have room for tables. */
	if (p->stores.pool == &p->session.pool)
		session_close(&p->session);
	stores_end(&p->stores);
	cpu_watch_done(&p->cpus);
	event_text_done(&p->event);
	free(p);
	return NULL;
}
