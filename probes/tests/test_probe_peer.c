// SPDX-License-Identifier: Apache-2.0
/* Requests as they arrive: in parts, too long, with descriptors. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limits/limits.h"
#include "log/clock.h"
#include "probes/probe_peer.h"

static int other;
static struct probe_peer peer;

static void begin(void)
{
	struct ucred who;
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	other = fds[0];
	cr_assert_eq(probe_peer_know(fds[1], &who), 0);
	probe_peer_init(&peer, fds[1], &who, 3);
}

static void end(void)
{
	probe_peer_done(&peer, NULL);
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
	cr_assert_eq(probe_peer_read(&peer, NULL), 0);
	send_text("{\"do\"", 1);
	cr_assert_eq(probe_peer_read(&peer, NULL), 0);
	send_text(": 1}\n", 0);
	cr_assert_eq(probe_peer_read(&peer, NULL), 1);
	cr_assert_str_eq(peer.text, "{\"do\": 1}");
	cr_assert_eq(peer.n_given, 1);
	probe_peer_next(&peer);
	cr_assert_eq(peer.n_given, 0);
	send_text("x\n", 0);
	cr_assert_eq(probe_peer_read(&peer, NULL), 1);
	cr_assert_str_eq(peer.text, "x");
}

Test(probe_peer, may_not_send_too_long_a_line)
{
	static char text[PROBE_REQUEST_MAX + 1];

	memset(text, 'x', PROBE_REQUEST_MAX - 1);
	send_text(text, 0);
	cr_assert_eq(probe_peer_read(&peer, NULL), 0);
	send_text("x", 0);
	cr_assert_eq(probe_peer_read(&peer, NULL), -EMSGSIZE);
}

Test(probe_peer, may_send_a_line_of_the_greatest_length)
{
	static char text[PROBE_REQUEST_MAX + 1];

	memset(text, 'x', PROBE_REQUEST_MAX - 1);
	text[PROBE_REQUEST_MAX - 1] = '\n';
	send_text(text, 0);
	cr_assert_eq(probe_peer_read(&peer, NULL), 1);
	cr_assert_eq(strlen(peer.text), PROBE_REQUEST_MAX - 1);
}

Test(probe_peer, gives_as_many_files_as_a_request_may_have)
{
	const size_t before = count_open();

	send_text("a", 10);
	send_text("b", 10);
	while (peer.size < 2)
		cr_assert_eq(probe_peer_read(&peer, NULL), 0);
	cr_assert_eq(peer.n_given, PROBE_REQUEST_FDS);
	/* It refers to the first, and has none open. */
	cr_assert_eq(count_open(), before + 1);
	cr_assert(fcntl(peer.file, F_GETFL) & O_PATH);
	send_text("c", 40); /* the kernel drops what has no room */
	cr_assert_eq(probe_peer_read(&peer, NULL), 0);
	cr_assert_eq(count_open(), before + 1);
	probe_peer_next(&peer);
	cr_assert_eq(count_open(), before);
	cr_assert_eq(peer.file, -1);
}

Test(probe_peer, has_gone)
{
	shutdown(other, SHUT_RDWR);
	cr_assert_eq(probe_peer_read(&peer, NULL), -ECONNRESET);
}

Test(probe_peer, gets_a_long_answer_in_parts)
{
	const size_t size = 1 << 20;
	char *line = malloc(size), *got = malloc(size);
	size_t n = 0;
	int sent;

	cr_assert_eq(probe_peer_send(&peer, strdup("yes\n")), 0);
	cr_assert_eq(read(other, got, 4), 4);
	cr_assert(memcmp(got, "yes\n", 4) == 0 && !peer.answer);
	for (size_t i = 0; i < size - 1; i++)
		line[i] = (char)('a' + i % 26);
	line[size - 1] = '\0';
	sent = probe_peer_send(&peer, line);
	cr_assert_eq(sent, 1);
	while (n < size - 1) {
		ssize_t more = read(other, got + n, size - n);

		cr_assert_gt(more, 0);
		n += (size_t)more;
		if (sent == 1)
			sent = probe_peer_go_on(&peer);
		cr_assert_geq(sent, 0);
	}
	cr_assert_eq(sent, 0);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(got[i], 'a' + (char)(i % 26));
	free(got);
}

Test(probe_peer, that_does_not_read_is_not_waited_for)
{
	char *line = calloc(1, 1 << 20);

	cr_assert(!probe_peer_is_slow(&peer, clock_now_ns() + PROBE_PEER_TIME_NS));
	memset(line, 'x', (1 << 20) - 1);
	cr_assert_eq(probe_peer_send(&peer, line), 1);
	cr_assert(!probe_peer_is_slow(&peer, clock_now_ns()));
	cr_assert(probe_peer_is_slow(&peer, clock_now_ns() + PROBE_PEER_TIME_NS));
	shutdown(other, SHUT_RDWR);
	cr_assert_lt(probe_peer_go_on(&peer), 0);
}

Test(probe_peer, waits_with_a_whole_request)
{
	cr_assert(!probe_peer_waits(&peer));
	send_text("{", 0);
	cr_assert(!probe_peer_waits(&peer), "it has only begun");
	cr_assert_eq(probe_peer_read(&peer, NULL), 0);
	cr_assert(!probe_peer_waits(&peer));
	send_text("}", 1);
	cr_assert(!probe_peer_waits(&peer));
	cr_assert_eq(probe_peer_read(&peer, NULL), 0);
	send_text("\n", 0);
	cr_assert(probe_peer_waits(&peer));
	cr_assert_eq(probe_peer_read(&peer, NULL), 1);
	probe_peer_next(&peer);
	cr_assert(!probe_peer_waits(&peer));
}

Test(probe_peer, that_sends_half_a_request_is_not_waited_for)
{
	send_text("{", 0);
	cr_assert_eq(probe_peer_read(&peer, NULL), 0);
	cr_assert(!probe_peer_is_slow(&peer, clock_now_ns()));
	cr_assert(probe_peer_is_slow(&peer, clock_now_ns() + PROBE_PEER_TIME_NS));
	send_text("}", 0);
	peer.since_ns -= PROBE_PEER_TIME_NS;
	cr_assert_eq(probe_peer_read(&peer, NULL), 0);
	cr_assert(probe_peer_is_slow(&peer, clock_now_ns()), "more of it does not give it time");
	send_text("\n", 0);
	cr_assert(!probe_peer_is_slow(&peer, clock_now_ns()), "it is this side's turn");
	cr_assert_eq(probe_peer_read(&peer, NULL), 1);
	probe_peer_next(&peer);
	cr_assert(!probe_peer_is_slow(&peer, clock_now_ns() + PROBE_PEER_TIME_NS));
}

/* It is there for poll(): whoever leaves it there is woken at once, without end. */
Test(probe_peer, sends_an_urgent_byte)
{
	struct pollfd fd = { .fd = peer.fd, .events = POLLIN };

	if (send(other, "x", 1, MSG_OOB) < 0)
		cr_skip("this kernel has none");
	cr_assert_eq(poll(&fd, 1, 0), 1);
	cr_assert_eq(probe_peer_read(&peer, NULL), 0);
	cr_assert_eq(poll(&fd, 1, 0), 0);
	send_text("\n", 0);
	cr_assert_eq(probe_peer_read(&peer, NULL), 1);
	cr_assert_str_eq(peer.text, "x");
}
