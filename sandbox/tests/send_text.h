/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_TESTS_SEND_TEXT_H
#define DP_SANDBOX_TESTS_SEND_TEXT_H

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define SEND_TEXT_MAX_FDS 64

/* Sends a text through a Unix socket, with descriptors: as users may, and more than are taken. */
static inline void send_text(int to, const char *text, const int *fds, size_t n_fds)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(SEND_TEXT_MAX_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec part = { (char *)text, strlen(text) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	cr_assert_leq(n_fds, SEND_TEXT_MAX_FDS);
	if (n_fds > 0) {
		control.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS,
						 .cmsg_len = CMSG_LEN(n_fds * sizeof(*fds)) };
		memcpy(CMSG_DATA(&control.head), fds, n_fds * sizeof(*fds));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(*fds));
	}
	cr_assert_eq(sendmsg(to, &message, 0), (ssize_t)strlen(text));
}

#endif
