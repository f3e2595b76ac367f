// SPDX-License-Identifier: Apache-2.0
/*
 * What becomes of a run's intervals. Its profiler is this one, instead of profiler/'s: it samples nothing,
 * and gives back a report that was replaced when the test says so.
 */
#include "agent/run.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/store.h"
#include "log/clock.h"
#include "loop/loop.h"
#include "profiler/profiler.h"

struct profiler {
	struct loop loop;
	struct names *names;
	uint64_t started_ns;
	struct totals totals;
	unsigned int n_turns;
	report_taken_fn taken; /* the last replacement's */
	void *arg;
	struct report *report, *replaced;
};

static struct profiler profiler;
/* What a turn returns; the first has number 1. */
static int (*turn)(unsigned int number);

int profiler_open(const struct profiler_options *options, struct profiler **ret)
{
	*ret = &profiler;
	profiler.names = options->names;
	return loop_init(&profiler.loop);
}

int profiler_attach(struct profiler *p, pid_t launched)
{
	return 0;
}

void profiler_describe(struct profiler *p, struct report_context *ret)
{
	*ret = (struct report_context){
		.target = "",
		.event = "",
		.command = "",
		.host = "",
		.kernel = "",
		.hz = 19,
		.events = EVENT_BIT(DP_EVENT_CPU),
		.names = p->names,
	};
}

struct parsers *profiler_parsers(struct profiler *p)
{
	return NULL;
}

struct loop *profiler_loop(struct profiler *p)
{
	return &p->loop;
}

int profiler_start(struct profiler *p, struct report **reports, size_t n, bool names)
{
	p->report = reports[0];
	p->started_ns = clock_now_ns();
	return 0;
}

/* It is later than until_ns soon enough. */
int profiler_run(struct profiler *p, uint64_t until_ns)
{
	return turn(++p->n_turns);
}

int profiler_take(struct profiler *p, size_t i, struct report *report, report_taken_fn fn,
		  void *arg, uint64_t *ret_ns)
{
	cr_assert_eq(i, 0);
	p->replaced = p->report;
	p->report = report;
	p->taken = fn;
	p->arg = arg;
	*ret_ns = clock_now_ns();
	return 0;
}

struct totals profiler_totals_of(const struct profiler *p, size_t i)
{
	return p->totals;
}

uint64_t profiler_started(const struct profiler *p)
{
	return p->started_ns;
}

const struct totals *profiler_totals(const struct profiler *p)
{
	return &p->totals;
}

struct profiler_usage profiler_usage(const struct profiler *p)
{
	return (struct profiler_usage){ 0 };
}

void profiler_stop(struct profiler *p)
{
}

int profiler_finish(struct profiler *p)
{
	return 0;
}

struct profiler *profiler_free(struct profiler *p)
{
	if (p)
		loop_done(&p->loop);
	return NULL;
}

static char path[] = "/tmp/run.XXXXXX";
static struct store *store;
static struct interval_output output;
static struct interval_counts counts;
static struct run_options options;

static int remove_one(const char *name, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(name);
}

static void set_up(void)
{
	cr_assert(mkdtemp(path));
	cr_assert_eq(store_open(path, &(struct store_limits){ 0 }, &store), 0);
	output.store = store;
	options = (struct run_options){
		.names = { .none = true, .no_debuginfod = true },
		.command_line = "",
		.tracks[0] = { &output, 1, 1000000, false },
		.counts = &counts,
		.event_fd = eventfd(0, EFD_CLOEXEC),
	};
	cr_assert_geq(options.event_fd, 0);
}

static void tear_down(void)
{
	store_close(store);
	close(options.event_fd);
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(run, .init = set_up, .fini = tear_down, .timeout = 60);

static size_t count_files(void)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t n = 0;

	cr_assert(dir);
	while ((entry = readdir(dir)))
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(dir);
	return n;
}

static struct run *begin(int (*a_turn)(unsigned int number))
{
	struct run *run;

	turn = a_turn;
	cr_assert_eq(run_new(&options, &run), 0);
	run_take_over(run, NULL);
	return run;
}

static enum run_state await_end(struct run *run)
{
	struct pollfd fd = { .fd = options.event_fd, .events = POLLIN };
	uint64_t count;

	while (run_state(run) == RUN_OPENS || run_state(run) == RUN_SAMPLES) {
		cr_assert_eq(poll(&fd, 1, -1), 1);
		(void)!read(fd.fd, &count, sizeof(count));
	}
	return run_state(run);
}

/* Until an interval is over; it is not given back. */
static int fail_with_an_interval(unsigned int number)
{
	return profiler.replaced ? -EIO : 0;
}

static int give_it_back(unsigned int number)
{
	if (!profiler.replaced)
		return 0;
	return profiler.taken(profiler.arg, profiler.replaced, &profiler.totals) < 0 ? -EBADF :
										       -EIO;
}

Test(run, leaves_nothing_of_an_interval_that_was_not_written)
{
	struct run *run = begin(fail_with_an_interval);

	cr_assert_eq(await_end(run), RUN_FAILED);
	cr_assert_eq(run_error(run), -EIO);
	run_free(run);
	cr_assert(profiler.replaced);
	cr_assert_eq(counts.written, 0);
	cr_assert_eq(count_files(), 0);
}

Test(run, keeps_what_was_written_before_it_failed)
{
	struct run *run = begin(give_it_back);

	cr_assert_eq(await_end(run), RUN_FAILED);
	run_free(run);
	cr_assert_eq(counts.written, 1);
	cr_assert_eq(count_files(), 1);
}
