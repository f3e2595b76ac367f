// SPDX-License-Identifier: Apache-2.0
/* Messages arrive whole, with their descriptors; others are refused, and leave none open. */
#include "sandbox/message.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int ends[2];

static void begin(void)
{
	cr_assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
}

static void end(void)
{
	close(ends[0]);
	close(ends[1]);
}

TestSuite(message, .init = begin, .fini = end, .timeout = 60);

static ino_t inode(int fd)
{
	struct stat st;

	cr_assert(fstat(fd, &st) == 0);
	return st.st_ino;
}

/* The next descriptor that would be opened. */
static int next_fd(void)
{
	int fd = dup(ends[0]);

	close(fd);
	return fd;
}

Test(message, arrives_with_descriptors)
{
	const int sent[] = { memfd_create("a", 0), memfd_create("b", 0) };
	int fds[MESSAGE_MAX_FDS];
	long value = 0;

	cr_assert(message_send(ends[0], &(long){ 42 }, sizeof(long), sent, 2) == 0);
	cr_assert(message_receive(ends[1], &value, sizeof(value), fds) == 0);
	cr_assert(value == 42 && fds[2] == -1);
	cr_assert(inode(fds[0]) == inode(sent[0]) && inode(fds[1]) == inode(sent[1]));
	cr_assert(fcntl(fds[0], F_GETFD) == FD_CLOEXEC);
	cr_assert(message_send(ends[0], &value, sizeof(value), NULL, 0) == 0);
	cr_assert(message_receive(ends[1], &value, sizeof(value), fds) == 0 && fds[0] == -1);
}

Test(message, of_another_size_is_refused)
{
	const int sent[] = { ends[0], ends[0], ends[0] };
	int fds[MESSAGE_MAX_FDS], next = next_fd();
	long value;

	cr_assert(message_send(ends[0], "x", 1, sent, 3) == 0);
	cr_assert_eq(message_receive(ends[1], &value, sizeof(value), fds), -EPROTO);
	cr_assert(message_send(ends[0], "longer than a long", 18, sent, 1) == 0);
	cr_assert_eq(message_receive(ends[1], &value, sizeof(value), fds), -EPROTO);
	cr_assert(fds[0] == -1 && next_fd() == next);
	cr_assert_eq(message_send(ends[0], "", 1, sent, MESSAGE_MAX_FDS + 1), -EINVAL);
}

/* More descriptors than a message can have. */
static void expect_too_many(size_t n)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = { .header = { CMSG_LEN(n * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec data = { (char[8]){ 0 }, 8 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	int fds[MESSAGE_MAX_FDS], next = next_fd();
	long value;

	for (size_t i = 0; i < n; i++)
		memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &ends[0], sizeof(int));
	cr_assert(sendmsg(ends[0], &message, 0) == 8);
	cr_assert_eq(message_receive(ends[1], &value, sizeof(value), fds), -EPROTO);
	cr_assert_eq(next_fd(), next);
}

Test(message, with_too_many_descriptors_is_refused)
{
	for (size_t n = MESSAGE_MAX_FDS + 1; n <= 8; n++)
		expect_too_many(n);
}

Test(message, tells_that_the_other_end_is_closed)
{
	int fds[MESSAGE_MAX_FDS];
	long value;

	close(ends[0]);
	cr_assert_eq(message_receive(ends[1], &value, sizeof(value), fds), -EPIPE);
	cr_assert_eq(message_send(ends[1], &value, sizeof(value), NULL, 0), -EPIPE);
	ends[0] = dup(ends[1]);
}
