// SPDX-License-Identifier: Apache-2.0
/* The event loop: order, removal during a round, errors. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "loop/loop.h"

/* Readable descriptors, and how often each was reported. */
struct world {
	struct loop loop;
	int fds[40];
	int n_told[40];
	int result;    /* returned by the callbacks */
	int to_remove; /* by the next callback; -1: none */
	int to_add;    /* -1: none */
};

static int on_readable(void *arg, int fd)
{
	struct world *w = arg;

	for (size_t i = 0; i < 40; i++)
		w->n_told[i] += w->fds[i] == fd;
	if (w->to_remove >= 0)
		loop_remove(&w->loop, w->to_remove);
	if (w->to_add >= 0 && loop_add(&w->loop, w->to_add, on_readable, w) == 0)
		w->to_add = -1;
	return w->result;
}

static void world_init(struct world *w, size_t n, unsigned int value)
{
	*w = (struct world){ .to_remove = -1, .to_add = -1 };
	cr_assert(loop_init(&w->loop) == 0);
	for (size_t i = 0; i < 40; i++) {
		w->fds[i] = eventfd(value, EFD_CLOEXEC);
		cr_assert(w->fds[i] >= 0);
		if (i < n)
			cr_assert(loop_add(&w->loop, w->fds[i], on_readable, w) == 0);
	}
}

static void world_done(struct world *w)
{
	loop_done(&w->loop);
	loop_done(&w->loop);
	for (size_t i = 0; i < 40; i++)
		close(w->fds[i]);
}

static int n_told(const struct world *w)
{
	int n = 0;

	for (size_t i = 0; i < 40; i++)
		n += w->n_told[i];
	return n;
}

Test(loop, calls_only_the_function_of_what_can_be_read)
{
	struct world w;

	world_init(&w, 3, 0);
	cr_assert(loop_run(&w.loop, 0) == 0 && n_told(&w) == 0);
	eventfd_write(w.fds[1], 1);
	cr_assert(loop_run(&w.loop, 10000) == 0);
	cr_assert(w.n_told[1] == 1 && n_told(&w) == 1);
	/* A descriptor is reported again until it is read. */
	cr_assert(loop_run(&w.loop, 10000) == 0 && w.n_told[1] == 2);
	world_done(&w);
}

/* What is not the loop's ends the wait if it is asked for, and calls nothing. */
Test(loop, waits_with_another_descriptor)
{
	const uint64_t long_ns = UINT64_C(60000000000);
	struct world w;

	world_init(&w, 1, 0);
	eventfd_write(w.fds[1], 1);
	cr_assert_eq(loop_run_with(&w.loop, w.fds[1], long_ns), 0);
	cr_assert_eq(n_told(&w), 0);
	cr_assert_eq(loop_run_with(&w.loop, -1, 1), 0);
	eventfd_write(w.fds[0], 1);
	cr_assert_eq(loop_run_with(&w.loop, -1, long_ns), 0);
	cr_assert(w.n_told[0] == 1 && n_told(&w) == 1);
	cr_assert_eq(loop_run_with(&w.loop, w.fds[1], 0), 0);
	cr_assert_eq(w.n_told[0], 2);
	world_done(&w);
}

Test(loop, gets_round_to_each_of_many)
{
	struct world w;

	world_init(&w, 40, 1);
	for (int i = 0; i < 6; i++)
		cr_assert(loop_run(&w.loop, 0) == 0);
	for (size_t i = 0; i < 40; i++)
		cr_assert(w.n_told[i] >= 1, "%zu", i);
	world_done(&w);
}

Test(loop, says_nothing_of_what_was_removed_meanwhile)
{
	struct world w;

	world_init(&w, 2, 1);
	/* Whichever comes first removes the other one, which is ready in the same round. */
	w.to_remove = w.fds[1];
	cr_assert(loop_run(&w.loop, 0) == 0);
	cr_assert(w.n_told[0] == 1 && w.n_told[1] <= 1);
	w.n_told[1] = 0;
	cr_assert(loop_run(&w.loop, 0) == 0 && w.n_told[0] == 2 && w.n_told[1] == 0);
	loop_remove(&w.loop, w.fds[1]);
	loop_remove(&w.loop, w.fds[39]);
	loop_remove(&w.loop, -1);
	cr_assert(loop_add(&w.loop, w.fds[1], on_readable, &w) == 0);
	world_done(&w);
}

Test(loop, takes_more_from_a_function)
{
	struct world w;

	world_init(&w, 2, 1);
	w.to_add = w.fds[39];
	cr_assert(loop_run(&w.loop, 0) == 0 && loop_run(&w.loop, 0) == 0);
	cr_assert(w.n_told[0] >= 1 && w.n_told[1] >= 1 && w.n_told[39] == 1);
	world_done(&w);
}

Test(loop, returns_the_first_error)
{
	struct world w;

	world_init(&w, 2, 1);
	w.result = -EIO;
	cr_assert(loop_run(&w.loop, 0) == -EIO && n_told(&w) == 1);
	world_done(&w);
}

Test(loop, only_wakes_without_a_function)
{
	struct world w;

	world_init(&w, 0, 1);
	cr_assert(loop_add(&w.loop, w.fds[0], NULL, NULL) == 0);
	/* Would never return otherwise. */
	cr_assert(loop_run(&w.loop, -1) == 0 && n_told(&w) == 0);
	world_done(&w);
}

static volatile sig_atomic_t n_signals;

static void on_signal(int number)
{
	n_signals = n_signals + 1;
}

/* A signal, as when a window changes its size, is not an error. */
Test(loop, is_woken_by_a_signal)
{
	/* Repeats, because the first one may come before the loop waits. */
	const struct itimerval often = { { 0, 10000 }, { 0, 10000 } };
	struct world w;

	world_init(&w, 1, 0);
	signal(SIGALRM, on_signal);
	cr_assert(setitimer(ITIMER_REAL, &often, NULL) == 0);
	cr_assert(loop_run(&w.loop, -1) == 0);
	cr_assert(n_signals > 0 && n_told(&w) == 0);
	world_done(&w);
}

Test(loop, refuses_what_cannot_be_waited_for)
{
	struct loop none = LOOP_NONE;
	struct world w;

	world_init(&w, 1, 0);
	cr_assert(loop_add(&w.loop, -1, NULL, NULL) == -EBADF);
	cr_assert(loop_add(&w.loop, w.fds[0], NULL, NULL) == -EEXIST);
	close(w.fds[39]);
	cr_assert(loop_add(&w.loop, w.fds[39], NULL, NULL) == -EBADF);
	world_done(&w);
	cr_assert(loop_run(&none, 0) == -EBADF);
	loop_done(&none);
}

Test(loop, calls_when_something_can_be_written)
{
	struct world w;

	world_init(&w, 1, 0);
	cr_assert(loop_run(&w.loop, 0) == 0 && w.n_told[0] == 0);
	cr_assert_eq(loop_turn(&w.loop, w.fds[0], true), 0);
	cr_assert(loop_run(&w.loop, 0) == 0 && w.n_told[0] == 1);
	cr_assert_eq(loop_turn(&w.loop, w.fds[0], false), 0);
	cr_assert(loop_run(&w.loop, 0) == 0 && w.n_told[0] == 1);
	cr_assert_eq(loop_turn(&w.loop, w.fds[1], true), -ENOENT);
	world_done(&w);
}
