// SPDX-License-Identifier: Apache-2.0
#include "sandbox/given.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "limits/limits.h"
#include "sandbox/security_domain.h"

union control {
	struct cmsghdr head; /* for its alignment */
	char bytes[CMSG_SPACE(GIVEN_MAX_FILES * sizeof(int))];
};

static int received(ssize_t n)
{
	if (n < 0)
		return errno == EINTR ? -EAGAIN : errno == ECONNRESET ? -EPIPE : -errno;
	return n == 0 ? -EPIPE : (int)n;
}

int given_look(int socket, char *ret_text, size_t size, bool *ret_has_files)
{
	struct iovec part = { ret_text, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n = recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT);

	/* There is no room for descriptors, and the kernel tells (put_cmsg(), net/core/scm.c). */
	*ret_has_files = n > 0 && (message.msg_flags & MSG_CTRUNC);
	return received(n);
}

bool given_is_left(int socket)
{
	char text[4096];
	bool has_files;
	int n;

	do {
		n = given_look(socket, text, sizeof(text), &has_files);
	} while (n > 0 && !has_files && recv(socket, text, (size_t)n, MSG_DONTWAIT) > 0);
	return n != -EAGAIN && n != -EPIPE;
}

static int refer_to(int fd)
{
	char link[32];
	int reference;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	reference = open(link, O_PATH | O_CLOEXEC);
	return reference < 0 ? -errno : reference;
}

/*
 * Whose /proc/PID/mem its path says that it is. The file there is not looked at: with the mount option hidepid, who
 * may not trace the process does not see it.
 */
static bool is_of_process(int fd, const struct stat *st, uint32_t *ret)
{
	char link[32], path[64] = "", same[64];
	struct stat own;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0 ||
	    sscanf(path, "/proc/%" SCNu32 "/mem", ret) != 1)
		return false;
	snprintf(same, sizeof(same), "/proc/%" PRIu32 "/mem", *ret);
	return strcmp(path, same) == 0 && stat("/proc/self/mem", &own) == 0 &&
	       own.st_dev == st->st_dev;
}

/*
 * Who may open /proc/PID/mem may trace the process (proc_mem_open(), fs/proc/base.c), as it was bound then: what it
 * has executed since may be bound otherwise, but has other memory, and that which was opened is empty unless another
 * process shares it. Who has it open can read and write it, too, if the process has changed its domain by itself.
 */
static void know_memory(int fd, const struct stat *st, struct given_file *ret)
{
	_cleanup_free_ char *domain = NULL;
	char byte;

	if (!ret->is_readable || !is_of_process(fd, st, &ret->pid) ||
	    security_domain_read(ret->pid, &domain) < 0)
		return;
	security_domain_digest(domain, ret->domain);
	ret->has_memory = pread(fd, &byte, 1, 1) != 0;
}

static struct given_file look_at(int fd)
{
	const int flags = fcntl(fd, F_GETFL);
	struct given_file file = { .is_readable = flags >= 0 && !(flags & O_PATH) &&
						  (flags & O_ACCMODE) != O_WRONLY };
	struct stat st;

	if (file_stat(fd, &st) < 0)
		return (struct given_file){ 0 };
	file.device = st.st_dev;
	file.inode = st.st_ino;
	know_memory(fd, &st, &file);
	return file;
}

/* The kernel puts all into one; what has no room is not received. */
static size_t take_fds(struct msghdr *message, int ret[GIVEN_MAX_FILES])
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	size_t n;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return 0;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(ret, CMSG_DATA(c), n * sizeof(int));
	return n;
}

int given_receive(int socket, size_t size, struct given *ret, int *ret_first)
{
	union control control;
	struct iovec part = { ret->text, size };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  /* Padding would have room for one more. */
				  .msg_controllen = CMSG_LEN(GIVEN_MAX_FILES * sizeof(int)) };
	int fds[GIVEN_MAX_FILES], n;

	*ret_first = -1;
	ret->size = ret->n_files = 0;
	if (size == 0 || size > GIVEN_MAX_TEXT)
		return -EINVAL;
	n = received(recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
	if (n < 0)
		return n;
	ret->size = (uint32_t)n;
	ret->n_files = (uint32_t)take_fds(&message, fds);
	if (ret->n_files > 0)
		*ret_first = refer_to(fds[0]);
	for (size_t i = 0; i < ret->n_files; i++) {
		ret->files[i] = look_at(fds[i]);
		close(fds[i]);
	}
	return 0;
}
