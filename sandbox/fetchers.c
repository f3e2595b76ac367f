// SPDX-License-Identifier: Apache-2.0
#include "sandbox/fetchers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "sandbox/fetch_shares.h"
#include "sandbox/message.h"
#include "sandbox/process_user.h"
#include "sandbox/starter.h"

/* Replies to so many requests fit into a socket, so a fetcher never waits for this process. */
#define MAX_PENDING 16
/* How long none is started after that has failed. */
#define RETRY_NS UINT64_C(2000000000)
/* Samples wait, so one that somebody has stopped is replaced as soon as it is looked at. */
#define LOOK_NS UINT64_C(10000000)
/* A process may get another user, or its number another process. */
#define USER_KNOWN_NS UINT64_C(50000000)

/* A request, and whose memory is requested. */
struct pending {
	pid_t pid;
	uid_t user;
	bool counts; /* the pages are counted */
};

struct fetchers {
	struct parsers *parsers;
	struct spawned process;
	bool has_process, has_started, is_broken, has_warned;
	int starting;           /* the socket of one that has said nothing yet, or -1 */
	uint64_t started_ns;    /* when that was */
	uint64_t next_start_ns; /* not before */
	pid_t last_pid;         /* and its user at that time */
	uid_t last_user;
	uint64_t last_ns;
	struct pending pending[MAX_PENDING]; /* oldest first */
	size_t n_pending;
	struct patience patience; /* with the first of these */
	size_t n_touched;
	struct fetch_shares shares;
	bool is_patient;
};

int fetchers_new(struct parsers *parsers, struct fetchers **ret)
{
	struct fetchers *f = calloc(1, sizeof(*f));

	*ret = f;
	if (!f)
		return -ENOMEM;
	f->parsers = parsers_hold(parsers);
	f->starting = -1;
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
	if (f->starting >= 0)
		close(f->starting);
	fetch_shares_done(&f->shares);
	parsers_drop(f->parsers);
	free(f);
	return NULL;
}

static void give_up(struct fetchers *f)
{
	const struct pending *of = &f->pending[0];
	const struct fetch_payer payer = { .user = of->user };

	if (!f->has_warned)
		log_warning(
			"memory of process %d cannot be read: its stacks, and those of others of "
			"its user, may be incomplete",
			of->pid);
	f->has_warned = true;
	spawned_kill(&f->process);
	fetch_shares_lose(&f->shares, &payer, clock_now_ns(), f->process.pidfd);
	f->has_process = false;
	f->n_pending = 0;
}

/* Until there is a reply. 0, -EAGAIN: not yet; -ETIME: not in time; or -ECONNABORTED. */
static int await_reply(struct fetchers *f, bool waits)
{
	struct pollfd fd = { .fd = f->process.socket, .events = POLLIN };
	int err = 0;

	while (err == 0 && poll(&fd, 1, waits ? LOOK_NS / 1000000 : 0) <= 0) {
		err = patience_look(&f->patience, &f->process);
		if (err == 0 && !waits)
			err = -EAGAIN;
	}
	/* It may have answered, and slept since, while this process was not running. */
	return err == -ETIME && poll(&fd, 1, 0) > 0 ? 0 : err;
}

static int begin_to_wait(struct fetchers *f)
{
	int err = f->n_pending == 0 ? 0 :
				      patience_begin(&f->process, FETCHERS_TIME_NS, LOOK_NS, true,
						     &f->patience);

	f->patience.look_ns = LOOK_NS;
	return err;
}

static int take_reply(struct fetchers *f, struct fetch_reply *ret)
{
	int fds[MESSAGE_MAX_FDS];
	int err = message_receive(f->process.socket, ret, sizeof(*ret), fds);

	if (err < 0)
		return err;
	message_close(fds);
	if (f->pending[0].counts && ret->n > 0)
		f->n_touched += (size_t)ret->n;
	memmove(f->pending, f->pending + 1, --f->n_pending * sizeof(*f->pending));
	return begin_to_wait(f);
}

/* The next reply. 0; -EAGAIN: there is none, or -ETIMEDOUT: there will be none. */
static int receive(struct fetchers *f, bool waits, struct fetch_reply *ret)
{
	uid_t user = f->pending[0].user;
	int err = await_reply(f, waits);

	if (err == -EAGAIN)
		return err;
	if (err == -ETIME) {
		give_up(f);
		return -ETIMEDOUT;
	}
	if (err == 0)
		err = take_reply(f, ret);
	if (err < 0) {
		end_process(f); /* somebody else did that */
		return -EAGAIN;
	}
	if (waits && !f->is_patient && ret->slept_ns > 0)
		fetch_shares_charge(&f->shares, user, clock_now_ns(), ret->slept_ns);
	return 0;
}

static bool is_readable(int socket, uint64_t patience_ns)
{
	struct pollfd fd = { .fd = socket, .events = POLLIN };

	return poll(&fd, 1, (int)(patience_ns / 1000000)) > 0;
}

