// SPDX-License-Identifier: Apache-2.0
#include "sandbox/hello.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/message.h"

/* Of a helper that has said it, the descriptor is its pidfd. */
struct hello {
	int32_t err;
	int32_t pid;
	uint32_t is_announced; /* only that */
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

int hello_announce(int socket, pid_t helper)
{
	const struct hello hello = { .pid = helper, .is_announced = 1 };

	return message_send(socket, &hello, sizeof(hello), NULL, 0);
}

/* Takes over the socket with the helper. 1: it is only announced. */
static int receive(int *socket, struct spawned *ret)
{
	int fds[MESSAGE_MAX_FDS], err;
	struct hello hello;

	err = message_receive(*socket, &hello, sizeof(hello), fds);
	if (err < 0)
		return err;
	ret->pid = hello.pid;
	if (hello.err == 0 && hello.is_announced) {
		message_close(fds);
		return 1;
	}
	if (hello.err < 0 || fds[0] < 0)
		return hello.err < 0 ? hello.err : -EPROTO;
	*ret = (struct spawned){ steal_fd(socket), fds[0], hello.pid, hello.confinement };
	return 0;
}

/* Until there is a message of, or about, a helper. */
static int await_message(int socket, const struct spawned *whose, uint64_t end_ns)
{
	struct pollfd fd = { .fd = socket, .events = POLLIN };
	struct patience patience;
	int err = patience_begin(whose, HELLO_PATIENCE_NS, SPAWNED_STOPPED_NS, true, &patience);

	while (poll(&fd, 1, PATIENCE_LOOK_MS) <= 0) {
		if (err == 0)
			err = patience_look(&patience, whose);
		if (err < 0 || clock_now_ns() > end_ns)
			return -EAGAIN;
	}
	return 0;
}

int hello_await(int socket, pid_t spawner, struct spawned *ret)
{
	uint64_t end_ns = clock_now_ns() + HELLO_MAX_NS;
	struct spawned whose = { .pid = spawner };
	_cleanup_close_ int own = socket;
	int err;

	do {
		err = await_message(own, &whose, end_ns);
		if (err == 0)
			err = receive(&own, &whose);
	} while (err == 1);
	if (err == 0)
		*ret = whose;
	return err;
}

int hello_take(int socket, struct spawned *ret)
{
	struct pollfd fd = { .fd = socket, .events = POLLIN };
	_cleanup_close_ int own = socket;

	return poll(&fd, 1, 0) > 0 ? receive(&own, ret) : -EAGAIN;
}
