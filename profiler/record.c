// SPDX-License-Identifier: Apache-2.0
#include "profiler/record.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "log/clock.h"
#include "log/log.h"
#include "log/notice.h"
#include "loop/loop.h"
#include "profiler/fetch.h"
#include "profiler/file_limit.h"
#include "profiler/launch.h"
#include "profiler/outputs.h"
#include "profiler/profiler.h"
#include "profiler/summary.h"
#include "report/report.h"

/* How long the user may wait after the end of sampling without a word. */
#define NOTICE_MS 1000

/* One run: the options, output and messages around a profiler. */
struct record {
	const struct record_options *options;
	struct profiler_options profiled; /* the user's, plus is_to_end() */
	struct launch launch;
	struct outputs outputs;
	struct profiler *profiler;
	bool is_interrupted;
	bool is_over;         /* its duration, or the user has interrupted it */
	uint64_t n_intervals; /* that have ended */
};

static bool is_to_end(const void *arg)
{
	const struct record *r = arg;
	const struct record_end *end = r->options->end;
	struct pollfd poll_fd = { .fd = end ? end->fd : -1, .events = POLLIN };

	/* Once all targets have ended, Ctrl-C is about what is left. */
	return r->is_over || names_disabled(r->options->profiler.names) || poll(&poll_fd, 1, 0) > 0;
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
	const struct target *target = &o->profiler.target;
	int err = outputs_open(&r->outputs, o->outputs, o->n_outputs,
			       target_pid(target, r->launch.pid), o->end ? o->end->fd : -1);

	if (err == 0 && outputs_use_stdout(&r->outputs) && target->command &&
	    !isatty(STDOUT_FILENO))
		log_warning(
			"the command's own output goes to stdout too; -o FILE keeps them apart");
	return err;
}

static int on_interrupt(void *arg, int fd)
{
	struct record *r = arg;

	r->is_interrupted = true;
	loop_remove(profiler_loop(r->profiler), fd);
	return 0;
}

static int open_profiler(struct record *r)
{
	const struct record_options *o = r->options;
	struct loop *loop;
	int err;

	r->profiled = o->profiler;
	r->profiled.is_interrupted = is_to_end;
	r->profiled.interrupt_arg = r;
	err = profiler_open(&r->profiled, &r->profiler);
	if (err < 0)
		return err;
	loop = profiler_loop(r->profiler);
	if (o->end)
		err = loop_add(loop, o->end->fd, on_interrupt, r);
	if (err < 0)
		log_error("cannot wait for the end: %s", strerror(-err));
	return err;
}

/* Reports written at the end need names of binaries that are closed by then. */
static bool need_names(const struct record_options *o)
{
	for (size_t i = 0; i < o->n_outputs; i++)
		if (!o->outputs[i].format->streams)
			return true;
	return false;
}

static int start(struct record *r)
{
	const struct record_options *o = r->options;
	struct report_context context;
	int err;

	profiler_describe(r->profiler, &context);
	context.command = o->command_line;
	err = outputs_make_reports(&r->outputs, o->outputs, &context);
	if (err == 0)
		err = outputs_await_readers(&r->outputs, o->profiler.names);
	if (err < 0)
		log_error("cannot prepare sampling: %s", strerror(-err));
	if (err == 0)
		err = profiler_start(r->profiler, r->outputs.reports, r->outputs.n, need_names(o));
	return err;
}

static void show_progress(const struct record *r)
{
	const struct totals *t = profiler_totals(r->profiler);

	/* The command, or a report, writes to the same terminal. */
	if (r->options->profiler.target.command || outputs_use_stderr(&r->outputs))
		return;
	log_progress("%.0f s, %" PRIu64 " samples, %.1f %% of user stacks complete, %" PRIu64
		     " lost (Ctrl-C to end)",
		     (double)(clock_now_ns() - profiler_started(r->profiler)) / 1e9, t->samples,
		     totals_complete(t), t->lost);
}

/* When the duration ends. */
static uint64_t end_time(const struct record *r)
{
	uint64_t duration = r->options->duration_ns;

	return duration ? profiler_started(r->profiler) + duration : UINT64_MAX;
}

/* When to wake up next, even without samples. */
static uint64_t next_time(const struct record *r)
{
	uint64_t interval = r->options->interval_ns, end = end_time(r);
	uint64_t next = profiler_started(r->profiler) + (r->n_intervals + 1) * interval;

	return interval > 0 && next < end ? next : end;
}

/* Reports learn of the end of the last interval when they are finished. */
static int tick(struct record *r)
{
	uint64_t interval = r->options->interval_ns, now = clock_now_ns();
	uint64_t n = interval ? (now - profiler_started(r->profiler)) / interval : 0;

	if (n == r->n_intervals || now >= end_time(r))
		return 0;
	r->n_intervals = n;
	return profiler_tick(r->profiler);
}

/* Samples until the duration ends, the user interrupts, or all targets have ended. */
static int sample(struct record *r)
{
	int err = 0;

	(void)loop_go_first();
	/* All targets may have ended while their tables were built. */
	while (err == 0 && !r->is_interrupted && clock_now_ns() < end_time(r) &&
	       profiler_has_targets(r->profiler)) {
		err = profiler_run(r->profiler, next_time(r));
		if (err == 0)
			err = tick(r);
		show_progress(r);
	}
	return err;
}

