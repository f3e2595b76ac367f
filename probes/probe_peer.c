// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/finders.h"

_Static_assert(PROBE_REQUEST_MAX <= GIVEN_MAX_TEXT, "a request is received at once");
_Static_assert(PROBE_REQUEST_FDS <= GIVEN_MAX_FILES, "with all its files");

int probe_peer_know(int fd, struct ucred *ret)
{
	socklen_t size = sizeof(*ret);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &size) < 0 ? -errno : 0;
}

void probe_peer_init(struct probe_peer *ret, int fd, const struct ucred *who, size_t number)
{
	*ret = (struct probe_peer){ .fd = fd, .who = *who, .number = number, .file = -1 };
	/* A byte sent with MSG_OOB is one as others: else it would be there, but not be seen by MSG_PEEK. */
	(void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &(int){ 1 }, sizeof(int));
}

static void close_file(struct probe_peer *p)
{
	if (p->file >= 0)
		close(p->file);
	p->file = -1;
	p->n_given = 0;
}

static void drop_answer(struct probe_peer *p)
{
	free(p->answer);
	p->answer = NULL;
	p->answer_size = p->n_sent = 0;
}

void probe_peer_done(struct probe_peer *p, struct finders *finders)
{
	close_file(p);
	drop_answer(p);
	if (p->fd >= 0)
		finders_close(finders, p->who.uid, p->fd);
	p->fd = -1;
	p->size = 0;
}

/* Files beyond those that there may be are forgotten. */
static void keep_files(struct probe_peer *p, const struct given *given, int *first)
{
	if (p->n_given == 0 && given->n_files > 0)
		p->file = steal_fd(first);
	for (size_t i = 0; i < given->n_files && p->n_given < PROBE_REQUEST_FDS; i++)
		p->given[p->n_given++] = given->files[i];
}

/* This process never has what a peer gives open: to close it may never end. */
static int receive_files(struct probe_peer *p, struct finders *finders, size_t room)
{
	struct given given;
	_cleanup_close_ int first = -1;
	int err = finders_receive(finders, p->who.uid, p->fd, room, &given, &first);

	if (err < 0)
		return err;
	memcpy(p->text + p->size, given.text, given.size);
	keep_files(p, &given, &first);
	return (int)given.size;
}

/* Returns the size of what has come, 0 or a negative errno. */
static int receive(struct probe_peer *p, struct finders *finders)
{
	const size_t room = PROBE_REQUEST_MAX - p->size;
	bool has_files;
	int n = given_look(p->fd, p->text + p->size, room, &has_files);

	if (n == -EAGAIN)
		return 0;
	if (n >= 0 && has_files)
		n = receive_files(p, finders, room);
	else if (n >= 0)
		n = (int)recv(p->fd, p->text + p->size, (size_t)n, MSG_DONTWAIT) < 0 ? -errno : n;
	return n == -EPIPE ? -ECONNRESET : n;
}

static bool has_line(struct probe_peer *p)
{
	char *end = memchr(p->text, '\n', p->size);

	if (end)
		*end = '\0';
	return end;
}

int probe_peer_read(struct probe_peer *p, struct finders *finders)
{
	int n;

	if (p->size == PROBE_REQUEST_MAX)
		return -EMSGSIZE;
	n = receive(p, finders);
	if (n < 0)
		return n;
	if (p->size == 0)
		p->since_ns = clock_now_ns();
	p->size += (size_t)n;
	if (has_line(p))
		return 1;
	return p->size == PROBE_REQUEST_MAX ? -EMSGSIZE : 0;
}

void probe_peer_next(struct probe_peer *p)
{
	/* Who sends the next request before the answer has none: files would be mixed up. */
	p->size = 0;
	close_file(p);
}

int probe_peer_send(struct probe_peer *p, char *line)
{
	drop_answer(p);
	p->answer = line;
	p->answer_size = strlen(line);
	p->since_ns = clock_now_ns();
	return probe_peer_go_on(p);
}

int probe_peer_go_on(struct probe_peer *p)
{
	while (p->n_sent < p->answer_size) {
		ssize_t n = send(p->fd, p->answer + p->n_sent, p->answer_size - p->n_sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return 1;
		if (n < 0 && errno != EINTR)
			return -errno;
		p->n_sent += n > 0 ? (size_t)n : 0;
	}
	drop_answer(p);
	return 0;
}

/* What has been read ends before a line does: probe_peer_next() takes lines away. */
bool probe_peer_waits(const struct probe_peer *p)
{
	char text[PROBE_REQUEST_MAX];
	bool has_files;
	int n;

	if (p->answer)
		return true;
	n = given_look(p->fd, text, sizeof(text) - p->size, &has_files);
	return n > 0 && memchr(text, '\n', (size_t)n);
}

/* The rest of a request may have come while others were served. */
bool probe_peer_is_slow(const struct probe_peer *p, uint64_t now_ns)
{
	return (p->answer || (p->size > 0 && !probe_peer_waits(p))) &&
	       now_ns >= p->since_ns + PROBE_PEER_TIME_NS;
}
