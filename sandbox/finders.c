// SPDX-License-Identifier: Apache-2.0
#include "sandbox/finders.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/cond.h"
#include "base/file_stat.h"
#include "cache/stored_file.h"
#include "elf/mapped_file.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/finder.h"
#include "sandbox/given.h"
#include "sandbox/message.h"
#include "sandbox/starter.h"
#include "symbols/source_file.h"

/* More idle ones than threads that ask are of no use. */
#define MAX_IDLE 4
/* File systems that a machine has programs on. */
#define MAX_KNOWN 16
/* A device that was unmounted can become that of another file system. */
#define KNOWN_NS UINT64_C(60000000000)

struct finder {
	struct spawned process;
	bool has_process, is_busy;
	bool is_known;            /* its file's file system is */
	struct fetch_payer payer; /* for whom it is busy */
};

/* The device of a file system that does answer, and that no user has mounted. */
struct known_device {
	dev_t device;
	uint64_t when; /* 0: there is none */
};

struct finders {
	struct starter *starter;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t freed;
	bool is_broken; /* none can be started: this process has to do it */
	struct finder all[FETCHERS_IN_ALL];
	struct fetch_shares shares;
	struct known_device known[MAX_KNOWN];
};

/* What is asked, and for whom. */
struct question {
	const struct find_request *request;
	int fds[FIND_N_FDS]; /* without gaps; others are -1 */
	uid_t user;
	dev_t device;     /* where the file is; 0: not known */
	uint64_t time_ns; /* 0: FINDERS_TIME_NS */
	dev_t near;       /* if it does not answer, this one is why; 0: as `device` */
	struct fetch_payer payer;
};

/* In place of a device: what links lead to, whatever the path looks like. */
#define BY_LINKS ((dev_t)-1)

/* This process's own user names what others may have made. */
static bool is_own(uid_t user)
{
	return user == geteuid();
}

static struct fetch_payer find_payer(uid_t user, dev_t device)
{
	uid_t server;

	if (!is_own(user) || device == 0)
		return (struct fetch_payer){ .user = user };
	/* Those with a disk are root's. */
	if (major(device) == 0 && stored_file_server("/proc/self/mountinfo", device, &server) &&
	    server != user)
		return (struct fetch_payer){ .user = server };
	return (struct fetch_payer){ user, device };
}

int finders_new(struct starter *starter, struct finders **ret)
{
	struct finders *f = calloc(1, sizeof(*f));

	*ret = f;
	if (!f)
		return -ENOMEM;
	f->starter = starter;
	pthread_mutex_init(&f->lock, NULL);
	cond_init_monotonic(&f->freed);
	return 0;
}

struct finders *finders_free(struct finders *f)
{
	if (!f)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(f->all); i++)
		if (f->all[i].has_process)
			spawned_end(&f->all[i].process);
	fetch_shares_done(&f->shares);
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->freed);
	free(f);
	return NULL;
}

static bool is_known(const struct finders *f, dev_t device, uint64_t now)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->known); i++)
		if (f->known[i].when > 0 && f->known[i].device == device &&
		    now < f->known[i].when + KNOWN_NS)
			return true;
	return false;
}

/* Users mount file systems without a disk only where this process does not see it. */
static bool may_be_known(const struct find_reply *reply)
{
	dev_t device = reply->st.st_dev;

	return !reply->is_foreign &&
	       (major(device) != 0 || stored_file_is_mounted("/proc/self/mountinfo", device, NULL));
}

static void remember(struct finders *f, const struct find_reply *reply)
{
	uint64_t now = clock_now_ns();
	struct known_device *to = &f->known[0];
	bool is_new;

	pthread_mutex_lock(&f->lock);
	is_new = !is_known(f, reply->st.st_dev, now);
	pthread_mutex_unlock(&f->lock);
	if (!is_new || !may_be_known(reply))
		return;
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < ARRAY_SIZE(f->known); i++)
		if (f->known[i].when < to->when)
			to = &f->known[i];
	*to = (struct known_device){ reply->st.st_dev, now };
	pthread_mutex_unlock(&f->lock);
}

/* How many may be busy with what may not answer. */
struct room {
	size_t of_payer, of_all;
};

/*
 * An idle one, else one that is to be started, or the other way round; NULL: this user has to wait. The
 * lock is held.
 */
static struct finder *find_free(struct finders *f, const struct fetch_payer *payer, bool known,
				bool is_new, const struct room *room)
{
	size_t n_of_payer = 0, n_of_all = 0;
	struct finder *idle = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(f->all); i++) {
		struct finder *finder = &f->all[i];

		if (!finder->is_busy && (!idle || finder->has_process != is_new))
			idle = finder;
		if (!finder->is_busy || finder->is_known)
			continue;
		n_of_all++;
		n_of_payer += fetch_payer_is(&finder->payer, payer);
	}
	return known || (n_of_payer < room->of_payer && n_of_all < room->of_all) ? idle : NULL;
}

