// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "log/clock.h"
#include "symbols/names.h"

/* Signals within this time count as one: nobody presses a key that fast on purpose. */
#define TOGETHER_NS UINT64_C(100000000)

/* State of the handler, which has no access to struct interrupt. */
static volatile sig_atomic_t wake_fd = -1;
static struct names *_Atomic wanted; /* NULL after interrupt_done() */
static int count;
static uint64_t last_ns;

static void signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
}

static void on_stage(void *arg, enum record_stage stage)
{
	switch (stage) {
	case RECORD_LAUNCHED:
		interrupt_listen();
		break;
	case RECORD_WRITING:
		interrupt_writing();
		break;
	}
}

int interrupt_init(struct interrupt *ret, struct names *names)
{
	sigset_t set;

	ret->end = (struct record_end){ .fd = -1, .mask = &ret->old_mask, .tell = on_stage };
	signals(&set);
	if (sigprocmask(SIG_BLOCK, &set, &ret->old_mask) < 0)
		return -errno;
	ret->end.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ret->end.fd < 0) {
		int err = -errno;

		sigprocmask(SIG_SETMASK, &ret->old_mask, NULL);
		return err;
	}
	wake_fd = ret->end.fd;
	wanted = names;
	count = 0;
	last_ns = 0;
	return 0;
}

/* Runs with both signals blocked, and calls only async-signal-safe functions. */
static void on_signal(int signal_number)
{
	struct names *names = wanted;
	int saved_errno = errno;
	uint64_t now = clock_now_ns();
	uint64_t before = __atomic_exchange_n(&last_ns, now, __ATOMIC_RELAXED);

	if (before != 0 && now - before < TOGETHER_NS)
		return;
	switch (__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED)) {
	case 1:
		/* If this fails, the descriptor is readable already. */
		(void)!write(wake_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
		break;
	case 2:
		if (names)
			names_disable(names);
		break;
	default:
		signal(signal_number, SIG_DFL);
		raise(signal_number); /* delivered when the handler returns */
	}
	errno = saved_errno;
}

void interrupt_listen(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	signals(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigprocmask(SIG_UNBLOCK, &action.sa_mask, NULL);
}

void interrupt_writing(void)
{
	int none = 0;

	__atomic_compare_exchange_n(&count, &none, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void interrupt_done(struct interrupt *interrupt)
{
	wake_fd = -1;
	wanted = NULL;
	if (interrupt->end.fd >= 0)
		close(interrupt->end.fd);
	interrupt->end.fd = -1;
}
