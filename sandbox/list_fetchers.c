// SPDX-License-Identifier: Apache-2.0
#include "sandbox/list_fetchers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "sandbox/fetch_shares.h"
#include "sandbox/fetcher.h"
#include "sandbox/message.h"
#include "sandbox/process_user.h"
#include "sandbox/starter.h"

/* How long none is started after that has failed. */
#define RETRY_NS UINT64_C(2000000000)
/* And after one has ended at once. */
#define AGAIN_NS UINT64_C(100000000)
/* Most lists take less: if all fetchers are busy for longer, another one is started. */
#define BUSY_NS UINT64_C(10000000)
/* The greatest errno (include/linux/err.h). */
#define MAX_ERRNO 4095

struct wanted {
	pid_t pid, thread;
	uid_t user; /* whose list it is */
	uint64_t number;
	uint64_t since;
	unsigned int attempts; /* that have failed */
};

struct list_fetcher {
	struct spawned process;
	bool has_process, is_busy;
	int list;       /* where it writes to while it is busy, else -1 */
	uint64_t since; /* it is busy */
	struct wanted wanted;
	struct patience patience;
};

struct list_fetchers {
	struct parsers *parsers;
	int epoll; /* of the sockets */
	struct list_fetcher all[FETCHERS_IN_ALL];
	int starting; /* the socket of one that has said nothing yet, or -1 */
	uint64_t starting_ns;
	uint64_t next_start_ns; /* not before */
	bool has_started;       /* any */
	bool has_tried;         /* to start one as patiently as can be */
	bool is_broken;         /* none can be started: this process has to do it */
	bool has_warned;
	struct wanted *wanted; /* oldest first */
	size_t n_wanted, wanted_size;
	struct fetched_list *fetched; /* has room for all that are wanted */
	size_t n_fetched, fetched_size;
	size_t n_ready; /* of these, when it was last looked */
	size_t fetched_bytes;
	struct fetch_shares shares;
	uint64_t n_requests; /* so far */
	uint64_t n_steps;    /* see list_fetchers_wait() */
};

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, timeout_ms) > 0;
}

static void watch(const struct list_fetchers *f, int socket)
{
	struct epoll_event event = { .events = EPOLLIN };

	(void)epoll_ctl(f->epoll, EPOLL_CTL_ADD, socket, &event);
}

/*
 * A child that has not yet executed its program may have a copy, so that closing it is not enough.
 */
static void unwatch(const struct list_fetchers *f, int socket)
{
	(void)epoll_ctl(f->epoll, EPOLL_CTL_DEL, socket, NULL);
}

static void begin_start(struct list_fetchers *f, uint64_t now)
{
	if (f->starting >= 0 || now < f->next_start_ns)
		return;
	if (starter_begin(parsers_starter(f->parsers), SPAWNED_FETCHER, &f->starting) < 0) {
		f->starting = -1;
		f->next_start_ns = now + RETRY_NS;
		return;
	}
	f->starting_ns = now;
	watch(f, f->starting);
}

int list_fetchers_new(struct parsers *parsers, struct list_fetchers **ret)
{
	struct list_fetchers *f = calloc(1, sizeof(*f));

	*ret = NULL;
	if (!f)
		return -ENOMEM;
	f->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (f->epoll < 0) {
		int err = -errno;

		free(f);
		return err;
	}
	f->parsers = parsers_hold(parsers);
	f->starting = -1;
	f->shares.waited_ns = LIST_FETCHERS_WAITED_NS;
	for (size_t i = 0; i < ARRAY_SIZE(f->all); i++)
		f->all[i].list = -1;
	begin_start(f, clock_now_ns());
	*ret = f;
	return 0;
}

static void end_process(struct list_fetchers *f, struct list_fetcher *of)
{
	unwatch(f, of->process.socket);
	spawned_end(&of->process);
	of->has_process = false;
}

static void make_idle(struct list_fetcher *of)
{
	close(steal_fd(&of->list));
	of->is_busy = false;
}

struct list_fetchers *list_fetchers_free(struct list_fetchers *f)
{
	if (!f)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(f->all); i++) {
		if (f->all[i].is_busy)
			make_idle(&f->all[i]);
		if (f->all[i].has_process)
			end_process(f, &f->all[i]);
	}
	if (f->starting >= 0)
		close(f->starting);
	close(f->epoll);
	for (size_t i = 0; i < f->n_fetched; i++)
		free(f->fetched[i].bytes);
	free(f->fetched);
	free(f->wanted);
	fetch_shares_done(&f->shares);
	parsers_drop(f->parsers);
	free(f);
	return NULL;
}