static int wait_for_one(struct finders *f, const struct question *q, bool is_new, uint64_t until,
			struct finder **ret)
{
	for (;;) {
		uint64_t now = clock_now_ns();
		bool known = is_known(f, q->device, now);
		struct room room;

		room.of_payer = fetch_shares_room(&f->shares, &q->payer, now, &room.of_all);
		if (f->is_broken)
			return -ESHUTDOWN;
		if (room.of_payer == 0 && !known)
			return -EBUSY;
		*ret = find_free(f, &q->payer, known, is_new, &room);
		if (*ret) {
			(*ret)->is_busy = true;
			(*ret)->is_known = known;
			(*ret)->payer = q->payer;
			return 0;
		}
		if (cond_wait_until(&f->freed, &f->lock, until) == -ETIMEDOUT)
			return -EBUSY;
	}
}

static uint64_t time_of(const struct question *q)
{
	return q->time_ns ? q->time_ns : FINDERS_TIME_NS;
}

static int take(struct finders *f, const struct question *q, bool is_new, struct finder **ret)
{
	int err;

	pthread_mutex_lock(&f->lock);
	err = wait_for_one(f, q, is_new, clock_now_ns() + time_of(q), ret);
	pthread_mutex_unlock(&f->lock);
	if (err == 0 && is_new && (*ret)->has_process) {
		spawned_end(&(*ret)->process);
		(*ret)->has_process = false;
	}
	return err;
}

/* has_process: it can be asked again. */
static void give(struct finders *f, struct finder *finder, bool has_process)
{
	size_t n_idle = 0;
	bool is_kept;

	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < ARRAY_SIZE(f->all); i++)
		n_idle += !f->all[i].is_busy && f->all[i].has_process;
	is_kept = has_process && n_idle < MAX_IDLE;
	if (has_process && !is_kept)
		spawned_end(&finder->process);
	finder->has_process = is_kept;
	finder->is_busy = false;
	/* Each waits for a user's or any. */
	pthread_cond_broadcast(&f->freed);
	pthread_mutex_unlock(&f->lock);
}

void finders_blame(struct finders *f, uid_t user, dev_t device, int pidfd)
{
	struct fetch_payer payer;

	if (!f) {
		if (pidfd >= 0)
			close(pidfd);
		return;
	}
	payer = find_payer(user, device);
	pthread_mutex_lock(&f->lock);
	fetch_shares_lose(&f->shares, &payer, clock_now_ns(), pidfd);
	pthread_mutex_unlock(&f->lock);
}

static int start(struct finders *f, struct finder *finder)
{
	int err = finder->has_process ? 0 :
					starter_start(f->starter, SPAWNED_FINDER, &finder->process);

	if (err == -ESHUTDOWN) {
		pthread_mutex_lock(&f->lock);
		f->is_broken = true;
		pthread_mutex_unlock(&f->lock);
	}
	return err;
}

static int await_reply(const struct spawned *process, const struct question *q)
{
	struct pollfd fd = { .fd = process->socket, .events = POLLIN };
	struct patience patience;
	int err = patience_begin(process, time_of(q), SPAWNED_STOPPED_NS, true, &patience);

	while (err == 0 && poll(&fd, 1, PATIENCE_LOOK_MS) <= 0)
		err = patience_look(&patience, process);
	/* It may have answered, and slept since, while this process was not running. */
	return err == -ETIME && poll(&fd, 1, 0) > 0 ? 0 : err;
}

/* -ETIME: it does not answer; -ECONNABORTED: it has ended. */
static int exchange(const struct spawned *process, const struct question *q, struct find_reply *ret,
		    int *ret_fd)
{
	size_t n_fds = (size_t)(q->fds[FIND_FROM] >= 0) + (q->fds[FIND_TO] >= 0);
	int fds[MESSAGE_MAX_FDS];
	int err = message_send(process->socket, q->request, sizeof(*q->request), q->fds, n_fds);

	if (err == 0)
		err = await_reply(process, q);
	if (err == -ETIME)
		return err;
	if (err == 0)
		err = message_receive(process->socket, ret, sizeof(*ret), fds);
	if (err < 0)
		return -ECONNABORTED;
	*ret_fd = steal_fd(&fds[0]);
	message_close(fds);
	return 0;
}

static int ask_once(struct finders *f, const struct question *q, bool is_new,
		    struct find_reply *ret, int *ret_fd)
{
	struct finder *finder;
	int err = take(f, q, is_new, &finder);

