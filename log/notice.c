// SPDX-License-Identifier: Apache-2.0
#include "log/notice.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/signals.h"
#include "log/log.h"

static void *notice_run(void *arg)
{
	const struct notice *n = arg;
	struct pollfd ended = { .fd = n->ended, .events = POLLIN };

	while (poll(&ended, 1, n->after_ms) == 0)
		if (!log_progress_is_shown()) {
			log_info("%s", n->text);
			break;
		}
	return NULL;
}

void notice_begin(struct notice *ret, int after_ms, const char *text)
{
	sigset_t old;

	*ret = (struct notice){ .text = text,
				.after_ms = after_ms,
				.ended = eventfd(0, EFD_CLOEXEC) };
	if (ret->ended < 0)
		return;
	signals_block(&old);
	ret->has_thread = pthread_create(&ret->thread, NULL, notice_run, ret) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret->has_thread)
		pthread_setname_np(ret->thread, "notice");
}

void notice_end(struct notice *n)
{
	if (n->ended < 0)
		return;
	(void)eventfd_write(n->ended, 1);
	if (n->has_thread)
		pthread_join(n->thread, NULL);
	close(n->ended);
}
