// SPDX-License-Identifier: Apache-2.0
#include "profiler/record.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "binaries/binary.h"
#include "binaries/image_cache.h"
#include "binaries/prewarm.h"
#include "kernel/filter.h"
#include "kernel/ring_size.h"
#include "kernel/session.h"
#include "log/clock.h"
#include "log/log.h"
#include "loop/loop.h"
#include "process/cpu_watch.h"
#include "process/process.h"
#include "process/sideband.h"
#include "process/target.h"
#include "process/watch.h"
#include "profiler/fetch.h"
#include "profiler/file_limit.h"
#include "profiler/keyboard.h"
#include "profiler/launch.h"
#include "profiler/outputs.h"
#include "profiler/summary.h"
#include "report/backlog.h"
#include "report/report.h"
#include "samples/drain.h"
#include "samples/rescue.h"
#include "samples/unseen.h"
#include "samples/verify.h"
#include "symbols/kallsyms.h"

/* How often the rings are read when nothing else wakes us, in milliseconds. */
#define DRAIN_EVERY_MS 100

/* One run. The parts are made in the order in which they stand here, and undone in reverse. */
struct record {
	const struct record_options *options;
	char target[256];
	char event[512];
	struct cpu_watch cpus;
	struct utsname machine;
	char kernel[256];
	struct launch launch;
	struct outputs outputs;
	struct session session;
	struct sideband *sideband;
	struct disk_cache cache; /* of use if binaries.cache leads to it */
	struct binary_store binaries;
	struct process_table table;
	struct kallsyms *kallsyms;
	struct backlog *backlog;
	struct rescue *rescue;
	struct verify *verify; /* NULL: not asked for */
	struct drain drain;
	struct loop loop;
	struct watch watch; /* of the targets */
	struct keyboard keyboard;
	bool is_interrupted;
	uint64_t started;
	uint64_t n_intervals; /* that are over */
	size_t n_unseen;      /* threads of the targets that were blocked all the time */
};

static int publish(void *arg, pid_t pid, uint32_t cell)
{
	return session_publish(arg, pid, cell);
}

static void drop_comm(void *arg, const char comm[DP_COMM_SIZE])
{
	session_drop_comm(arg, comm);
}

static bool is_to_end(const void *arg)
{
	const struct record_end *end = arg;
	struct pollfd poll_fd = { .fd = end->fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) > 0;
}

static void tell(const struct record *r, enum record_stage stage)
{
	const struct record_end *end = r->options->end;

	if (end)
		end->tell(end->arg, stage);
}

static int open_outputs(struct record *r)
{
	const struct record_options *o = r->options;
	int err = outputs_open(&r->outputs, o->outputs, o->n_outputs,
			       target_pid(&o->target, r->launch.pid));

	if (err == 0 && outputs_use_stdout(&r->outputs) && o->target.command &&
	    !isatty(STDOUT_FILENO))
		log_warning(
			"the command's own output goes to stdout too; -o FILE keeps them apart");
	return err;
}

static int open_session(struct record *r)
{
	const struct record_options *o = r->options;
	unsigned int n_cpus = r->cpus.n_cpus;
	struct session_options options = {
		.n_cpus = n_cpus,
		.all_processes = o->target.all,
		.sides = o->sides,
		.inherit = o->target.inherit,
		.filter = o->target.filter,
		.n_threads = o->target.n_tids,
		.unwind = o->unwind,
		.max_frames = o->max_frames,
		.verify = o->verify,
		.uprobe = o->uprobe_path != NULL,
		.cpu = !o->uprobe_path && !o->off_cpu,
		.off_cpu = o->off_cpu || o->wall,
		.states = o->states,
		.min_block_ns = o->min_block_ns,
		.max_block_ns = o->max_block_ns,
		.max_rate = o->max_rate,
		.ring_size = ring_size(o->wall ? 2 * (size_t)n_cpus : n_cpus),
		.table_memory = o->table_memory,
		.btf = o->btf,
	};
	int err = session_open(&r->session, &options);

	if (err < 0)
		return err;
	o->target.filter->tell = drop_comm;
	o->target.filter->arg = &r->session;
	binary_store_init(&r->binaries, &r->session.pool, o->names);
	r->binaries.symbols = o->symbols;
	if (o->cache)
		r->binaries.cache = image_cache_open_default(&r->cache);
	if (o->symbols)
		image_cache_keep_names(r->binaries.cache, o->names);
	process_table_init(&r->table, &r->session.pool, &r->binaries, publish, &r->session);
	r->table.no_binaries = o->sides == DP_SIDES_KERNEL;
	return sideband_new(n_cpus, &r->sideband);
}

