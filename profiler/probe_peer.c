// SPDX-License-Identifier: Apache-2.0
#include "profiler/probe_peer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int probe_peer_init(struct probe_peer *ret, int fd, size_t number)
{
	socklen_t size = sizeof(ret->who);

	*ret = (struct probe_peer){ .fd = fd, .number = number };
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ret->who, &size) < 0 ? -errno : 0;
}

static void close_fds(struct probe_peer *p)
{
	while (p->n_fds > 0)
		close(p->fds[--p->n_fds]);
}

void probe_peer_done(struct probe_peer *p)
{
	close_fds(p);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	p->size = 0;
}

union control {
	struct cmsghdr head; /* for its alignment */
	char bytes[CMSG_SPACE(PROBE_REQUEST_FDS * sizeof(int))];
};

/* Descriptors beyond those that there may be are closed. */
static void keep_fds(struct probe_peer *p, struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (p->n_fds < PROBE_REQUEST_FDS)
				p->fds[p->n_fds++] = fd;
			else
				close(fd);
		}
	}
}

static ssize_t receive(struct probe_peer *p)
{
	union control control;
	struct iovec part = { p->text + p->size, PROBE_REQUEST_MAX - p->size };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	ssize_t n = recvmsg(p->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	keep_fds(p, &message);
	return n > 0 ? n : -ECONNRESET;
}

static bool has_line(struct probe_peer *p)
{
	char *end = memchr(p->text, '\n', p->size);

	if (end)
		*end = '\0';
	return end;
}

int probe_peer_read(struct probe_peer *p)
{
	ssize_t n;

	if (p->size == PROBE_REQUEST_MAX)
		return -EMSGSIZE;
	n = receive(p);
	if (n < 0)
		return (int)n;
	p->size += (size_t)n;
	if (has_line(p))
		return 1;
	return p->size == PROBE_REQUEST_MAX ? -EMSGSIZE : 0;
}

void probe_peer_next(struct probe_peer *p)
{
	/* Who sends the next request before the answer has none: descriptors would be mixed up. */
	p->size = 0;
	close_fds(p);
}

int probe_peer_send(const struct probe_peer *p, const char *line)
{
	size_t size = strlen(line);
	ssize_t n = send(p->fd, line, size, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EAGAIN;
}