	if (err < 0)
		return err;
	err = start(f, finder);
	if (err == 0) {
		err = exchange(&finder->process, q, ret, ret_fd);
		if (err == -ETIME)
			spawned_kill(&finder->process);
		else if (err < 0)
			spawned_end(&finder->process);
		if (err == -ETIME) {
			/* Who was let in for it pays, whatever is mounted there by now. */
			pthread_mutex_lock(&f->lock);
			fetch_shares_lose(&f->shares, &q->payer, clock_now_ns(),
					  finder->process.pidfd);
			pthread_mutex_unlock(&f->lock);
		}
	}
	give(f, finder, err == 0);
	return err == -ETIME ? -ETIMEDOUT : err;
}

/* -ESHUTDOWN: this process has to do it. */
static int ask(struct finders *f, const struct question *asked, struct find_reply *ret, int *ret_fd)
{
	struct question q = *asked;
	int err = -ECONNABORTED;

	if (!f)
		return -ESHUTDOWN;
	q.near = q.near ?: q.device;
	q.payer = find_payer(q.user, q.near);
	/* Finders may be killed by somebody, or for lack of memory; then perhaps all that are idle. */
	for (int i = 0; i < FINDERS_ATTEMPTS && err == -ECONNABORTED; i++)
		err = ask_once(f, &q, i > 0, ret, ret_fd);
	return err == -ECONNABORTED ? -EAGAIN : err;
}

/*
 * The same for a file that has a path. First without links, as only then it is known where one waits for it;
 * those that need some have a share of their own.
 */
static int ask_named(struct finders *f, struct question *q, struct find_request *named,
		     struct find_reply *ret, int *ret_fd)
{
	int root = named->place.has_root ? q->fds[FIND_FROM] : -1, err;

	if (!f || !is_own(q->user))
		return ask(f, q, ret, ret_fd);
	named->no_links = true;
	q->near = cached_file_device(root, named->place.path);
	err = ask(f, q, ret, ret_fd);
	named->no_links = false;
	if (err < 0 || ret->err != -ELOOP)
		return err;
	q->near = BY_LINKS;
	return ask(f, q, ret, ret_fd);
}

/* The file that was asked about: `err` is that of asking. Takes over fd. */
static int take_file(struct finders *f, const struct question *q, int err, struct find_reply *reply,
		     int fd, struct found_file *ret)
{
	if (err == -ESHUTDOWN)
		fd = find_here(q->request, q->fds[FIND_FROM], reply);
	else if (err < 0)
		return err;
	if (reply->err < 0)
		return reply->err;
	if (fd < 0)
		return -EAGAIN;
	if (f)
		remember(f, reply);
	*ret = (struct found_file){ fd, reply->is_foreign, reply->st };
	return 0;
}

static int find(struct finders *f, const struct question *q, struct found_file *ret)
{
	struct find_reply reply;
	int fd = -1, err = ask(f, q, &reply, &fd);

	return take_file(f, q, err, &reply, fd, ret);
}

static int open_reference(struct finders *f, uid_t user, int reference, uint64_t time_ns,
			  struct found_file *ret)
{
	const struct find_request request = { .kind = FIND_FILE };
	const struct question q = {
		&request, { reference, -1 }, user, file_device(reference), time_ns
	};

	return find(f, &q, ret);
}

int finders_open(struct finders *f, uid_t user, int reference, struct found_file *ret)
{
	return open_reference(f, user, reference, 0, ret);
}

static int set_path(struct find_request *request, const char *path)
{
	if (strlen(path) >= sizeof(request->place.path))
		return -ENAMETOOLONG;
	strcpy(request->place.path, path);
	return 0;
}

static int look_up(struct finders *f, uid_t user, int root, const char *path, uint64_t inode,
		   uint64_t time_ns, struct found_file *ret)
{
	struct find_request request = { .kind = FIND_PATH, .inode = inode };
	struct question q = { &request, { root, -1 }, user, 0, time_ns };
	_cleanup_close_ int place = f && is_own(user) ? cached_file_find(root, path, inode) : -1;
	struct find_reply reply;
	int fd = -1, err;

	if (place >= 0)
		return open_reference(f, user, place, time_ns, ret);
	request.place.has_root = root >= 0;
	err = set_path(&request, path);
	if (err < 0)
		return err;
	err = ask_named(f, &q, &request, &reply, &fd);
	return take_file(f, &q, err, &reply, fd, ret);
}

int finders_look_up(struct finders *f, uid_t user, int root, const char *path, uint64_t inode,
		    struct found_file *ret)
{
	return look_up(f, user, root, path, inode, 0, ret);
}