/* All tables are in the kernel when this returns. */
static int add_targets(struct record *r)
{
	const struct record_options *o = r->options;
	uint64_t start = clock_now_ns();
	int err;

	r->table.inherit = o->target.inherit;
	r->binaries.is_interrupted = o->end ? is_to_end : NULL;
	r->binaries.interrupt_arg = o->end;
	if (o->target.command) {
		if (!r->table.no_binaries)
			prewarm_command(&r->binaries, o->target.command[0]);
		err = process_table_add_launched(&r->table, r->launch.pid);
	} else {
		err = target_add(&r->table, &o->target);
	}
	if (err == 0 && binary_store_is_cancelled(&r->binaries))
		err = -ECANCELED;
	r->binaries.is_interrupted = NULL; /* once samples arrive, they get their tables */
	if (err == 0)
		err = process_table_publish(&r->table, clock_now_ns());
	for (size_t i = 0; err == 0 && i < o->target.n_tids; i++)
		err = session_add_thread(&r->session, o->target.tids[i]);
	if (err == -ECANCELED)
		log_info("interrupted before sampling began");
	else if (err < 0 && err != -ESRCH && err != -EPERM)
		log_error("cannot make the unwind tables: %s", strerror(-err));
	if (err == 0)
		log_debug("tables: %u files, %" PRIu64 " rows, %" PRIu64 " KiB, ready in %.1f ms",
			  HASH_COUNT(r->binaries.binaries), r->binaries.n_rows,
			  r->binaries.n_cells * DP_CELL_SIZE / 1024,
			  (double)(clock_now_ns() - start) / 1e6);
	return err;
}

static int on_interrupt(void *arg, int fd)
{
	struct record *r = arg;

	r->is_interrupted = true;
	loop_remove(&r->loop, fd);
	return 0;
}

/* What wakes the loop; whatever does, the rings are read. */
static int watch_all(struct record *r)
{
	const struct record_options *o = r->options;
	const int *fds;
	size_t n;
	int err = loop_init(&r->loop);

	watch_init(&r->watch, &r->loop);
	if (err == 0 && o->end)
		err = loop_add(&r->loop, o->end->fd, on_interrupt, r);
	if (err == 0)
		err = loop_add(&r->loop, session_rings_fd(&r->session), NULL, NULL);
	if (err == 0)
		err = cpu_watch_listen(&r->cpus, &r->session, r->sideband, &r->loop);
	if (err == 0 && o->keys)
		err = keyboard_listen(&r->keyboard, &r->loop);
	fds = sideband_fds(r->sideband, &n);
	for (size_t i = 0; err == 0 && i < n; i++)
		err = fds[i] >= 0 ? loop_add(&r->loop, fds[i], NULL, NULL) : 0;
	if (err == 0 && o->target.command)
		err = watch_add_process(&r->watch, r->launch.pid);
	for (size_t i = 0; err == 0 && i < o->target.n_pids; i++)
		err = watch_add_process(&r->watch, o->target.pids[i]);
	for (size_t i = 0; err == 0 && i < o->target.n_tids; i++)
		err = watch_add_thread(&r->watch, o->target.tids[i]);
	return err;
}

