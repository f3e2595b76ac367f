// SPDX-License-Identifier: Apache-2.0
#include "sandbox/fetchers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "log/clock.h"
#include "log/log.h"
#include "sandbox/message.h"
#include "sandbox/process_user.h"
#include "sandbox/starter.h"

/* Replies to so many requests fit into a socket, so a fetcher never waits for this process. */
#define MAX_PENDING 16
/* How long none is started after that has failed. */
#define RETRY_NS UINT64_C(2000000000)

/* A request, and whose memory is requested. */
struct pending {
	pid_t pid;
	uid_t user;
	bool counts; /* the pages are counted */
};

/* A fetcher that was given up. */
struct lost {
	uid_t user;    /* whose memory it did not get */
	uint64_t when; /* 0: there is none */
	int pidfd;     /* until it has ended, then -1 */
};

struct fetchers {
	struct parsers *parsers;
	struct spawned process;
	bool has_process, is_broken, has_warned;
	uint64_t next_start_ns; /* not before */
	pid_t last_pid;         /* and its user */
	uid_t last_user;
	struct pending pending[MAX_PENDING]; /* oldest first */
	size_t n_pending;
	struct patience patience; /* with the first of these */
	size_t n_touched;
	struct lost lost[FETCHERS_IN_ALL];
};

int fetchers_new(struct parsers *parsers, struct fetchers **ret)
{
	struct fetchers *f = calloc(1, sizeof(*f));

	*ret = f;
	if (!f)
		return -ENOMEM;
	f->parsers = parsers_hold(parsers);
	return 0;
}

static void end_process(struct fetchers *f)
{
	if (f->has_process)
		spawned_end(&f->process);
	f->has_process = false;
	f->n_pending = 0;
}

struct fetchers *fetchers_free(struct fetchers *f)
{
	if (!f)
		return NULL;
	end_process(f);
	for (size_t i = 0; i < ARRAY_SIZE(f->lost); i++)
		if (f->lost[i].when > 0 && f->lost[i].pidfd >= 0)
			close(f->lost[i].pidfd);
	parsers_drop(f->parsers);
	free(f);
	return NULL;
}