int finders_copy_source(struct finders *f, uid_t user, const char *path, int to)
{
	struct find_request request = { .kind = FIND_TEXT };
	struct question q = { &request, { to, -1 }, user, 0 };
	struct find_reply reply;
	_cleanup_close_ int none = -1;
	int err = set_path(&request, path) ?: ask_named(f, &q, &request, &reply, &none);

	if (err == -ESHUTDOWN)
		return source_file_copy(path, true, to);
	return err < 0 ? err : reply.err;
}

/* Whose file it is that names the debug file, with links on the way or without. */
static uid_t find_debug_user(uid_t user, const struct debug_place *place)
{
	uid_t server;

	if (!is_own(user) || place->owner == user)
		return user;
	return stored_file_server("/proc/self/mountinfo", place->device, &server) ? server :
										    place->owner;
}

int finders_open_debug(struct finders *f, uid_t user, const struct debug_place *place, int root)
{
	const struct find_request request = { .kind = FIND_DEBUG, .place = *place };
	const struct question q = { &request,
				    { root, -1 },
				    find_debug_user(user, place),
				    0,
				    .near = f ? cached_file_device(root, place->path) : 0 };
	struct found_file found;
	int err = find(f, &q, &found);

	return err < 0 ? err : found.fd;
}

int finders_open_map(struct finders *f, uid_t user, int root, pid_t pid, uid_t owner)
{
	const struct find_request request = { .kind = FIND_MAP, .pid = pid, .user = owner };
	const struct question q = { &request, { root, -1 }, user, 0, FINDERS_SHORT_NS };
	struct found_file found;
	int err = find(f, &q, &found);

	return err < 0 ? err : found.fd;
}

int finders_open_dump(struct finders *f, uid_t user, int place, const char *path, uint64_t inode)
{
	const struct find_request request = { .kind = FIND_FILE };
	const struct question q = {
		&request, { place, -1 }, user, file_device(place), FINDERS_SHORT_NS
	};
	struct found_file found;
	int err = path ? look_up(f, user, place, path, inode, FINDERS_SHORT_NS, &found) :
			 find(f, &q, &found);

	return err < 0 ? err : found.fd;
}

/* The file itself does not come here. */
static int send_on(struct finders *f, uid_t user, int reference, int to,
		   const struct find_request *request)
{
	const struct question q = { request, { reference, to }, user, file_device(reference) };
	struct find_reply reply;
	_cleanup_close_ int none = -1;
	int err = ask(f, &q, &reply, &none);

	if (err == 0)
		err = reply.err;
	return err == -ESHUTDOWN ? -EAGAIN : err;
}

int finders_pass(struct finders *f, uid_t user, int reference, int socket)
{
	const struct find_request request = { .kind = FIND_PASS };

	return send_on(f, user, reference, socket, &request);
}

int finders_add(struct finders *f, uid_t user, int reference, int listener, uint64_t id)
{
	const struct find_request request = { .kind = FIND_ADD, .id = id };

	return send_on(f, user, reference, listener, &request);
}

static int take_given(int from, size_t size, struct given *ret, int *ret_first)
{
	int fds[MESSAGE_MAX_FDS];
	int err = message_receive(from, ret, sizeof(*ret), fds);

	if (err == 0 && (ret->size > size || ret->n_files > GIVEN_MAX_FILES))
		err = -EPROTO;
	if (err == 0)
		*ret_first = steal_fd(&fds[0]);
	message_close(fds);
	return err;
}

int finders_receive(struct finders *f, uid_t user, int socket, size_t size, struct given *ret,
		    int *ret_first)
{
	const struct find_request request = { .kind = FIND_GIVEN, .id = size };
	struct find_reply reply;
	_cleanup_close_ int none = -1;
	int ends[2], err;

	*ret_first = -1;
	/* This process does not wait for what comes from the helper: that is there before it replies. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return -errno;
	err = ask(f, &(struct question){ &request, { socket, ends[1] }, user, 0 }, &reply, &none);
	close(ends[1]);
	if (err == 0)
		err = reply.err < 0 ? reply.err : take_given(ends[0], size, ret, ret_first);
	close(ends[0]);
	if (err == -ESHUTDOWN && (user == 0 || user == geteuid()))
		return given_receive(socket, size, ret, ret_first);
	return err;
}

void finders_close(struct finders *f, uid_t user, int socket)
{
	const struct find_request request = { .kind = FIND_KEEP };
	struct spawned process;

	if (!f || shutdown(socket, SHUT_RDWR) < 0 || !given_is_left(socket) ||
	    starter_start(f->starter, SPAWNED_FINDER, &process) < 0) {
		close(socket);
		return;
	}
	/* It has the socket, or could receive it, until it is killed: so this is not the last close. */
	(void)message_send(process.socket, &request, sizeof(request), &socket, 1);
	close(socket);
	spawned_kill(&process);
	if (user == 0)
		close(process.pidfd);
	else
		finders_blame(f, user, 0, process.pidfd);
}