static void remove_wanted(struct list_fetchers *f, size_t i)
{
	f->n_wanted--;
	memmove(&f->wanted[i], &f->wanted[i + 1], (f->n_wanted - i) * sizeof(*f->wanted));
}

static void put(struct list_fetchers *f, const struct fetched_list *list)
{
	f->fetched[f->n_fetched++] = *list;
	f->fetched_bytes += list->size;
	f->n_steps++;
}

static void tell(struct list_fetchers *f, const struct wanted *w, int err)
{
	put(f, &(struct fetched_list){ .pid = w->pid, .number = w->number, .err = err });
}

/* From a file that others can still change. */
static int copy_list(int from, size_t n, struct fetched_list *ret)
{
	_cleanup_free_ char *bytes = malloc(n + 1);
	size_t have = 0;
	ssize_t got = 1;

	if (!bytes)
		return -ENOMEM;
	while (have < n && got > 0) {
		got = pread(from, bytes + have, n - have, (off_t)have);
		have += got > 0 ? (size_t)got : 0;
	}
	if (have < n)
		return -EBADMSG;
	ret->bytes = steal_ptr(bytes);
	ret->size = n;
	return 0;
}

void list_fetch_here(pid_t pid, pid_t thread, struct fetched_list *ret)
{
	_cleanup_close_ int list = memfd_create("mappings", MFD_CLOEXEC);
	int n = list < 0 ? -errno : fetch_list(thread, list);

	*ret = (struct fetched_list){ .pid = pid };
	ret->err = n < 0 ? n : copy_list(list, (size_t)n, ret);
}

/* 0, or a negative errno: there is no reply. */
static int take_reply(struct list_fetchers *f, struct list_fetcher *of, uint64_t now)
{
	struct fetched_list list = { .pid = of->wanted.pid, .number = of->wanted.number };
	uint64_t took = now - of->since;
	struct fetch_reply reply;
	int fds[MESSAGE_MAX_FDS];
	int err = message_receive(of->process.socket, &reply, sizeof(reply), fds);

	if (err < 0)
		return err;
	message_close(fds);
	if (reply.kind != FETCH_LIST || reply.n > (int32_t)FETCH_LIST_MAX || reply.n < -MAX_ERRNO)
		return -EPROTO;
	if (reply.slept_ns > 0)
		fetch_shares_charge(&f->shares, of->wanted.user, now,
				    reply.slept_ns < took ? reply.slept_ns : took);
	list.err = reply.n < 0 ? reply.n : copy_list(of->list, (size_t)reply.n, &list);
	put(f, &list);
	make_idle(of);
	return 0;
}

static void give_up(struct list_fetchers *f, struct list_fetcher *of, uint64_t now)
{
	const struct fetch_payer payer = { .user = of->wanted.user };

	if (!f->has_warned)
		log_warning(
			"mappings of process %d cannot be read: its stacks, and those of others of "
			"its user, may be missing (-v names all)",
			of->wanted.pid);
	f->has_warned = true;
	unwatch(f, of->process.socket);
	spawned_kill(&of->process);
	fetch_shares_lose(&f->shares, &payer, now, of->process.pidfd);
	of->has_process = false;
	tell(f, &of->wanted, -ETIMEDOUT);
	make_idle(of);
}

/*
 * Somebody has ended it, or nobody knows what it is doing. Another one is asked, before what came
 * later.
 */
static void replace(struct list_fetchers *f, struct list_fetcher *of)
{
	struct wanted again = of->wanted;

	end_process(f, of);
	make_idle(of);
	if (++again.attempts == LIST_FETCHERS_ATTEMPTS) {
		tell(f, &again, -EAGAIN);
		return;
	}
	memmove(f->wanted + 1, f->wanted, f->n_wanted++ * sizeof(*f->wanted));
	f->wanted[0] = again;
}

static void look_at(struct list_fetchers *f, struct list_fetcher *of, uint64_t now)
{
	bool has_said = is_readable(of->process.socket, 0);
	int err;

	if (!of->is_busy) {
		if (has_said) /* it has ended */
			end_process(f, of);
		return;
	}
	err = has_said ? take_reply(f, of, now) : patience_look(&of->patience, &of->process);
	/* It may have answered, and slept since, while this process was not running. */
	if (err == -ETIME && is_readable(of->process.socket, 0))
		err = take_reply(f, of, now);
	if (err == -ETIME)
		give_up(f, of, now);
	else if (err < 0)
		replace(f, of);
}

static struct list_fetcher *find_idle(struct list_fetchers *f, bool has_process)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->all); i++)
		if (!f->all[i].is_busy && f->all[i].has_process == has_process)
			return &f->all[i];
	return NULL;
}

