/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_UEVENT_H
#define DP_KERNEL_UEVENT_H

#include <stdbool.h>
#include <stddef.h>

/* A CPU that came online or went offline. */
struct uevent_cpu {
	unsigned int cpu;
	bool is_online;
};

/*
 * Returns a descriptor, owned by the caller, that is readable when a CPU has come online or gone
 * offline: a netlink socket for uevents (netlink(7), NETLINK_KOBJECT_UEVENT). Negative errno on
 * failure. In a network namespace that belongs to another user namespace, no events arrive.
 */
int uevent_open(void);

/*
 * Returns the next change. -EAGAIN: there is none. -ENOBUFS: the kernel dropped events that are
 * newer than those still readable, so the state of any CPU may have changed, even repeatedly. Or
 * another negative errno.
 */
int uevent_next(int fd, struct uevent_cpu *ret);

/* Is this uevent, in the kernel's format, about a CPU? If not, *ret is undefined. */
bool uevent_parse(const char *message, size_t size, struct uevent_cpu *ret);

#endif
