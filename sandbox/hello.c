// SPDX-License-Identifier: Apache-2.0
#include "sandbox/hello.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/message.h"

/* Its descriptor is the helper's pidfd. */
struct hello {
	int32_t err;
	int32_t pid;
	struct confinement confinement;
};

int hello_say(int socket, int self, const struct confinement *confinement)
{
	const struct hello hello = { .pid = getpid(), .confinement = *confinement };

	return message_send(socket, &hello, sizeof(hello), &self, 1);
}

void hello_refuse(int socket, int err)
{
	const struct hello hello = { .err = err };

	(void)message_send(socket, &hello, sizeof(hello), NULL, 0);
}

int hello_await(int socket, int patience_ms, struct spawned *ret)
{
	_cleanup_close_ int own = socket;
	struct pollfd fd = { .fd = socket, .events = POLLIN };
	int fds[MESSAGE_MAX_FDS], n, err;
	struct hello hello;

	do
		n = poll(&fd, 1, patience_ms);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : -EAGAIN;
	err = message_receive(socket, &hello, sizeof(hello), fds);
	if (err < 0)
		return err;
	if (hello.err < 0 || fds[0] < 0)
		return hello.err < 0 ? hello.err : -EPROTO;
	*ret = (struct spawned){ steal_fd(&own), fds[0], hello.pid, hello.confinement };
	return 0;
}
