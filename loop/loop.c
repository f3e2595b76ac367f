// SPDX-License-Identifier: Apache-2.0
#include "loop/loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

#define SECOND_NS UINT64_C(1000000000)

/* Events per epoll_wait(). Further descriptors stay ready for the next call. */
#define AT_ONCE 16

/* See loop_go_first(). */
#define READER_NICE (-10)

struct loop_source {
	bool is_watched;
	loop_fn fn;
	void *arg;
};

int loop_init(struct loop *ret)
{
	*ret = (struct loop){ .fd = epoll_create1(EPOLL_CLOEXEC) };
	return ret->fd < 0 ? -errno : 0;
}

void loop_done(struct loop *loop)
{
	if (loop->fd >= 0)
		close(loop->fd);
	free(loop->sources);
	*loop = LOOP_NONE;
}

static int make_room(struct loop *loop, size_t n)
{
	struct loop_source *more;

	if (n <= loop->n_sources)
		return 0;
	more = reallocarray(loop->sources, n, sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(&more[loop->n_sources], 0, (n - loop->n_sources) * sizeof(*more));
	loop->sources = more;
	loop->n_sources = n;
	return 0;
}

int loop_add(struct loop *loop, int fd, loop_fn fn, void *arg)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (fd < 0)
		return -EBADF;
	if (make_room(loop, (size_t)fd + 1) < 0)
		return -ENOMEM;
	if (epoll_ctl(loop->fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	loop->sources[fd] = (struct loop_source){ true, fn, arg };
	return 0;
}

int loop_turn(struct loop *loop, int fd, bool to_write)
{
	struct epoll_event event = { .events = to_write ? EPOLLOUT : EPOLLIN, .data.fd = fd };

	return epoll_ctl(loop->fd, EPOLL_CTL_MOD, fd, &event) < 0 ? -errno : 0;
}

void loop_remove(struct loop *loop, int fd)
{
	if (fd < 0 || (size_t)fd >= loop->n_sources || !loop->sources[fd].is_watched)
		return;
	epoll_ctl(loop->fd, EPOLL_CTL_DEL, fd, NULL);
	loop->sources[fd] = (struct loop_source){ false, NULL, NULL };
}

int loop_run(struct loop *loop, int timeout_ms)
{
	struct epoll_event events[AT_ONCE];
	int n = epoll_wait(loop->fd, events, AT_ONCE, timeout_ms);
	int err = 0;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	loop->n_events += (unsigned int)n;
	for (int i = 0; err == 0 && i < n; i++) {
		/* An earlier callback may have removed the source, or moved the table. */
		struct loop_source source = loop->sources[events[i].data.fd];

		if (source.is_watched && source.fn)
			err = source.fn(source.arg, events[i].data.fd);
	}
	return err;
}

int loop_run_with(struct loop *loop, int fd, uint64_t timeout_ns)
{
	struct pollfd fds[] = { { .fd = loop->fd, .events = POLLIN },
				{ .fd = fd, .events = POLLIN } };
	const struct timespec timeout = { .tv_sec = (time_t)(timeout_ns / SECOND_NS),
					  .tv_nsec = (long)(timeout_ns % SECOND_NS) };
	int n = ppoll(fds, ARRAY_SIZE(fds), &timeout, NULL);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return fds[0].revents ? loop_run(loop, 0) : 0;
}

int loop_go_first(void)
{
	return setpriority(PRIO_PROCESS, (id_t)gettid(), READER_NICE) < 0 ? -errno : 0;
}
