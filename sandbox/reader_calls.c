// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reader_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"

/* Calls that libseccomp may not know by name; on each machine they have these numbers. */
enum {
	CALL_PROCESS_MADVISE = 440,
	CALL_PROCESS_MRELEASE = 448,
	CALL_FCHMODAT2 = 452,
	CALL_SETXATTRAT = 463,
	CALL_REMOVEXATTRAT = 466,
	CALL_FILE_SETATTR = 469,
};

/* Options of sockets, since 6.5: the other end's pidfd, and those of who sends. */
#define OPTION_PASSPIDFD 76
#define OPTION_PEERPIDFD 77

/* It needs too many calls to list them; these are those it must not have. */
static const int forbidden[] = {
	SCMP_SYS(add_key),
	SCMP_SYS(bpf),
	SCMP_SYS(chmod),
	SCMP_SYS(chown),
	SCMP_SYS(chroot),
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(fanotify_init), /* its events can bring pidfds */
	SCMP_SYS(fchmod),
	SCMP_SYS(fchmodat),
	SCMP_SYS(fchown),
	SCMP_SYS(fchownat),
	SCMP_SYS(fork),
	SCMP_SYS(fremovexattr),
	SCMP_SYS(fsetxattr),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(ioprio_set),
	SCMP_SYS(kcmp),
	SCMP_SYS(keyctl),
	SCMP_SYS(kill),
	SCMP_SYS(lchown),
	SCMP_SYS(lremovexattr),
	SCMP_SYS(lsetxattr),
	SCMP_SYS(migrate_pages),
	SCMP_SYS(mount),
	SCMP_SYS(move_pages),
	SCMP_SYS(mq_open),
	SCMP_SYS(mq_unlink),
	SCMP_SYS(msgctl),
	SCMP_SYS(msgget),
	SCMP_SYS(msgrcv),
	SCMP_SYS(msgsnd),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(removexattr),
	SCMP_SYS(request_key),
	SCMP_SYS(rt_sigqueueinfo),
	SCMP_SYS(rt_tgsigqueueinfo),
	SCMP_SYS(semctl),
	SCMP_SYS(semget),
	SCMP_SYS(semop),
	SCMP_SYS(semtimedop),
	SCMP_SYS(setns),
	SCMP_SYS(setxattr),
	SCMP_SYS(shmat),
	SCMP_SYS(shmctl),
	SCMP_SYS(shmget),
	SCMP_SYS(tkill),
	SCMP_SYS(truncate),
	SCMP_SYS(unshare),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(vfork),
#if !defined(__SANITIZE_ADDRESS__) /* which looks for leaks by it */
	SCMP_SYS(ptrace),
#endif
	CALL_PROCESS_MADVISE,
	CALL_PROCESS_MRELEASE,
	CALL_FCHMODAT2,
	CALL_SETXATTRAT,
	CALL_REMOVEXATTRAT,
	CALL_FILE_SETATTR,
};

static const int calls_of_servers[] = {
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(listen),
};

static const int calls_of_clients[] = {
	SCMP_SYS(bind), /* the C library's, to ask for addresses */
	SCMP_SYS(connect),
	SCMP_SYS(socket),
};

/* Types a terminal's input; changes what a file is; sends signals to others. */
static const unsigned int requests[] = {
	TIOCSTI,
	TIOCLINUX,
	FS_IOC_SETFLAGS,
	FS_IOC32_SETFLAGS,
	FS_IOC_FSSETXATTR,
	FIOSETOWN,
	SIOCSPGRP,
	FIOASYNC,
	FS_IOC_ENABLE_VERITY,
	FS_IOC_SET_ENCRYPTION_POLICY,
	BTRFS_IOC_SUBVOL_SETFLAGS,
	BTRFS_IOC_SUBVOL_CREATE,
	BTRFS_IOC_SUBVOL_CREATE_V2,
};

/* The kernel looks at the lower half of what is an int for it. */
#define IS(argument, value)                                                                        \
	{                                                                                          \
		argument, SCMP_CMP_MASKED_EQ, UINT32_MAX, value                                    \
	}
#define HAS(argument, mask, value)                                                                 \
	{                                                                                          \
		argument, SCMP_CMP_MASKED_EQ, mask, value                                          \
	}
#define IS_NOT(argument, value)                                                                    \
	{                                                                                          \
		argument, SCMP_CMP_NE, value                                                       \
	}

