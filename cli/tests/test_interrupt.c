// SPDX-License-Identifier: Apache-2.0
/* Effects of the first, second and third signal; signals in quick succession count as one. */
#include "cli/interrupt.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "symbols/tests/some_names.h"

static struct interrupt interrupt;

static void begin(void)
{
	cr_assert_eq(interrupt_init(&interrupt, some_names()), 0);
}

static void end(void)
{
	interrupt_done(&interrupt);
}

TestSuite(interrupt, .init = begin, .fini = end);

static bool is_readable(void)
{
	struct pollfd poll_fd = { .fd = interrupt.end.fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

/* Longer than the 100 ms within which signals count as one. */
static void wait_a_bit(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 150000000 }, NULL);
}

Test(interrupt, is_held_back_until_someone_listens)
{
	cr_assert_geq(interrupt.end.fd, 0);
	raise(SIGTERM);
	cr_assert(!is_readable());
	interrupt_listen();
	cr_assert(is_readable());
	cr_assert(!names_disabled(some_names()));
}

Test(interrupt, counts_signals_that_come_together_as_one)
{
	sigset_t set;

	interrupt_listen();
	cr_assert(!is_readable());
	/* timeout(1) signals the program and its group. Both are delivered, one after the other. */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGTERM);
	raise(SIGINT);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	cr_assert(is_readable());
	cr_assert(!names_disabled(some_names()));
	wait_a_bit();
	raise(SIGINT);
	cr_assert(names_disabled(some_names()));
}

/* The result is being written: one more signal ends that at once. */
Test(interrupt, leaves_names_out_when_sampling_is_over)
{
	interrupt_listen();
	interrupt_writing();
	raise(SIGINT);
	cr_assert(names_disabled(some_names()));
	cr_assert(!is_readable());
}

Test(interrupt, ends_the_program_by_the_third, .signal = SIGINT)
{
	interrupt_listen();
	for (int i = 0; i < 3; i++) {
		raise(SIGINT);
		wait_a_bit();
	}
}

/* The names may have been freed. */
Test(interrupt, leaves_names_alone_when_the_run_is_over)
{
	interrupt_listen();
	interrupt_done(&interrupt);
	for (int i = 0; i < 2; i++) {
		raise(SIGINT);
		wait_a_bit();
	}
	cr_assert(!names_disabled(some_names()));
}
