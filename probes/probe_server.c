// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_server.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cond.h"
#include "base/signals.h"
#include "kernel/probe_slots.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "loop/loop.h"
#include "probes/probe_manager.h"
#include "probes/probe_peers.h"
#include "probes/probe_request.h"
#include "probes/unix_listener.h"
#include "samples/call_table.h"
#include "samples/spans.h"
#include "samples/value_table.h"
#include "sandbox/finders.h"
#include "sandbox/parsers.h"
#include "sandbox/process_user.h"

#define BACKLOG 8
#define LOOK_MS 1000
#define PAUSE_US 100000

struct probe_server {
	struct unix_listener listener;
	int listen_fd, wake_fd;
	struct loop loop;
	struct probe_peer peers[PROBE_PEERS_MAX];
	size_t n_peers;  /* so far */
	size_t n_served; /* likewise, turns */
	uid_t served;    /* whose turn was the last */
	struct probe_manager *manager;
	struct parsers *parsers; /* the manager's */
	struct value_table *values;
	struct call_table *calls;
	const struct session *session; /* of the thread that ends it */
	atomic_bool ends;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t ended;
	bool has_ended;
	size_t n_users;
};

static void probe_server_destroy(struct probe_server *s)
{
	probe_manager_free(s->manager);
	value_table_free(s->values);
	call_table_free(s->calls);
	loop_done(&s->loop);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	pthread_cond_destroy(&s->ended);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static void drop(struct probe_server *s)
{
	bool is_last;

	pthread_mutex_lock(&s->lock);
	is_last = --s->n_users == 0;
	pthread_mutex_unlock(&s->lock);
	if (is_last)
		probe_server_destroy(s);
}

static void end_peer(struct probe_server *s, struct probe_peer *peer)
{
	loop_remove(&s->loop, peer->fd);
	probe_peer_done(peer, parsers_finders(s->parsers));
}

/* A closed connection would keep its place until its turn, which may be far off. */
static void end_gone(struct probe_server *s)
{
	for (size_t i = 0; i < PROBE_PEERS_MAX; i++) {
		struct pollfd fd = { .fd = s->peers[i].fd };
		int left;

		if (fd.fd >= 0 && poll(&fd, 1, 0) > 0 && fd.revents & POLLHUP &&
		    ioctl(fd.fd, FIONREAD, &left) == 0 && left == 0)
			end_peer(s, &s->peers[i]);
	}
}

/* Frees the answer. Returns as probe_peer_send(). */
static int send_json(struct probe_peer *peer, json_t *json)
{
	_cleanup_free_ char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	char *line;

	json_decref(json);
	if (!text || asprintf(&line, "%s\n", text) < 0)
		return -ENOMEM;
	return probe_peer_send(peer, line);
}

/* The next request is not read before the peer has read what is left of the answer. */
static int await(struct probe_server *s, const struct probe_peer *peer, int sent)
{
	return sent < 0 ? sent : loop_turn(&s->loop, peer->fd, sent > 0);
}

static int answer(struct probe_server *s, struct probe_peer *peer)
{
	json_t *json = probe_request_answer(s->manager, peer);

	probe_peer_next(peer);
	return await(s, peer, send_json(peer, json));
}

/* What it has sent could not be received. */
static void say_farewell(struct probe_peer *peer, int err)
{
	const char *why =
		err == -ETIMEDOUT || err == -EBUSY ?
			"the file systems of files that you give do not answer" :
		err == -EMSGSIZE  ? "the request is too long" :
		err == -ETIME     ? "the rest of the request does not come" :
		err == -ESHUTDOWN ? "there are no helpers to receive the files that you give" :
				    strerror(-err);

	if (err != -ECONNRESET)
		(void)send_json(peer, json_pack("{s:s}", "error", why));
}

static int serve(struct probe_server *s, struct probe_peer *peer)
{
	int err;

	if (peer->answer)
		return await(s, peer, probe_peer_go_on(peer));
	err = probe_peer_read(peer, parsers_finders(s->parsers));
	if (err > 0)
		return answer(s, peer);
	if (err < 0)
		say_farewell(peer, err);
	return err;
}

static int on_peer(void *arg, int fd)
{
	struct probe_server *s = arg;

	for (size_t i = 0; i < PROBE_PEERS_MAX; i++)
		s->peers[i].is_ready |= s->peers[i].fd == fd;
	return 0;
}

/* Root comes first; of others, who follows the last one by number: so each has one turn before one has two. */
static uint64_t rank(const struct probe_server *s, uid_t user)
{
	return user == 0 ? 0 : UINT64_C(1) + (uid_t)(user - s->served - 1);
}

/* Of one user's, the one whose last turn was before the others'. */
static bool comes_before(const struct probe_server *s, const struct probe_peer *a,
			 const struct probe_peer *b)
{
	const uint64_t x = rank(s, a->who.uid), y = rank(s, b->who.uid);

	return x < y || (x == y && a->turn < b->turn);
}

/*
 * A request may take long, as whoever has made its file likes: who has the next turn is decided when it is over, of
 * all who are ready then.
 */
static void serve_next(struct probe_server *s)
{
	struct probe_peer *next = NULL;

	for (size_t i = 0; i < PROBE_PEERS_MAX; i++) {
		struct probe_peer *p = &s->peers[i];

		if (p->fd >= 0 && p->is_ready && (!next || comes_before(s, p, next)))
			next = p;
		p->is_ready = false;
	}
	if (!next)
		return;
	if (next->who.uid != 0)
		s->served = next->who.uid;
	next->turn = ++s->n_served;
	if (serve(s, next) < 0)
		end_peer(s, next);
}

static void end_slow(struct probe_server *s)
{
	uint64_t now = clock_now_ns();

	for (size_t i = 0; i < PROBE_PEERS_MAX; i++) {
		struct probe_peer *p = &s->peers[i];

		if (p->fd < 0 || !probe_peer_is_slow(p, now))
			continue;
		if (!p->answer)
			say_farewell(p, -ETIME);
		end_peer(s, p);
	}
}

/* Milliseconds until there is something to look at. */
static int time_to_wait(const struct probe_server *s)
{
	bool waits = !probe_manager_is_idle(s->manager);

	for (size_t i = 0; i < PROBE_PEERS_MAX; i++)
		waits |= s->peers[i].fd >= 0 && (s->peers[i].answer || s->peers[i].size > 0);
	return waits ? LOOK_MS : -1;
}

/*
 * Shares are those of users. Who owns a user namespace can have as many users in it as they like. The kernel
 * told who has connected; the process has to be there to be looked at.
 */
static bool is_of_namespace(const struct ucred *who)
{
	uid_t user;

	return who->uid == 0 || (process_user(who->pid, &user) == 0 && user == who->uid);
}

/* The peer's credentials; PROBE_PEER_STRANGER if unknown or of another user namespace. */
static void know(int peer, struct ucred *ret)
{
	if (probe_peer_know(peer, ret) < 0)
		*ret = (struct ucred){ .uid = PROBE_PEER_STRANGER };
	else if (!is_of_namespace(ret))
		ret->uid = PROBE_PEER_STRANGER;
}

/* Takes over the socket of one who was not let in. */
static void send_away(struct probe_server *s, const struct ucred *who, int peer)
{
	probe_peers_refuse(peer);
	finders_close(parsers_finders(s->parsers), who->uid, peer);
}

/* Takes over the socket. */
static void welcome(struct probe_server *s, int peer)
{
	struct probe_peer *place;
	struct ucred who;

	know(peer, &who);
	end_gone(s);
	place = probe_peers_find_place(s->peers, who.uid);
	if (!place) {
		send_away(s, &who, peer);
		return;
	}
	if (place->fd >= 0) {
		if (!place->answer)
			probe_peers_refuse(place->fd);
		end_peer(s, place);
	}
	probe_peer_init(place, peer, &who, s->n_peers++);
	if (loop_add(&s->loop, peer, on_peer, s) < 0)
		probe_peer_done(place, parsers_finders(s->parsers));
}

/* All who wait, so that none of them waits for what another one asks. */
static int on_connect(void *arg, int fd)
{
	for (int i = 0; i <= BACKLOG; i++) {
		int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		/* Without descriptors it stays ready: that must not cost a CPU. */
		if (peer < 0 && (errno == EMFILE || errno == ENFILE))
			usleep(PAUSE_US);
		if (peer < 0)
			break;
		welcome(arg, peer);
	}
	return 0;
}

/*
 * Connections still in the backlog may carry descriptors, whose close may block: their user's finder closes
 * them.
 */
static void close_others(struct probe_server *s)
{
	int peer;

	shutdown(s->listen_fd, SHUT_RDWR);
	while ((peer = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		struct ucred who;

		know(peer, &who);
		finders_close(parsers_finders(s->parsers), who.uid, peer);
	}
}

/* Who has just connected may have sent something, too. */
static int see_who_is_ready(struct probe_server *s)
{
	int err = loop_run(&s->loop, time_to_wait(s));

	return err < 0 ? err : loop_run(&s->loop, 0);
}

static void *run(void *arg)
{
	struct probe_server *s = arg;

	while (!atomic_load(&s->ends)) {
		if (see_who_is_ready(s) < 0)
			break;
		serve_next(s);
		end_slow(s);
		probe_manager_look(s->manager);
	}
	for (size_t i = 0; i < PROBE_PEERS_MAX; i++)
		if (s->peers[i].fd >= 0)
			end_peer(s, &s->peers[i]);
	close_others(s);
	s->manager = probe_manager_free(s->manager);
	pthread_mutex_lock(&s->lock);
	s->has_ended = true;
	pthread_cond_broadcast(&s->ended);
	pthread_mutex_unlock(&s->lock);
	drop(s);
	return NULL;
}

static int start(struct probe_server *s)
{
	pthread_t thread;
	sigset_t old;
	int err;

	signals_block(&old);
	s->n_users++;
	err = pthread_create(&thread, NULL, run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err != 0) {
		s->n_users--;
		return -err;
	}
	pthread_setname_np(thread, "probes");
	pthread_detach(thread);
	return 0;
}

/* This process may go on with other options. */
static int listen_at(struct probe_server *s, const char *path)
{
	bool replaces_own;

	s->listen_fd = unix_listener_open(path, BACKLOG, &replaces_own, &s->listener);
	if (replaces_own)
		log_warning("probes that were added before have to be added again");
	return s->listen_fd < 0 ? s->listen_fd : 0;
}

static int on_wake(void *arg, int fd)
{
	(void)arg;
	(void)!read(fd, &(uint64_t){ 0 }, sizeof(uint64_t));
	return 0;
}

static int make_loop(struct probe_server *s)
{
	int err = loop_init(&s->loop);

	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake_fd < 0)
		return -errno;
	if (err == 0)
		err = loop_add(&s->loop, s->wake_fd, on_wake, s);
	if (err == 0)
		err = loop_add(&s->loop, s->listen_fd, on_connect, s);
	return err;
}

static struct probe_server *server_new(void)
{
	struct probe_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->listen_fd = s->wake_fd = -1;
	s->loop = LOOP_NONE;
	for (size_t i = 0; i < PROBE_PEERS_MAX; i++)
		s->peers[i].fd = -1;
	s->n_users = 1;
	pthread_mutex_init(&s->lock, NULL);
	cond_init_monotonic(&s->ended);
	return s;
}

static int make_manager(struct probe_server *s, const struct session *session,
			struct parsers *parsers)
{
	struct probe_slots *slots = NULL;
	int err = probe_slots_new(session, &slots);

	s->session = session;
	s->parsers = parsers;
	if (err == 0)
		err = value_table_new(&s->values);
	if (err == 0)
		err = call_table_new(&s->calls);
	if (err == 0)
		err = probe_manager_new(slots, parsers, s->values, s->calls, &s->manager);
	if (err < 0)
		probe_slots_free(slots);
	return err;
}

int probe_server_open(const struct session *session, struct parsers *parsers, const char *path,
		      const struct redaction *redaction, struct value_labels *labels,
		      struct spans *ret_spans, struct probe_server **ret)
{
	struct probe_server *s = path ? server_new() : NULL;
	int err = s ? 0 : -ENOMEM;

	*ret = NULL;
	if (!path)
		return 0;
	if (err == 0)
		err = make_manager(s, session, parsers);
	if (err == 0)
		err = listen_at(s, path);
	if (err == 0)
		err = make_loop(s);
	json_object_seed(0); /* before there are two threads that may do so */
	if (err == 0)
		err = start(s);
	if (err < 0) {
		log_error("cannot listen for probes at %s: %s", path, strerror(-err));
		if (err == -EADDRINUSE)
			log_detail(
				"another process listens there, or it is not a socket: give another path");
		if (s) {
			unix_listener_remove(&s->listener);
			drop(s);
		}
		return err;
	}
	labels->added = s->values;
	labels->calls = s->calls;
	ret_spans->values = labels;
	ret_spans->redaction = redaction;
	ret_spans->are_added = true;
	log_info("probes can be added at %s", path);
	*ret = s;
	return 0;
}

/* False: it takes too long. */
static bool wait_for_end(struct probe_server *s)
{
	uint64_t end_ns = clock_now_ns() + REMOVAL_PATIENCE_NS;
	bool has_ended;
	int err = 0;

	pthread_mutex_lock(&s->lock);
	while (!s->has_ended && err == 0)
		err = cond_wait_until(&s->ended, &s->lock, end_ns);
	has_ended = s->has_ended;
	pthread_mutex_unlock(&s->lock);
	return has_ended;
}

void probe_server_end(struct probe_server *s)
{
	if (!s || atomic_load(&s->ends))
		return;
	unix_listener_remove(&s->listener);
	atomic_store(&s->ends, true);
	(void)!write(s->wake_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
	probe_slots_silence(s->session);
}

struct probe_server *probe_server_free(struct probe_server *s)
{
	if (!s)
		return NULL;
	probe_server_end(s);
	if (!wait_for_end(s))
		log_warning("added probes are still being removed: the kernel waits for processes");
	drop(s);
	return NULL;
}