static int write_reports(struct record *r)
{
	struct names *names = r->options->profiler.names;
	int err = profiler_finish(r->profiler);

	fetch_begin(names);
	if (err == 0)
		err = outputs_finish(&r->outputs, profiler_totals(r->profiler));
	fetch_end(names);
	return err;
}

static int finish(struct record *r)
{
	const struct totals *t = profiler_totals(r->profiler);
	struct notice notice;
	int err;

	r->is_over = r->is_interrupted || clock_now_ns() >= end_time(r);
	log_progress_clear(); /* it says that Ctrl-C ends sampling */
	outputs_end(&r->outputs);
	names_hurry(r->options->profiler.names);
	profiler_stop(r->profiler);
	tell(r, RECORD_WRITING);
	notice_begin(&notice, NOTICE_MS,
		     r->options->profiler.symbols ?
			     "looking up names and writing reports (Ctrl-C leaves names out)" :
			     "writing reports");
	err = write_reports(r);
	notice_end(&notice);
	if (err == 0) {
		summary_print(t, r->options->profiler.max_rate,
			      profiler_n_events(&r->options->profiler),
			      profiler_n_unseen(r->profiler));
		profiler_log(r->profiler);
	}
	return err;
}

static int prepare(struct record *r)
{
	char **command = r->options->profiler.target.command;
	const struct record_end *end = r->options->end;
	int err = 0;

	if (command)
		err = launch_start(command, end ? end->mask : NULL, &r->launch);
	if (err < 0) {
		log_error("cannot start: %s", strerror(-err));
		return err;
	}
	tell(r, RECORD_LAUNCHED);
	file_limit_raise(); /* after the fork: the command keeps its limit */
	err = open_outputs(r);
	if (err == 0)
		err = open_profiler(r);
	if (err == 0)
		err = profiler_attach(r->profiler, r->launch.pid);
	return err;
}

static int run(struct record *r)
{
	char **command = r->options->profiler.target.command;
	int err = prepare(r);

	if (err == 0)
		err = start(r);
	if (err < 0)
		return err;
	if (command) {
		err = launch_go(&r->launch);
		if (err < 0) {
			log_error("cannot execute %s: %s", command[0],
				  err == -EPIPE ? "its process was killed before that" :
						  strerror(-err));
			return -ENOEXEC;
		}
	}
	err = outputs_begin(&r->outputs);
	if (err < 0)
		return err;
	err = sample(r);
	if (r->options->kill)
		launch_end(&r->launch);
	if (err == 0)
		err = finish(r);
	if (err < 0 && !outputs_have_failed(&r->outputs))
		log_error("sampling failed: %s", strerror(-err));
	return err;
}

int exit_code_of(int err)
{
	switch (err) {
	case 0:
		return EXIT_CODE_OK;
	case -EPERM:
	case -EACCES:
		return EXIT_CODE_NOT_PERMITTED;
	case -ESRCH:
		return EXIT_CODE_NO_PROCESS;
	}
	return EXIT_CODE_FAILED;
}

static int exit_code(const struct record *r, int err)
{
	bool has_none =
		err == -ECANCELED || (err == 0 && profiler_totals(r->profiler)->samples == 0);

	return has_none ? EXIT_CODE_NO_SAMPLES : exit_code_of(err);
}

static void tell_no_samples(const struct profiler_options *o, uint64_t n_outside)
{
	if (n_outside > 0) {
		log_error("no samples: all %" PRIu64 " are outside long enough calls", n_outside);
		return;
	}
	log_error("no samples: the target %s%s", o->event.source->missing,
		  o->sides == DP_SIDES_KERNEL ? ", in the kernel" : "");
}

/* Returns the exit code of the run, which so far was `code`. */
static int wait_for_command(struct record *r, int err, int code)
{
	const char *name = r->options->profiler.target.command[0];
	pid_t pid = r->launch.pid;
	int own;

	if (r->options->kill && err != -ENOEXEC)
		launch_end(&r->launch);
	else if (launch_runs(&r->launch))
		log_info("sampling has ended; waiting for %s (PID %d) to end (--kill ends it)",
			 name, pid);
	own = launch_wait(&r->launch);
	if (r->launch.is_killed)
		log_warning("%s (PID %d) did not end when told to, and was killed", name, pid);
	/* Its own takes precedence, even over "no samples"; 126 or 127 if exec failed. */
	if ((err < 0 && err != -ENOEXEC) || r->launch.has_died)
		return code;
	return own < 0 ? EXIT_CODE_FAILED : own;
}

int record_run(const struct record_options *options)
{
	struct record r = { .options = options, .launch = { .go = -1, .failed = -1 } };
	uint64_t n_outside = 0;
	bool has_run;
	int err, code;

	err = run(&r);
	outputs_end(&r.outputs);
	if (err < 0)
		r.profiler = profiler_free(r.profiler); /* reports may still be in use by it */
	err = outputs_close(&r.outputs, err);
	if (err == 0)
		outputs_tell(&r.outputs, options->outputs);
	has_run = options->profiler.target.command && r.launch.pid > 0 && r.launch.go < 0;
	code = exit_code(&r, err);
	if (r.profiler)
		n_outside = profiler_totals(r.profiler)->outside;
	profiler_free(r.profiler);
	outputs_done(&r.outputs);
	if (has_run)
		code = wait_for_command(&r, err, code);
	if (err == 0 && code == EXIT_CODE_NO_SAMPLES && (!has_run || r.launch.has_died))
		tell_no_samples(&options->profiler, n_outside);
	launch_done(&r.launch);
	return code;
}