static int start_sampling(struct record *r)
{
	const struct record_options *o = r->options;
	const char *event, *why;
	int err = 0;

	if (o->off_cpu || o->wall)
		err = session_sample_blocks(&r->session);
	if (err == 0 && o->off_cpu) {
		snprintf(r->event, sizeof(r->event), "off-cpu");
		log_info("sampling %s each time a thread blocks", r->target);
	} else if (err == 0 && o->uprobe_path) {
		snprintf(r->event, sizeof(r->event), "uprobe:%s:%s", o->uprobe_path,
			 o->uprobe_symbol);
		err = session_sample_uprobe(&r->session, o->uprobe_path, o->uprobe_symbol);
		if (err == 0)
			log_info("sampling %s at each call of %s in %s", r->target,
				 o->uprobe_symbol, o->uprobe_path);
	} else if (err == 0) {
		err = session_sample_cpus(&r->session, o->hz, &event, &why);
		if (err == 0) {
			snprintf(r->event, sizeof(r->event), "%s", event);
			log_info("sampling %s at %u Hz by %s%s%s%s%s", r->target, o->hz, event,
				 why ? " (" : "", why ? why : "", why ? ")" : "",
				 o->wall ? ", and each time a thread leaves its CPU" : "");
		}
	}
	r->started = clock_now_ns();
	return err;
}

static int close_module(void *arg, struct module *module)
{
	return backlog_close_module(arg, module);
}

/* Names of binaries that were closed are asked for by what is written at the end. */
static int start_backlog(struct record *r)
{
	const struct record_options *o = r->options;
	bool keeps_names = o->verify;
	int err;

	for (size_t i = 0; i < o->n_outputs; i++)
		keeps_names |= !o->outputs[i].format->streams;
	err = backlog_new(r->outputs.reports, r->outputs.n, o->names, o->symbols && keeps_names,
			  &r->backlog);
	if (err < 0)
		return err;
	r->binaries.close_module = close_module;
	r->binaries.arg = r->backlog;
	return 0;
}

/* Where blocked threads are sampled, who reads the rings asks for functions, and cannot wait. */
static int open_kallsyms(struct record *r)
{
	const struct record_options *o = r->options;

	if (!o->symbols || o->sides == DP_SIDES_USER)
		return -ENODATA;
	return o->off_cpu || o->wall ?
		       kallsyms_new(o->names, "/proc/kallsyms", &r->kallsyms) :
		       kallsyms_new_unread(o->names, "/proc/kallsyms", &r->kallsyms);
}

static int open_report(struct record *r)
{
	const struct record_options *o = r->options;
	struct report_context context = {
		.command = o->command_line,
		.host = r->machine.nodename,
		.kernel = r->kernel,
		.started_ns = clock_now_ns(),
		.started_real_ns = clock_real_ns(),
		.target = r->target,
		.event = r->event,
		.hz = o->uprobe_path || o->off_cpu ? 0 : o->hz,
		.time = o->off_cpu || o->wall,
		.wall = o->wall,
		.symbols = o->symbols,
		.names = o->names,
	};
	int err;

	uname(&r->machine);
	snprintf(r->kernel, sizeof(r->kernel), "%s %s %s", r->machine.sysname, r->machine.release,
		 r->machine.machine);
	if (open_kallsyms(r) == 0) {
		sideband_tell_kallsyms(r->sideband, r->kallsyms);
		context.kallsyms = r->kallsyms;
	}
	err = outputs_make_reports(&r->outputs, o->outputs, &context);
	if (err == 0)
		err = start_backlog(r);
	if (err == 0)
		err = rescue_new(&r->session.pool, o->unwind, o->max_frames, &r->rescue);
	if (err == 0 && o->verify)
		err = verify_new(o->max_frames, &r->verify);
	if (err == 0)
		err = drain_init(&r->drain, &r->session, r->sideband, &r->table, o->target.filter,
				 r->rescue, r->verify, r->backlog);
	r->drain.blocks.kallsyms = r->kallsyms;
	if (o->wall)
		r->drain.cpu_value_ns = 1000000000 / o->hz;
	return err;
}

static void show_progress(const struct record *r)
{
	const struct totals *t = &r->drain.totals;

	log_progress("%.0f s, %" PRIu64 " samples, %.1f %% of user stacks complete, %" PRIu64
		     " lost (Ctrl-C to end)",
		     (double)(clock_now_ns() - r->started) / 1e9, t->samples, totals_complete(t),
		     t->lost);
}

