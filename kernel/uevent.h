/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_UEVENT_H
#define DP_KERNEL_UEVENT_H

#include <stdbool.h>
#include <stddef.h>

/* What has become of a CPU. */
struct uevent_cpu {
	unsigned int cpu;
	bool is_online;
};

/*
 * A descriptor, the caller's, that becomes readable when CPUs come online and go offline: a socket
 * for the kernel's uevents (netlink(7), NETLINK_KOBJECT_UEVENT), which come when the CPU runs, or
 * has stopped; or a negative errno. In a network namespace that another user namespace owns, it
 * never does.
 */
int uevent_open(void);

/*
 * The next change. -EAGAIN: there is none; -ENOBUFS: the kernel has dropped some that are newer
 * than all that can still be read, so any CPU may have changed, also more than once; or another
 * negative errno.
 */
int uevent_next(int fd, struct uevent_cpu *ret);

/* Is a uevent, as the kernel writes it, about a CPU? Then *ret says which, else it is undefined. */
bool uevent_parse(const char *message, size_t size, struct uevent_cpu *ret);

#endif
