// SPDX-License-Identifier: Apache-2.0
/*
 * Which run the agent has begin and end, and when. The runs are these here, instead of agent/run.c's: a
 * script of orders says what becomes of them.
 */
#include "agent/agent.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "profiler/record.h"

#define RUNS_MAX 4
#define TURNS_MAX 8
#define TURN_S 4

struct run {
	enum run_state state;
	bool is_told, is_freed;
};

/* What happens, one a turn. */
struct step {
	enum agent_order order;
	size_t number; /* of the run whose state changes, */
	enum run_state state;
};

static struct run runs[RUNS_MAX];
static size_t n_runs;
static const struct step *next_step;

int run_new(const struct run_options *options, struct run **ret)
{
	cr_assert_lt(n_runs, RUNS_MAX);
	*ret = &runs[n_runs++];
	return 0;
}

enum run_state run_state(const struct run *r)
{
	return r->state;
}

int run_error(const struct run *r)
{
	return r->state == RUN_FAILED ? -EIO : 0;
}

struct run_figures run_figures(struct run *r)
{
	return (struct run_figures){ .is_on = r->state == RUN_SAMPLES };
}

void run_take_over(struct run *r, struct run *before)
{
	if (before)
		before->is_told = true;
}

void run_serve(struct run *r)
{
}

void run_end(struct run *r)
{
	r->is_told = true;
}

void run_hurry(struct run *r)
{
}

/* Waits for its end, which does not come unless it is told, or fails. */
struct run *run_free(struct run *r)
{
	if (!r)
		return NULL;
	cr_assert(r->is_told || r->state == RUN_FAILED, "run %zd never ends", r - runs);
	r->is_freed = true;
	return NULL;
}

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);

static time_t passed_s;
static int timeouts_ms[TURNS_MAX];
static size_t n_turns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int err = __real_clock_gettime(clock, ret);

	/* No time passes by itself. */
	if (clock == CLOCK_MONOTONIC)
		*ret = (struct timespec){ .tv_sec = 1000 + passed_s };
	return err;
}

/* An order comes each time. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	cr_assert_lt(n_turns, TURNS_MAX);
	timeouts_ms[n_turns++] = timeout_ms;
	passed_s += TURN_S;
	return __real_poll(fds, n, 0);
}

static enum agent_order obey(void *arg)
{
	const struct step *step = next_step++;

	runs[step->number].state = step->state;
	return step->order;
}

static int load(void *arg, const struct agent_options **ret)
{
	static const struct agent_options options = { .run.profiler.event.source = &event_cpu };

	*ret = &options;
	return 0;
}

static void drop(void *arg, const struct agent_options *options)
{
}

/* As long as the agent asks, there is an order: it waits for nothing. */
static int run_agent(const struct step *steps)
{
	const struct agent_control control = {
		.fd = eventfd(1, EFD_CLOEXEC), .order = obey, .load = load, .drop = drop
	};
	int code;

	cr_assert_geq(control.fd, 0);
	next_step = steps;
	code = agent_run(&control);
	close(control.fd);
	for (size_t i = 0; i < n_runs; i++)
		cr_assert(runs[i].is_freed, "run %zu is left", i);
	return code;
}

Test(agent, ends_when_it_is_told)
{
	const struct step steps[] = {
		{ AGENT_NONE, 0, RUN_SAMPLES },
		{ AGENT_END, 0, RUN_SAMPLES },
		{ AGENT_NONE, 0, RUN_ENDED },
	};

	cr_assert_eq(run_agent(steps), EXIT_CODE_OK);
	cr_assert_eq(n_runs, 1);
}

Test(agent, goes_on_with_the_next_run)
{
	const struct step steps[] = {
		{ AGENT_RELOAD, 0, RUN_SAMPLES }, { AGENT_NONE, 1, RUN_SAMPLES },
		{ AGENT_NONE, 0, RUN_ENDED },     { AGENT_END, 1, RUN_SAMPLES },
		{ AGENT_NONE, 1, RUN_ENDED },
	};

	cr_assert_eq(run_agent(steps), EXIT_CODE_OK);
	cr_assert_eq(n_runs, 2);
}

Test(agent, fails_while_the_next_run_begins)
{
	const struct step steps[] = {
		{ AGENT_NONE, 0, RUN_SAMPLES },
		{ AGENT_RELOAD, 0, RUN_SAMPLES },
		{ AGENT_NONE, 0, RUN_FAILED },
	};

	cr_assert_eq(run_agent(steps), EXIT_CODE_FAILED);
	cr_assert_eq(n_runs, 2);
}

/* It would have to be ended at once. */
Test(agent, begins_no_run_once_the_present_one_has_failed)
{
	const struct step steps[] = {
		{ AGENT_RELOAD, 0, RUN_SAMPLES }, /* the next one begins, */
		{ AGENT_NONE, 1, RUN_SAMPLES },   /* takes over, */
		{ AGENT_RELOAD, 1, RUN_SAMPLES }, /* and may be replaced when the first has ended */
		{ AGENT_NONE, 1, RUN_FAILED },    { AGENT_NONE, 0, RUN_ENDED },
	};

	cr_assert_eq(run_agent(steps), EXIT_CODE_FAILED);
	cr_assert_eq(n_runs, 2);
}

/* systemd waits for twice as long. */
Test(agent, looks_around_in_time_whatever_comes_between)
{
	static const int expected_ms[] = { 1, 10001, 6001, 2001, 10001, 6001 };
	const struct step steps[] = {
		{ AGENT_NONE, 0, RUN_SAMPLES }, { AGENT_NONE, 0, RUN_SAMPLES },
		{ AGENT_NONE, 0, RUN_SAMPLES }, { AGENT_NONE, 0, RUN_SAMPLES },
		{ AGENT_NONE, 0, RUN_SAMPLES }, { AGENT_NONE, 0, RUN_FAILED },
	};

	setenv("WATCHDOG_USEC", "20000000", true);
	cr_assert_eq(run_agent(steps), EXIT_CODE_FAILED);
	cr_assert_arr_eq(timeouts_ms, expected_ms, sizeof(expected_ms));
}