/* Milliseconds until the loop has to look again. */
static int time_to_wait(const struct record *r)
{
	const struct record_options *o = r->options;
	uint64_t passed = clock_now_ns() - r->started;
	uint64_t end = o->duration_ns ? o->duration_ns : UINT64_MAX;
	uint64_t left;

	if (drain_is_behind(&r->drain))
		return 0;
	if (o->interval_ns > 0 && (r->n_intervals + 1) * o->interval_ns < end)
		end = (r->n_intervals + 1) * o->interval_ns;
	if (passed >= end)
		return 0;
	left = end - passed;
	return left < DRAIN_EVERY_MS * UINT64_C(1000000) ? (int)((left + 999999) / 1000000) :
							   DRAIN_EVERY_MS;
}

static bool time_is_over(const struct record *r)
{
	return r->options->duration_ns > 0 &&
	       clock_now_ns() - r->started >= r->options->duration_ns;
}

/* Is there something left to sample? The number of a thread that ended may become another one's. */
static bool is_anything_left(struct record *r)
{
	pid_t tid;

	while ((tid = watch_ended_thread(&r->watch, clock_now_ns())))
		session_drop_thread(&r->session, tid);
	return r->options->target.all || r->watch.n_running > 0;
}

/* Of the last interval, the reports are told by their end. */
static int tick(struct record *r)
{
	uint64_t interval = r->options->interval_ns;
	uint64_t passed = clock_now_ns() - r->started;

	if (interval == 0 || passed / interval == r->n_intervals || time_is_over(r))
		return 0;
	r->n_intervals = passed / interval;
	r->drain.totals.duration_ns = passed;
	return backlog_tick(r->backlog, &r->drain.totals);
}

/* Sample until the time is over, the user has enough, or all targets are gone. */
static int sample(struct record *r)
{
	int err = 0;

	drain_go_first();
	/* The targets may all have ended while their tables were made. */
	while (err == 0 && !r->is_interrupted && !r->keyboard.has_quit && !time_is_over(r) &&
	       is_anything_left(r)) {
		err = loop_run(&r->loop, time_to_wait(r));
		if (err == 0)
			err = drain_run(&r->drain, false);
		if (err == 0)
			err = tick(r);
		show_progress(r);
	}
	return err;
}

static void print_totals(const struct record *r)
{
	const struct table_store *tables = &r->binaries.tables;

	summary_print(&r->drain.totals, r->options->max_rate, r->n_unseen);
	log_debug("table memory: %zu of %zu MiB in use; tables made %" PRIu64 " times, %" PRIu64
		  " freed, %" PRIu64 " evicted",
		  r->session.pool.n_segments * DP_SEGMENT_SIZE >> 20,
		  r->session.pool.max_segments * DP_SEGMENT_SIZE >> 20, tables->n_made,
		  tables->n_freed, tables->n_evicted);
	log_debug("read from the kernel: %" PRIu64 " bytes", r->session.rings.n_bytes);
	if (r->verify)
		verify_log(r->verify, r->options->symbols);
}

static int finish(struct record *r)
{
	struct totals *t = &r->drain.totals;
	int err;

	t->duration_ns = clock_now_ns() - r->started;
	/* With a bound or a filter, a thread may have been seen and not taken. */
	if ((r->options->off_cpu || r->options->wall) && r->options->max_rate == 0 &&
	    !filter_is_set(r->options->target.filter))
		unseen_count(&r->session, r->options->target.pids, r->options->target.n_pids,
			     r->options->states, &r->n_unseen);
	session_stop(&r->session);
	tell(r, RECORD_WRITING);
	err = drain_run(&r->drain, true);
	if (err == 0)
		err = drain_finish_blocks(&r->drain, r->started + t->duration_ns);
	if (err == 0 && backlog_size(r->backlog) > 0)
		log_progress("%zu samples wait for their names (Ctrl-C to leave these out)",
			     backlog_size(r->backlog));
	if (err == 0)
		err = backlog_finish(r->backlog);
	log_progress_clear();
	cpu_watch_warn(&r->cpus, r->options->target.filter);
	fetch_begin(r->options->names);
	if (err == 0)
		err = outputs_finish(&r->outputs, t);
	fetch_end(r->options->names);
	if (err == 0)
		print_totals(r);
	return err;
}