/* Samples wait meanwhile, so it is looked at later if it is not there at once. */
static int start_again(struct fetchers *f)
{
	uint64_t now = clock_now_ns(), patience = f->is_patient ? FETCHERS_START_NS : 0;

	if (f->starting < 0) {
		if (now < f->next_start_ns)
			return -EAGAIN;
		f->next_start_ns = now + RETRY_NS;
		if (starter_begin(parsers_starter(f->parsers), SPAWNED_FETCHER, &f->starting) < 0)
			return -EAGAIN;
		f->next_start_ns = 0;
		f->started_ns = now;
		patience = f->is_patient ? FETCHERS_START_NS : LOOK_NS;
	}
	if (is_readable(f->starting, patience))
		return starter_finish(parsers_starter(f->parsers), SPAWNED_FETCHER,
				      steal_fd(&f->starting), &f->process);
	if (now > f->started_ns + FETCHERS_START_NS)
		close(steal_fd(&f->starting));
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
	if (f->has_started)
		err = start_again(f);
	else if (clock_now_ns() >= f->next_start_ns)
		err = starter_start(parsers_starter(f->parsers), SPAWNED_FETCHER, &f->process);
	f->is_broken = err == -ESHUTDOWN;
	if (err == 0) {
		f->has_process = f->has_started = true;
		(void)fcntl(f->process.socket, F_SETFL,
			    O_NONBLOCK); /* what does not fit is dropped */
	} else if (!f->has_started) {
		f->next_start_ns = clock_now_ns() + RETRY_NS;
	}
	return err;
}

/* As it is, or was very recently: a dump asks a thousand times. -ESRCH: there is none to blame. */
static int find_user(struct fetchers *f, pid_t pid)
{
	uint64_t now = clock_now_ns();

	if (f->last_pid == pid && now < f->last_ns + USER_KNOWN_NS)
		return 0;
	f->last_pid = 0;
	if (process_user(pid, &f->last_user) < 0)
		return -ESRCH;
	f->last_pid = pid;
	f->last_ns = now;
	return 0;
}

/* Sends a request. 0, -ESHUTDOWN: this process has to do it; or an error of fetchers_read(). */
static int request(struct fetchers *f, const struct fetch_request *request, bool counts)
{
	int err = f->is_broken ? -ESHUTDOWN : find_user(f, request->pid);

	if (err == 0 && !fetch_shares_allow(&f->shares, f->last_user, clock_now_ns()))
		err = -ETIMEDOUT;
	if (err == 0)
		err = start(f);
	if (err == 0 && f->n_pending == MAX_PENDING)
		return -EAGAIN;
	if (err < 0)
		return err;
	err = message_send(f->process.socket, request, sizeof(*request), NULL, 0);
	if (err == -EAGAIN)
		return err;
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

/* The reply to the last request. Those before it may be for others' slow memory. */
static int receive_last(struct fetchers *f, struct fetch_reply *ret)
{
	uint64_t until = clock_now_ns() + FETCHERS_TIME_NS;
	int err;

	do
		err = receive(f, true, ret);
	while (err == 0 && f->n_pending > 0 && (f->is_patient || clock_now_ns() < until));
	return err == 0 && f->n_pending > 0 ? -EAGAIN : err;
}

static void make_room(struct fetchers *f)
{
	struct fetch_reply reply;

	catch_up(f);
	if (f->n_pending == MAX_PENDING)
		(void)receive(f, true, &reply);
}

void fetchers_be_patient(struct fetchers *f)
{
	if (f)
		f->is_patient = true;
}

/* It may be ended by others: then the next one is asked. */
static int request_again(struct fetchers *f, const struct fetch_request *wanted)
{
	int err;

	make_room(f);
	err = request(f, wanted, false);
	return err == -EAGAIN && !f->has_process ? request(f, wanted, false) : err;
}

static int read_there(struct fetchers *f, const struct fetch_request *wanted,
		      struct fetch_reply *ret)
{
	int err = request_again(f, wanted);

	if (err == 0)
		err = receive_last(f, ret);
	if (err == -EAGAIN && !f->has_process)
		err = request(f, wanted, false) ?: receive_last(f, ret);
	return err;
}

int fetchers_read(struct fetchers *f, pid_t pid, uint64_t address, void *ret, size_t size)
{
	const struct fetch_request wanted = { FETCH_READ, pid, address, (uint32_t)size };
	struct fetch_reply reply;
	int err = f ? read_there(f, &wanted, &reply) : -ESHUTDOWN;

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

size_t fetchers_touched(struct fetchers *f)
{
	size_t n = 0;

	if (f) {
		catch_up(f);
		n = f->n_touched;
		f->n_touched = 0;
	}
	return n;
}

size_t fetchers_touch(struct fetchers *f, pid_t pid, uint64_t page, size_t n_pages)
{
	const struct fetch_request wanted = { FETCH_TOUCH, pid, page, (uint32_t)n_pages };
	size_t n = fetchers_touched(f);

	if (!f || request(f, &wanted, true) == -ESHUTDOWN)
		n += touch_here(&wanted);
	return n;
}

void fetchers_bring(struct fetchers *f, pid_t pid, uint64_t address)
{
	const struct fetch_request wanted = { FETCH_TOUCH, pid, address, 1 };

	if (!f || request_again(f, &wanted) == -ESHUTDOWN)
		(void)touch_here(&wanted);
}
