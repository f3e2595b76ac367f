// SPDX-License-Identifier: Apache-2.0
#include "sandbox/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Room for the descriptors, aligned as its header. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(MESSAGE_MAX_FDS * sizeof(int))];
};

int message_send(int socket, const void *value, size_t size, const int *fds, size_t n_fds)
{
	union control control = { 0 };
	struct iovec data = { (void *)value, size };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	ssize_t n;

	if (n_fds > MESSAGE_MAX_FDS)
		return -EINVAL;
	if (n_fds > 0) {
		control.header = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(n_fds * sizeof(*fds)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(*fds));
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(*fds));
	}
	do {
		n = sendmsg(socket, &message, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNREFUSED ? -EPIPE : -errno;
	return 0;
}

static void take_fds(struct msghdr *message, int ret_fds[MESSAGE_MAX_FDS])
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);

	/* The kernel puts all into one. */
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len <= CMSG_LEN(MESSAGE_MAX_FDS * sizeof(int)))
		memcpy(ret_fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
}

void message_close(int fds[MESSAGE_MAX_FDS])
{
	for (size_t i = 0; i < MESSAGE_MAX_FDS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

int message_receive(int socket, void *ret, size_t size, int ret_fds[MESSAGE_MAX_FDS])
{
	union control control;
	struct iovec data = { ret, size };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		/* Padding would have room for one more. */
		.msg_controllen = CMSG_LEN(MESSAGE_MAX_FDS * sizeof(int)),
	};
	ssize_t n;

	for (size_t i = 0; i < MESSAGE_MAX_FDS; i++)
		ret_fds[i] = -1;
	do {
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	take_fds(&message, ret_fds);
	if (n == (ssize_t)size && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 0;
	message_close(ret_fds);
	return n == 0 ? -EPIPE : -EPROTO;
}