static int prepare(struct record *r)
{
	const struct record_end *end = r->options->end;
	int err = 0;

	if (r->options->target.command)
		err = launch_start(r->options->target.command, end ? end->mask : NULL, &r->launch);
	if (err < 0) {
		log_error("cannot start: %s", strerror(-err));
		return err;
	}
	tell(r, RECORD_LAUNCHED);
	file_limit_raise(); /* the command keeps the one it was given */
	err = open_outputs(r);
	if (err == 0) {
		cpu_watch_init(&r->cpus);
		err = open_session(r);
	}
	if (err == 0)
		err = add_targets(r);
	if (err < 0)
		return err;
	err = open_report(r);
	if (err == 0)
		err = watch_all(r);
	if (err < 0)
		log_error("cannot prepare sampling: %s", strerror(-err));
	return err;
}

static int run(struct record *r)
{
	const struct record_options *o = r->options;
	int err;

	target_describe(&o->target, r->target, sizeof(r->target));
	err = prepare(r);
	if (err == 0)
		err = start_sampling(r);
	if (err < 0)
		return err;
	kallsyms_read_ahead(r->kallsyms);
	if (o->target.command) {
		err = launch_go(&r->launch);
		if (err < 0) {
			log_error("cannot execute %s: %s", o->target.command[0], strerror(-err));
			return -ENOEXEC;
		}
	}
	err = outputs_begin(&r->outputs);
	if (err == 0)
		err = sample(r);
	if (err == 0)
		err = finish(r);
	if (err < 0 && !outputs_have_failed(&r->outputs))
		log_error("sampling failed: %s", strerror(-err));
	return err;
}

static void record_done(struct record *r)
{
	watch_done(&r->watch);
	loop_done(&r->loop);
	if (r->session.bpf) {
		session_stop(&r->session);
		backlog_free(r->backlog);
		drain_done(&r->drain);
		rescue_free(r->rescue);
		verify_free(r->verify);
		kallsyms_free(r->kallsyms);
		process_table_done(&r->table);
		if (r->binaries.cache)
			disk_cache_close(&r->cache);
		binary_store_done(&r->binaries);
		names_set_cache(r->options->names, NULL);
		sideband_free(r->sideband);
		session_close(&r->session);
	}
	cpu_watch_done(&r->cpus);
	outputs_done(&r->outputs);
}

static int exit_code(const struct record *r, int err)
{
	switch (err) {
	case 0:
		return r->drain.totals.samples == 0 ? EXIT_CODE_NO_SAMPLES : EXIT_CODE_OK;
	case -EPERM:
	case -EACCES:
		return EXIT_CODE_NOT_PERMITTED;
	case -ESRCH:
		return EXIT_CODE_NO_PROCESS;
	case -ECANCELED:
		return EXIT_CODE_NO_SAMPLES;
	}
	return EXIT_CODE_FAILED;
}

int record_run(const struct record_options *options)
{
	struct record r = { .options = options,
			    .loop = LOOP_NONE,
			    .cpus.fd = -1,
			    .launch = { .go = -1, .failed = -1 } };
	bool has_run;
	int err, code;

	err = run(&r);
	if (err < 0)
		r.backlog = backlog_free(r.backlog); /* which may be writing still */
	err = outputs_close(&r.outputs, err);
	has_run = options->target.command && r.launch.pid > 0 && r.launch.go < 0;
	code = exit_code(&r, err);
	if (err == 0 && code == EXIT_CODE_NO_SAMPLES && !has_run)
		log_error("no samples: the target %s%s",
			  options->off_cpu ?
				  "did not block, or was blocked all the time, which is not seen" :
				  "did not run, or not long enough",
			  options->sides == DP_SIDES_KERNEL ? ", in the kernel" : "");
	record_done(&r);
	/* The command's own code wins, also over "no samples"; 126 or 127 if it could not be executed. */
	if (has_run) {
		int own = launch_wait(&r.launch);

		if (err == 0 || err == -ENOEXEC)
			code = own < 0 ? EXIT_CODE_FAILED : own;
	}
	launch_done(&r.launch);
	return code;
}
