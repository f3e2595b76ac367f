// SPDX-License-Identifier: Apache-2.0
/* Requests as they arrive: in parts, too long, with descriptors. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "profiler/probe_peer.h"

static int other;
static struct probe_peer peer;

static void begin(void)
{
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	other = fds[0];
	cr_assert_eq(probe_peer_init(&peer, fds[1], 3), 0);
}

static void end(void)
{
	probe_peer_done(&peer);
	close(other);
}

TestSuite(probe_peer, .init = begin, .fini = end);

static size_t count_open(void)
{
	DIR *directory = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(directory))
		n++;
	closedir(directory);
	return n;
}

static void send_text(const char *text, size_t n_fds)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(40 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { (char *)text, strlen(text) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (n_fds > 0) {
		int *fds = (int *)CMSG_DATA(&control.head);

		control.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS,
						 .cmsg_len = CMSG_LEN(n_fds * sizeof(int)) };
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		for (size_t i = 0; i < n_fds; i++)
			fds[i] = STDIN_FILENO;
	}
	cr_assert_eq(sendmsg(other, &message, 0), (ssize_t)strlen(text));
}

Test(probe_peer, knows_who_it_is)
{
	cr_assert_eq(peer.who.pid, getpid());
	cr_assert_eq(peer.who.uid, geteuid());
	cr_assert_eq(peer.number, 3);
}

Test(probe_peer, puts_parts_of_a_line_together)
{
	cr_assert_eq(probe_peer_read(&peer), 0);
	send_text("{\"do\"", 1);
	cr_assert_eq(probe_peer_read(&peer), 0);
	send_text(": 1}\n", 0);
	cr_assert_eq(probe_peer_read(&peer), 1);
	cr_assert_str_eq(peer.text, "{\"do\": 1}");
	cr_assert_eq(peer.n_fds, 1);
	probe_peer_next(&peer);
	cr_assert_eq(peer.n_fds, 0);
	send_text("x\n", 0);
	cr_assert_eq(probe_peer_read(&peer), 1);
	cr_assert_str_eq(peer.text, "x");
}

Test(probe_peer, may_not_send_too_long_a_line)
{
	static char text[PROBE_REQUEST_MAX + 1];

	memset(text, 'x', PROBE_REQUEST_MAX - 1);
	send_text(text, 0);
	cr_assert_eq(probe_peer_read(&peer), 0);
	send_text("x", 0);
	cr_assert_eq(probe_peer_read(&peer), -EMSGSIZE);
}

Test(probe_peer, may_send_a_line_of_the_greatest_length)
{
	static char text[PROBE_REQUEST_MAX + 1];

	memset(text, 'x', PROBE_REQUEST_MAX - 1);
	text[PROBE_REQUEST_MAX - 1] = '\n';
	send_text(text, 0);
	cr_assert_eq(probe_peer_read(&peer), 1);
	cr_assert_eq(strlen(peer.text), PROBE_REQUEST_MAX - 1);
}

Test(probe_peer, keeps_as_many_descriptors_as_a_request_may_have)
{
	const size_t before = count_open();

	send_text("a", 10);
	send_text("b", 10);
	while (peer.size < 2)
		cr_assert_eq(probe_peer_read(&peer), 0);
	cr_assert_eq(peer.n_fds, PROBE_REQUEST_FDS);
	cr_assert_eq(count_open(), before + PROBE_REQUEST_FDS);
	send_text("c", 40); /* the kernel drops what has no room */
	cr_assert_eq(probe_peer_read(&peer), 0);
	cr_assert_eq(count_open(), before + PROBE_REQUEST_FDS);
	probe_peer_next(&peer);
	cr_assert_eq(count_open(), before);
}

Test(probe_peer, has_gone)
{
	shutdown(other, SHUT_RDWR);
	cr_assert_eq(probe_peer_read(&peer), -ECONNRESET);
}

Test(probe_peer, that_does_not_read_gets_no_answer)
{
	static char line[1 << 20];
	char first;

	cr_assert_eq(probe_peer_send(&peer, "yes\n"), 0);
	cr_assert_eq(read(other, &first, 1), 1);
	cr_assert_eq(first, 'y');
	memset(line, 'x', sizeof(line) - 1);
	cr_assert_lt(probe_peer_send(&peer, line), 0);
}