static bool has_ended(int pidfd)
{
	struct pollfd fd = { .fd = pidfd, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

static bool still_counts(struct lost *lost, uint64_t now)
{
	if (lost->when == 0)
		return false;
	if (lost->pidfd >= 0 && has_ended(lost->pidfd)) {
		close(lost->pidfd);
		lost->pidfd = -1;
	}
	if (lost->pidfd < 0 && now >= lost->when + FETCHERS_REFUSED_NS)
		lost->when = 0;
	return lost->when > 0;
}

/* Where to note one more, or NULL: this user is not served. */
static struct lost *find_room(struct fetchers *f, uid_t user)
{
	uint64_t now = clock_now_ns();
	struct lost *room = NULL;
	size_t n_of_user = 0;

	for (size_t i = 0; i < ARRAY_SIZE(f->lost); i++) {
		if (!still_counts(&f->lost[i], now))
			room = &f->lost[i];
		else
			n_of_user += f->lost[i].user == user;
	}
	return n_of_user < FETCHERS_PER_USER ? room : NULL;
}

static void give_up(struct fetchers *f)
{
	const struct pending *of = &f->pending[0];
	struct lost *lost = find_room(f, of->user);

	/* It had room when it was requested, but others may have been given up since. */
	if (lost)
		*lost = (struct lost){ of->user, clock_now_ns(),
				       fcntl(f->process.pidfd, F_DUPFD_CLOEXEC, 0) };
	if (!f->has_warned)
		log_warning(
			"memory of process %d cannot be read: its stacks, and those of others of "
			"its user, may be incomplete",
			of->pid);
	f->has_warned = true;
	end_process(f);
}

/* Until there is a reply. 0, -EAGAIN: not yet; -ETIME: not in time; or -ECONNABORTED. */
static int await_reply(struct fetchers *f, bool waits)
{
	struct pollfd fd = { .fd = f->process.socket, .events = POLLIN };
	int err = 0;

	while (poll(&fd, 1, waits ? PATIENCE_LOOK_MS : 0) <= 0) {
		err = patience_look(&f->patience, &f->process);
		if (err < 0)
			return err;
		if (!waits)
			return -EAGAIN;
	}
	return 0;
}

static int begin_to_wait(struct fetchers *f)
{
	return f->n_pending == 0 ? 0 :
				   patience_begin(&f->process, FETCHERS_TIME_NS, FETCHERS_TIME_NS,
						  true, &f->patience);
}

static int take_reply(struct fetchers *f, struct fetch_reply *ret)
{
	int fds[MESSAGE_MAX_FDS];
	int err = message_receive(f->process.socket, ret, sizeof(*ret), fds);

	for (size_t i = 0; err == 0 && i < MESSAGE_MAX_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (err < 0)
		return err;
	if (f->pending[0].counts && ret->n > 0)
		f->n_touched += (size_t)ret->n;
	memmove(f->pending, f->pending + 1, --f->n_pending * sizeof(*f->pending));
	return begin_to_wait(f);
}

/* The next reply. 0; -EAGAIN: there is none, or -ETIMEDOUT: there will be none. */
static int receive(struct fetchers *f, bool waits, struct fetch_reply *ret)
{
	int err = await_reply(f, waits);

	if (err == -EAGAIN)
		return err;
	if (err == -ETIME) {
		give_up(f);
		return -ETIMEDOUT;
	}
	if (err == 0)
		err = take_reply(f, ret);
	if (err == 0)
		return 0;
	end_process(f); /* somebody else did that */
	return -EAGAIN;
}

/* 0, -EAGAIN: there is none now; or -ESHUTDOWN: this process has to do it. */
static int start(struct fetchers *f)
{
	int err = -EAGAIN;

	if (f->has_process)
		return 0;
	if (f->is_broken)
		return -ESHUTDOWN;
	if (clock_now_ns() >= f->next_start_ns)
		err = starter_start(parsers_starter(f->parsers), SPAWNED_FETCHER, &f->process);
	f->has_process = err == 0;
	f->is_broken = err == -ESHUTDOWN;
	if (err == 0 || f->is_broken)
		return err;
	if (clock_now_ns() >= f->next_start_ns)
		f->next_start_ns = clock_now_ns() + RETRY_NS;
	return -EAGAIN;
}

static int find_user(struct fetchers *f, pid_t pid)
{
	int err = 0;

	if (f->last_pid != pid)
		err = process_user(pid, &f->last_user);
	f->last_pid = err == 0 ? pid : 0;
	return err;
}

/* Sends a request. 0, -ESHUTDOWN: this process has to do it; or an error of fetchers_read(). */
static int request(struct fetchers *f, const struct fetch_request *request, bool counts)
{
	int err = f->is_broken ? -ESHUTDOWN : find_user(f, request->pid);

	if (err == 0 && !find_room(f, f->last_user))
		err = -ETIMEDOUT;
	if (err == 0)
		err = start(f);
	if (err == 0 && f->n_pending == MAX_PENDING)
		return -EAGAIN;
	if (err < 0)
		return err;
	err = message_send(f->process.socket, request, sizeof(*request), NULL, 0);
	f->pending[f->n_pending++] = (struct pending){ request->pid, f->last_user, counts };
	if (err == 0 && f->n_pending == 1)
		err = begin_to_wait(f);
	if (err == 0)
		return 0;
	end_process(f);
	return -EAGAIN;
}

static size_t touch_here(const struct fetch_request *request)
{
	struct fetch_reply reply;

	fetch_here(request, &reply);
	return reply.n > 0 ? (size_t)reply.n : 0;
}

/* Takes the replies that there are. */
static void catch_up(struct fetchers *f)
{
	struct fetch_reply reply;

	while (f->n_pending > 0 && receive(f, false, &reply) == 0)
		continue;
}

/* The reply to the last request. */
static int receive_last(struct fetchers *f, struct fetch_reply *ret)
{
	int err;

	do
		err = receive(f, true, ret);
	while (err == 0 && f->n_pending > 0);
	return err;
}

int fetchers_read(struct fetchers *f, pid_t pid, uint64_t address, void *ret, size_t size)
{
	const struct fetch_request wanted = { FETCH_READ, pid, address, (uint32_t)size };
	struct fetch_reply reply;
	int err = -ESHUTDOWN;

	if (f) {
		catch_up(f);
		err = request(f, &wanted, false);
		if (err == 0)
			err = receive_last(f, &reply);
	}
	if (err == -ESHUTDOWN) {
		fetch_here(&wanted, &reply);
		err = 0;
	}
	if (err == 0 && reply.n < 0)
		err = reply.n;
	if (err == 0 && reply.n != (int32_t)size)
		err = -EFAULT;
	if (err == 0)
		memcpy(ret, reply.bytes, size);
	return err;
}

size_t fetchers_touch(struct fetchers *f, pid_t pid, uint64_t page, size_t n_pages)
{
	const struct fetch_request wanted = { FETCH_TOUCH, pid, page, (uint32_t)n_pages };
	int err = -ESHUTDOWN;
	size_t n = 0;

	if (f) {
		catch_up(f);
		err = request(f, &wanted, true);
		n = f->n_touched;
		f->n_touched = 0;
	}
	return err == -ESHUTDOWN ? touch_here(&wanted) : n;
}

void fetchers_bring(struct fetchers *f, pid_t pid, uint64_t address)
{
	const struct fetch_request wanted = { FETCH_TOUCH, pid, address, 1 };
	struct fetch_reply reply;
	int err = -ESHUTDOWN;

	if (f) {
		catch_up(f);
		if (f->n_pending == MAX_PENDING)
			(void)receive(f, true, &reply);
		err = request(f, &wanted, false);
	}
	if (err == -ESHUTDOWN)
		(void)touch_here(&wanted);
}
