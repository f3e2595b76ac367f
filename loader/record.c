// SPDX-License-Identifier: Apache-2.0
#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "binary.h"
#include "bus_guard.h"
#include "clock.h"
#include "cpus.h"
#include "drain.h"
#include "image_cache.h"
#include "interrupt.h"
#include "kallsyms.h"
#include "launch.h"
#include "log.h"
#include "outcome.h"
#include "output.h"
#include "prewarm.h"
#include "process.h"
#include "report.h"
#include "rescue.h"
#include "session.h"
#include "sideband.h"
#include "target.h"

/* How often the rings are read when nothing else wakes us, in milliseconds. */
#define DRAIN_EVERY_MS 100

/*
 * Ring buffers: room for what arrives while a large table is being made, in
 * bytes per CPU. Samples that wait for that table take their stacks along.
 */
#define MAX_RING_SIZE (8U << 20)
#define MIN_RING_SIZE (1U << 20)
#define ALL_RINGS_SIZE (128U << 20)

/* One run. The parts are made in the order in which they stand here, and undone in reverse. */
struct record {
	const struct record_options *options;
	char target[256];
	char event[512];
	char cpus[CPUS_LIST_SIZE]; /* that were online at the start */
	struct interrupt interrupt;
	struct launch launch;
	struct output output;
	struct session session;
	struct sideband *sideband;
	struct image_cache cache; /* of use if binaries.cache leads to it */
	struct binary_store binaries;
	struct process_table table;
	struct kallsyms *kallsyms;
	struct report *report;
	struct rescue *rescue;
	struct drain drain;
	int epoll_fd;
	int *pidfds; /* of the targets */
	size_t n_running;
	uint64_t started;
};

/* Of the default table memory. */
#define MEMORY_SHARE 16
#define LEAST_TABLE_MEMORY (64U << 20)