/* Who is not named by 0 is another. */
static const struct {
	int call;
	struct scmp_arg_cmp arguments[2];
	unsigned int n;
} by_arguments[] = {
	{ SCMP_SYS(fcntl), { IS(1, F_SETOWN) }, 1 },
	{ SCMP_SYS(fcntl), { IS(1, F_SETOWN_EX) }, 1 },
	{ SCMP_SYS(fcntl), { IS(1, F_SETSIG) }, 1 },
	{ SCMP_SYS(fcntl), { IS(1, F_SETFL), HAS(2, O_ASYNC, O_ASYNC) }, 2 },
	{ SCMP_SYS(getsockopt), { IS(1, SOL_SOCKET), IS(2, OPTION_PEERPIDFD) }, 2 },
	{ SCMP_SYS(setsockopt), { IS(1, SOL_SOCKET), IS(2, OPTION_PASSPIDFD) }, 2 },
	/* Landlock sees it from Linux 6.2 on. */
	{ SCMP_SYS(open), { HAS(1, O_ACCMODE | O_TRUNC, O_TRUNC) }, 1 },
	{ SCMP_SYS(openat), { HAS(2, O_ACCMODE | O_TRUNC, O_TRUNC) }, 1 },
	{ SCMP_SYS(prlimit64), { IS_NOT(0, 0) }, 1 },
	{ SCMP_SYS(sched_setaffinity), { IS_NOT(0, 0) }, 1 },
	{ SCMP_SYS(sched_setattr), { IS_NOT(0, 0) }, 1 },
	{ SCMP_SYS(sched_setparam), { IS_NOT(0, 0) }, 1 },
	{ SCMP_SYS(sched_setscheduler), { IS_NOT(0, 0) }, 1 },
	{ SCMP_SYS(setpriority), { IS_NOT(0, PRIO_PROCESS) }, 1 },
	{ SCMP_SYS(setpriority), { IS_NOT(1, 0) }, 1 },
	/* Pairs are connected for good, but for these, which could be sent to any socket's path. */
	{ SCMP_SYS(socketpair), { IS_NOT(0, AF_UNIX) }, 1 },
	{ SCMP_SYS(socketpair), { HAS(1, 0xf, SOCK_DGRAM) }, 1 },
	{ SCMP_SYS(socketpair), { HAS(1, 0xf, SOCK_RAW) }, 1 },
#if !defined(__SANITIZE_ADDRESS__)
	{ SCMP_SYS(clone), { HAS(0, CLONE_THREAD, 0) }, 1 },
#endif
};

static int forbid(scmp_filter_ctx filter, const int *list, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), list[i], 0);
	return err;
}

static int forbid_by_arguments(scmp_filter_ctx filter)
{
	int err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1,
				   SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)getpid()));

	for (size_t i = 0; i < ARRAY_SIZE(by_arguments) && err == 0; i++)
		err = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), by_arguments[i].call,
					     by_arguments[i].n, by_arguments[i].arguments);
	for (size_t i = 0; i < ARRAY_SIZE(requests) && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
				       SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, requests[i]));
	/* Its flags lie in memory. The C library does without. */
	if (err == 0)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return err;
}

/* A server is on the Internet; one of this machine, such as that of containers, could be root's. */
static int forbid_families(scmp_filter_ctx filter)
{
	int err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
				   SCMP_A0(SCMP_CMP_GT, AF_NETLINK));

	for (scmp_datum_t family = 0; family < AF_NETLINK && err == 0; family++)
		if (family != AF_INET && family != AF_INET6)
			err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
					       SCMP_A0(SCMP_CMP_EQ, family));
	return err;
}

static int forbid_all(scmp_filter_ctx filter, bool asks_servers)
{
	int err = forbid(filter, forbidden, ARRAY_SIZE(forbidden));

	if (err == 0)
		err = forbid(filter, calls_of_servers, ARRAY_SIZE(calls_of_servers));
	if (err == 0)
		err = asks_servers ? forbid_families(filter) :
				     forbid(filter, calls_of_clients, ARRAY_SIZE(calls_of_clients));
	return err == 0 ? forbid_by_arguments(filter) : err;
}

bool reader_calls_restrict(bool asks_servers)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int err = filter ? forbid_all(filter, asks_servers) : -ENOMEM;

	if (err == 0)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err == 0;
}
