// SPDX-License-Identifier: Apache-2.0
#include "interrupt.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "names.h"

static void signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
}

int interrupt_init(struct interrupt *ret)
{
	sigset_t set;

	signals(&set);
	if (sigprocmask(SIG_BLOCK, &set, &ret->old_mask) < 0)
		return -errno;
	ret->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (ret->fd < 0) {
		int err = -errno;

		sigprocmask(SIG_SETMASK, &ret->old_mask, NULL);
		return err;
	}
	return 0;
}

static void leave_names_out(int signal)
{
	names_disable();
}

void interrupt_writing(struct interrupt *interrupt)
{
	/* Once: the one after that has its default action. */
	struct sigaction action = { .sa_handler = leave_names_out,
				    .sa_flags = SA_RESETHAND | SA_RESTART };
	struct signalfd_siginfo first;
	sigset_t set;

	/* Take the signal that ended sampling off the queue. */
	while (read(interrupt->fd, &first, sizeof(first)) > 0)
		;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signals(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

bool interrupt_arrived(const struct interrupt *interrupt)
{
	struct pollfd queue = { .fd = interrupt->fd, .events = POLLIN };

	return poll(&queue, 1, 0) > 0;
}

void interrupt_done(struct interrupt *interrupt)
{
	if (interrupt->fd >= 0)
		close(interrupt->fd);
	interrupt->fd = -1;
}