uint64_t record_default_table_memory(void)
{
	uint64_t share =
		(uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / MEMORY_SHARE;

	if (share < LEAST_TABLE_MEMORY)
		return LEAST_TABLE_MEMORY;
	return share < MAX_TABLE_MEMORY ? share : MAX_TABLE_MEMORY;
}

static int publish(void *arg, pid_t pid, uint32_t cell)
{
	return session_publish(arg, pid, cell);
}

/* One descriptor per binary and per CPU: the soft limit is too low for a whole machine. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int open_output(struct record *r)
{
	const char *path = r->options->output;
	int err = output_open(path, &r->output);

	if (err < 0) {
		log_error("cannot write %s: %s", path, strerror(-err));
		return err == -EACCES || err == -EPERM ? -EIO : err;
	}
	if (!r->output.path && r->options->command && !isatty(STDOUT_FILENO))
		log_warning(
			"the command's own output goes to stdout too; -o FILE keeps them apart");
	return 0;
}

static size_t ring_size(size_t n_cpus)
{
	size_t size = MAX_RING_SIZE;

	while (size > MIN_RING_SIZE && size * n_cpus > ALL_RINGS_SIZE)
		size /= 2;
	return size;
}

/* Without one, tables are made anew. */
static void open_cache(struct record *r)
{
	_cleanup_free_ char *path =
		image_cache_path(geteuid(), getenv("XDG_CACHE_HOME"), getenv("HOME"));
	int err = path ? image_cache_open(path, IMAGE_CACHE_LIMIT, &r->cache) : -ENOENT;

	if (err < 0) {
		log_debug("no cache in %s: %s", path ? path : "any place", strerror(-err));
		return;
	}
	log_debug("tables are kept in %s", path);
	r->binaries.cache = &r->cache;
}

static int open_session(struct record *r)
{
	const struct record_options *o = r->options;
	unsigned int n_cpus = cpus_read(r->cpus);
	struct session_options options = {
		.n_cpus = n_cpus,
		.all_processes = o->all,
		.unwind = o->unwind,
		.max_frames = o->max_frames,
		.uprobe = o->uprobe_path != NULL,
		.ring_size = ring_size(n_cpus),
		.table_memory = o->table_memory,
	};
	int err;

	err = session_open(&r->session, &options);
	if (err < 0)
		return err;
	binary_store_init(&r->binaries, &r->session.pool);
	if (o->cache)
		open_cache(r);
	process_table_init(&r->table, &r->session.pool, &r->binaries, publish, &r->session);
	return sideband_new(n_cpus, &r->sideband);
}

/* All tables are in the kernel when this returns. */
static int add_targets(struct record *r)
{
	const struct record_options *o = r->options;
	uint64_t start = clock_now_ns();
	int err;

	r->binaries.interrupt = &r->interrupt;
	if (o->command) {
		prewarm_command(&r->binaries, o->command[0]);
		err = process_table_add_launched(&r->table, r->launch.pid);
	} else if (o->all) {
		err = target_add_all(&r->table);
	} else {
		err = target_add_pids(&r->table, o->pids, o->n_pids);
	}
	if (err == 0 && binary_store_is_cancelled(&r->binaries))
		err = -ECANCELED;
	r->binaries.interrupt = NULL; /* once samples arrive, they get their tables */
	if (err == 0)
		err = process_table_publish(&r->table, clock_now_ns());
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

static int watch(struct record *r, int fd, uint64_t tag)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = tag };

	return epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* What woke the loop: a target that ended is told by the number of its pidfd. */
enum wake {
	WAKE_INTERRUPT,
	WAKE_RECORDS,
	WAKE_TARGET,
};

static int watch_target(struct record *r, pid_t pid)
{
	int fd = pidfd_open(pid, 0);
	int err;

	if (fd < 0)
		return errno == ESRCH ? 0 : -errno;
	err = watch(r, fd, WAKE_TARGET + r->n_running);
	r->pidfds[r->n_running++] = fd;
	return err;
}

static int watch_all(struct record *r)
{
	const struct record_options *o = r->options;
	const int *fds;
	size_t n;
	int err;

	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	r->pidfds = calloc(o->n_pids + 1, sizeof(*r->pidfds));
	if (r->epoll_fd < 0 || !r->pidfds)
		return r->epoll_fd < 0 ? -errno : -ENOMEM;
	err = watch(r, r->interrupt.fd, WAKE_INTERRUPT);
	if (err == 0)
		err = watch(r, session_rings_fd(&r->session), WAKE_RECORDS);
	fds = sideband_fds(r->sideband, &n);
	for (size_t i = 0; err == 0 && i < n; i++)
		err = watch(r, fds[i], WAKE_RECORDS);
	if (err == 0 && o->command)
		err = watch_target(r, r->launch.pid);
	for (size_t i = 0; err == 0 && i < o->n_pids; i++)
		err = watch_target(r, o->pids[i]);
	return err;
}

static int start_sampling(struct record *r)
{
	const struct record_options *o = r->options;
	const char *event;
	int err;

	if (o->uprobe_path) {
		snprintf(r->event, sizeof(r->event), "uprobe:%s:%s", o->uprobe_path,
			 o->uprobe_symbol);
		err = session_sample_uprobe(&r->session, o->uprobe_path, o->uprobe_symbol);
		if (err == 0)
			log_info("sampling %s at each call of %s in %s", r->target,
				 o->uprobe_symbol, o->uprobe_path);
	} else {
		err = session_sample_cpus(&r->session, o->hz, &event);
		if (err == 0) {
			snprintf(r->event, sizeof(r->event), "%s", event);
			log_info("sampling %s at %u Hz by %s%s", r->target, o->hz, event,
				 strcmp(event, "cycles") == 0 ? "" :
								" (this machine counts no cycles)");
		}
	}
	r->started = clock_now_ns();
	return err;
}

static int open_report(struct record *r)
{
	const struct record_options *o = r->options;
	struct report_context context = {
		.target = r->target,
		.event = r->event,
		.hz = o->uprobe_path ? 0 : o->hz,
		.symbols = o->symbols,
	};
	int err;

	if (o->symbols && kallsyms_new("/proc/kallsyms", &r->kallsyms) == 0)
		context.kallsyms = r->kallsyms;
	err = report_new(o->format, &context, r->output.file, &r->report);
	if (err == 0)
		err = rescue_new(&r->session.pool, o->unwind, o->max_frames, &r->rescue);
	if (err == 0)
		err = drain_init(&r->drain, &r->session, r->sideband, &r->table, r->rescue,
				 r->report);
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
	uint64_t passed = clock_now_ns() - r->started;
	uint64_t left;

	if (drain_is_behind(&r->drain))
		return 0;
	if (r->options->duration_ns == 0)
		return DRAIN_EVERY_MS;
	if (passed >= r->options->duration_ns)
		return 0;
	left = (r->options->duration_ns - passed + 999999) / 1000000;
	return left < DRAIN_EVERY_MS ? (int)left : DRAIN_EVERY_MS;
}

static bool time_is_over(const struct record *r)
{
	return r->options->duration_ns > 0 &&
	       clock_now_ns() - r->started >= r->options->duration_ns;
}

/* Sample until the time is over, the user has enough, or all targets are gone. */
static int sample(struct record *r)
{
	/* The targets may all have ended while their tables were made. */
	while (!time_is_over(r) && (r->options->all || r->n_running > 0)) {
		struct epoll_event event;
		int n, err;

		n = epoll_wait(r->epoll_fd, &event, 1, time_to_wait(r));
		if (n < 0 && errno != EINTR)
			return -errno;
		err = drain_run(&r->drain, false);
		if (err < 0)
			return err;
		if (n > 0 && event.data.u64 == WAKE_INTERRUPT)
			return 0;
		if (n > 0 && event.data.u64 >= WAKE_TARGET) {
			int *fd = &r->pidfds[event.data.u64 - WAKE_TARGET];

			close(steal_fd(fd)); /* and so it is watched no more */
			if (--r->n_running == 0)
				return 0;
		}
		show_progress(r);
	}
	return 0;
}

static void print_totals(const struct record *r)
{
	const struct table_store *tables = &r->binaries.tables;
	const struct totals *t = &r->drain.totals;

	log_info("%" PRIu64 " samples in %.1f s, %" PRIu64 " lost, %" PRIu64 " of %" PRIu64
		 " with a user stack complete (%.1f %%)",
		 t->samples, (double)t->duration_ns / 1e9, t->lost, t->outcomes[DP_COMPLETE],
		 totals_with_user_stack(t), totals_complete(t));
	for (int i = DP_COMPLETE + 1; i < DP_N_OUTCOMES; i++)
		if (t->outcomes[i] > 0 && log_enabled(LOG_INFO))
			log_detail("%" PRIu64 " %s: %s", t->outcomes[i], outcome_word(i),
				   outcome_sentence(i));
	log_debug("table memory: %zu of %zu MiB in use; tables made %" PRIu64 " times, %" PRIu64
		  " freed, %" PRIu64 " evicted",
		  r->session.pool.n_segments * DP_SEGMENT_SIZE >> 20,
		  r->session.pool.max_segments * DP_SEGMENT_SIZE >> 20, tables->n_made,
		  tables->n_freed, tables->n_evicted);
	if (t->finished_late > 0)
		log_debug("%" PRIu64
			  " samples were walked in user space, before their tables were there",
			  t->finished_late);
}

/* Of those the losses are not known, either: there is nothing that could count them. */
static void warn_of_new_cpus(const struct record *r)
{
	char cpus[CPUS_LIST_SIZE];
	int cpu;

	cpus_read(cpus);
	cpu = cpus_find_new(cpus, r->cpus);
	if (cpu >= 0 && r->cpus[0] != '\0')
		log_warning("CPU %d came online while sampling: what ran there may be missing",
			    cpu);
}

static int finish(struct record *r)
{
	struct totals *t = &r->drain.totals;
	int err;

	t->duration_ns = clock_now_ns() - r->started;
	session_stop(&r->session);
	interrupt_writing(&r->interrupt);
	err = drain_run(&r->drain, true);
	log_progress_clear();
	warn_of_new_cpus(r);
	if (err == 0)
		err = report_finish(r->report, t);
	if (err == 0)
		print_totals(r);
	return err;
}

static int prepare(struct record *r)
{
	int err;

	err = interrupt_init(&r->interrupt);
	if (err == 0 && r->options->command)
		err = launch_start(r->options->command, &r->interrupt.old_mask, &r->launch);
	if (err == 0)
		interrupt_listen(&r->interrupt);
	if (err == 0)
		err = bus_guard_install();
	if (err < 0) {
		log_error("cannot start: %s", strerror(-err));
		return err;
	}
	raise_file_limit(); /* the command keeps the one it was given */
	err = open_output(r);
	if (err == 0)
		err = open_session(r);
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

	target_describe(o->pids, o->n_pids, o->command, r->target, sizeof(r->target));
	err = prepare(r);
	if (err == 0)
		err = start_sampling(r);
	if (err < 0)
		return err;
	if (o->command) {
		err = launch_go(&r->launch);
		if (err < 0) {
			log_error("cannot execute %s: %s", o->command[0], strerror(-err));
			return -ENOEXEC;
		}
	}
	err = output_begin(&r->output);
	if (err == 0)
		err = sample(r);
	if (err == 0)
		err = finish(r);
	if (err < 0 && !ferror(r->output.file))
		log_error("sampling failed: %s", strerror(-err));
	return err;
}

/* After run() with that error: say what could not be written, whichever step met it. */
static int close_output(struct record *r, int err)
{
	const char *name = r->output.path ? r->output.path : "the standard output";
	bool failed = r->output.file && ferror(r->output.file);
	int closed = output_close(&r->output);

	if (!failed && (err < 0 || closed == 0))
		return err;
	log_error("cannot write %s: %s", name, strerror(err < 0 ? -err : -closed));
	return -EIO;
}

static void record_done(struct record *r)
{
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	for (size_t i = 0; r->pidfds && i < r->options->n_pids + 1; i++)
		if (r->pidfds[i] > 0)
			close(r->pidfds[i]);
	free(r->pidfds);
	if (r->session.bpf) {
		session_stop(&r->session);
		drain_done(&r->drain);
		rescue_free(r->rescue);
		report_free(r->report);
		kallsyms_free(r->kallsyms);
		process_table_done(&r->table);
		if (r->binaries.cache)
			image_cache_close(&r->cache);
		binary_store_done(&r->binaries);
		sideband_free(r->sideband);
		session_close(&r->session);
	}
	interrupt_done(&r->interrupt);
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
			    .epoll_fd = -1,
			    .interrupt.fd = -1,
			    .launch = { .go = -1, .failed = -1 } };
	bool has_run;
	int err, code;

	err = close_output(&r, run(&r));
	has_run = options->command && r.launch.pid > 0 && r.launch.go < 0;
	code = exit_code(&r, err);
	if (err == 0 && code == EXIT_CODE_NO_SAMPLES && !has_run)
		log_error("no samples: the target did not run, or not long enough");
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
