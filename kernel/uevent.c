// SPDX-License-Identifier: Apache-2.0
#include "kernel/uevent.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/cleanup.h"

/* The kernel's own messages; udev's use another group. */
#define KERNEL_GROUP 1

/* The kernel's buffer behind the header: UEVENT_BUFFER_SIZE, include/linux/kobject.h */
#define MAX_MESSAGE (4096 + 1024)

/*
 * Accepts only messages that begin with "online@" or "offline@". A machine that discovers devices
 * sends thousands of others, which would fill the socket's buffer.
 */
static int leave_others_out(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 'o', 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ?
		       -errno :
		       0;
}

int uevent_open(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP };
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
					NETLINK_KOBJECT_UEVENT);

	int err;

	if (fd < 0)
		return -errno;
	err = leave_others_out(fd);
	if (err < 0)
		return err;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return steal_fd(&fd);
}

/*
 * "online@/devices/system/cpu/cpu3", a zero byte, and the same again as KEY=value pairs, not
 * needed.
 */
bool uevent_parse(const char *message, size_t size, struct uevent_cpu *ret)
{
	static const char path[] = "@/devices/system/cpu/cpu";
	const char *end = memchr(message, '\0', size);
	const char *at = end ? strchr(message, '@') : NULL;
	size_t n = at ? (size_t)(at - message) : 0;
	char *rest;

	if (!at || strncmp(at, path, sizeof(path) - 1) != 0)
		return false;
	if (n == strlen("online") && strncmp(message, "online", n) == 0)
		ret->is_online = true;
	else if (n == strlen("offline") && strncmp(message, "offline", n) == 0)
		ret->is_online = false;
	else
		return false;
	at += sizeof(path) - 1;
	ret->cpu = (unsigned int)strtoul(at, &rest, 10);
	return rest > at && *rest == '\0';
}

int uevent_next(int fd, struct uevent_cpu *ret)
{
	char message[MAX_MESSAGE];

	for (;;) {
		struct sockaddr_nl from = { 0 };
		socklen_t from_size = sizeof(from);
		ssize_t n = recvfrom(fd, message, sizeof(message), 0, (struct sockaddr *)&from,
				     &from_size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		/* Other processes can send messages too. The kernel's have port id 0. */
		if (from.nl_pid == 0 && uevent_parse(message, (size_t)n, ret))
			return 0;
	}
}