static void note_start(struct list_fetchers *f, struct list_fetcher *of)
{
	of->has_process = f->has_started = true;
	f->n_steps++;
	/* What does not fit is said another time. */
	(void)fcntl(of->process.socket, F_SETFL, O_NONBLOCK);
	watch(f, of->process.socket);
}

/* One that has started says so. */
static void finish_start(struct list_fetchers *f, uint64_t now)
{
	struct list_fetcher *of = find_idle(f, false);
	bool has_said = f->starting >= 0 && is_readable(f->starting, 0);

	if (f->starting < 0 || !of || (!has_said && now <= f->starting_ns + LIST_FETCHERS_START_NS))
		return;
	unwatch(f, f->starting);
	f->next_start_ns = now + AGAIN_NS;
	if (!has_said) {
		close(steal_fd(&f->starting));
	} else if (starter_finish(parsers_starter(f->parsers), SPAWNED_FETCHER,
				  steal_fd(&f->starting), &of->process) == 0) {
		f->next_start_ns = 0;
		note_start(f, of);
	}
}

/*
 * Only this tells whether there will ever be one; and it waits, so it is done once, and only if the
 * usual way fails.
 */
static void start_patiently(struct list_fetchers *f)
{
	struct list_fetcher *of = find_idle(f, false);
	int err = -EAGAIN;

	f->has_tried = true;
	if (of)
		err = starter_start(parsers_starter(f->parsers), SPAWNED_FETCHER, &of->process);
	if (err == 0)
		note_start(f, of);
	f->is_broken = err == -ESHUTDOWN;
}

static size_t count_busy(const struct list_fetchers *f, const uid_t *user)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(f->all); i++)
		n += f->all[i].is_busy && (!user || f->all[i].wanted.user == *user);
	return n;
}

/* Another one, unless one of them will soon have time. */
static void start_another(struct list_fetchers *f, uint64_t now)
{
	bool soon = false;

	for (size_t i = 0; i < ARRAY_SIZE(f->all); i++)
		soon |= f->all[i].has_process && now < f->all[i].since + BUSY_NS;
	if (!soon && find_idle(f, false))
		begin_start(f, now);
}

/* Asks a fetcher that is idle. */
static int send_to(struct list_fetcher *of, const struct wanted *w, uint64_t now)
{
	const struct fetch_request request = { .kind = FETCH_LIST, .pid = w->thread };
	_cleanup_close_ int list = memfd_create("mappings", MFD_CLOEXEC);
	int err = list < 0 ? -errno : 0;

	if (err == 0)
		err = message_send(of->process.socket, &request, sizeof(request), &list, 1);
	if (err == 0)
		err = patience_begin(&of->process, LIST_FETCHERS_TIME_NS, SPAWNED_STOPPED_NS, true,
				     &of->patience);
	if (err < 0)
		return err;
	of->list = steal_fd(&list);
	of->wanted = *w;
	of->since = now;
	of->is_busy = true;
	return 0;
}

enum service { SERVED, USER_WAITS, ALL_WAIT };

static enum service serve_one(struct list_fetchers *f, const struct wanted *w, uint64_t now)
{
	const struct fetch_payer payer = { .user = w->user };
	size_t of_all, of_user = fetch_shares_room(&f->shares, &payer, now, &of_all);
	struct list_fetcher *of = find_idle(f, true);
	int err;

	if (!fetch_shares_allow(&f->shares, w->user, now)) {
		tell(f, w, -ETIMEDOUT);
		return SERVED;
	}
	if (count_busy(f, NULL) >= of_all)
		return ALL_WAIT;
	if (count_busy(f, &w->user) >= of_user)
		return USER_WAITS;
	if (!of) {
		start_another(f, now);
		return ALL_WAIT;
	}
	err = send_to(of, w, now);
	if (err == -EMFILE || err == -ENFILE || err == -ENOMEM) {
		tell(f, w, err);
		return SERVED;
	}
	if (err < 0)
		end_process(f, of); /* somebody else did that */
	return err < 0 ? ALL_WAIT : SERVED;
}

static void serve_here(struct list_fetchers *f)
{
	while (f->n_wanted > 0) {
		const struct wanted *w = &f->wanted[0];
		struct fetched_list list;

		list_fetch_here(w->pid, w->thread, &list);
		list.number = w->number;
		put(f, &list);
		remove_wanted(f, 0);
	}
}

/* Nobody knows when there will be one again. */
static void refuse_old(struct list_fetchers *f, uint64_t now)
{
	while (f->n_wanted > 0 && now > f->wanted[0].since + LIST_FETCHERS_QUEUE_NS) {
		tell(f, &f->wanted[0], -EAGAIN);
		remove_wanted(f, 0);
	}
}

/* Users who wait for others of their requests: each has a fetcher, so there are no more of them. */
struct waiting {
	uid_t users[FETCHERS_IN_ALL];
	size_t n;
};

static bool is_waiting(const struct waiting *waiting, uid_t user)
{
	for (size_t i = 0; i < waiting->n; i++)
		if (waiting->users[i] == user)
			return true;
	return waiting->n == ARRAY_SIZE(waiting->users);
}

/* A user may want thousands, so none is looked at in detail once another one of theirs waits. */
static void serve_all(struct list_fetchers *f, uint64_t now)
{
	enum service service = SERVED;
	struct waiting waiting = { .n = 0 };
	size_t i = 0, n_kept = 0;

	for (; i < f->n_wanted && service != ALL_WAIT && f->fetched_bytes < LIST_FETCHERS_MAX_BYTES;
	     i++) {
		const struct wanted w = f->wanted[i];
		bool waits = is_waiting(&waiting, w.user);

		if (!waits)
			service = serve_one(f, &w, now);
		if (!waits && service == USER_WAITS)
			waiting.users[waiting.n++] = w.user;
		if (waits || service != SERVED)
			f->wanted[n_kept++] = w;
	}
	if (n_kept < i)
		memmove(&f->wanted[n_kept], &f->wanted[i], (f->n_wanted - i) * sizeof(*f->wanted));
	f->n_wanted -= i - n_kept;
}

static void serve(struct list_fetchers *f, uint64_t now)
{
	if (f->n_wanted > 0 && !f->has_started && !f->has_tried && f->starting < 0)
		start_patiently(f);
	if (f->is_broken)
		serve_here(f);
	serve_all(f, now);
	if (!find_idle(f, true) && count_busy(f, NULL) == 0)
		refuse_old(f, now);
}

/* One is enough until many lists are wanted again. */
static void rest(struct list_fetchers *f)
{
	bool has_idle = false;

	for (size_t i = 0; i < ARRAY_SIZE(f->all); i++) {
		struct list_fetcher *of = &f->all[i];

		if (!of->has_process || of->is_busy)
			continue;
		if (has_idle && f->n_wanted == 0)
			end_process(f, of);
		has_idle = true;
	}
}

static void advance(struct list_fetchers *f)
{
	uint64_t now = clock_now_ns();

	for (size_t i = 0; i < ARRAY_SIZE(f->all); i++)
		if (f->all[i].has_process)
			look_at(f, &f->all[i], now);
	finish_start(f, now);
	serve(f, now);
	rest(f);
}

int list_fetchers_ask(struct list_fetchers *f, pid_t pid, pid_t thread, uint64_t *ret_number)
{
	struct wanted w = { .pid = pid, .thread = thread, .since = clock_now_ns() };
	size_t n_busy;
	int err;

	if (!f || f->is_broken)
		return -ESHUTDOWN;
	n_busy = count_busy(f, NULL);
	if (array_reserve(f->wanted, f->n_wanted + n_busy, f->wanted_size) < 0 ||
	    array_reserve(f->fetched, f->n_fetched + f->n_wanted + n_busy, f->fetched_size) < 0)
		return -ENOMEM;
	err = process_user(thread, &w.user);
	if (err < 0)
		return err;
	w.number = *ret_number = ++f->n_requests;
	f->wanted[f->n_wanted++] = w;
	advance(f);
	return 0;
}

void list_fetchers_cancel(struct list_fetchers *f, uint64_t number)
{
	for (size_t i = 0; f && i < f->n_wanted; i++)
		if (f->wanted[i].number == number) {
			remove_wanted(f, i);
			return;
		}
}

void list_fetchers_look(struct list_fetchers *f)
{
	if (!f)
		return;
	advance(f);
	f->n_ready = f->n_fetched;
}

bool list_fetchers_take(struct list_fetchers *f, struct fetched_list *ret)
{
	if (!f || f->n_ready == 0)
		return false;
	*ret = f->fetched[0];
	f->fetched_bytes -= ret->size;
	f->n_ready--;
	f->n_fetched--;
	memmove(f->fetched, f->fetched + 1, f->n_fetched * sizeof(*f->fetched));
	return true;
}

bool list_fetchers_wait(struct list_fetchers *f, int timeout_ms)
{
	uint64_t n_steps;

	if (!f)
		return false;
	n_steps = f->n_steps;
	(void)is_readable(f->epoll, f->n_fetched > 0 ? 0 : timeout_ms);
	list_fetchers_look(f);
	return f->n_steps != n_steps || (!f->has_started && !f->has_tried);
}

int list_fetchers_fd(const struct list_fetchers *f)
{
	return f ? f->epoll : -1;
}
