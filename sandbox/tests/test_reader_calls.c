// SPDX-License-Identifier: Apache-2.0
/* What a process that reads recordings may not call, and may. */
#include "sandbox/reader_calls.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "sandbox/confine.h"

/* No process has it. */
#define NOBODY 0x3fffffff
/* What is above an int, the kernel does not see. */
#define ABOVE (INT64_C(1) << 32)
#define STREAM SOCK_STREAM, 0
#define VIRTUAL 40

TestSuite(reader_calls, .timeout = 60);

/* Otherwise they fail, but not with EPERM, or do no harm. */
struct attempt {
	const char *name;
	long number, arguments[4];
};

static const struct attempt signals[] = {
	{ "kill", SYS_kill, { NOBODY, 0 } },
	{ "tkill", SYS_tkill, { NOBODY, 0 } },
	{ "tgkill", SYS_tgkill, { NOBODY, NOBODY, 0 } },
	{ "rt_sigqueueinfo", SYS_rt_sigqueueinfo, { NOBODY, 0, 0 } },
	{ "rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo, { NOBODY, NOBODY, 0, 0 } },
	{ "pidfd_send_signal", SYS_pidfd_send_signal, { -1, 0, 0, 0 } },
	{ "F_SETOWN", SYS_fcntl, { -1, F_SETOWN, NOBODY } },
	{ "F_SETOWN above", SYS_fcntl, { -1, ABOVE | F_SETOWN, NOBODY } },
	{ "F_SETOWN_EX", SYS_fcntl, { -1, F_SETOWN_EX, 0 } },
	{ "F_SETSIG", SYS_fcntl, { -1, F_SETSIG, SIGKILL } },
	{ "O_ASYNC", SYS_fcntl, { -1, F_SETFL, O_ASYNC | O_NONBLOCK } },
	{ "FIOSETOWN", SYS_ioctl, { -1, FIOSETOWN, 0 } },
	{ "SIOCSPGRP", SYS_ioctl, { -1, SIOCSPGRP, 0 } },
	{ "FIOASYNC", SYS_ioctl, { -1, FIOASYNC, 0 } },
};

static const struct attempt attributes[] = {
	{ "fchmod", SYS_fchmod, { -1, 0 } },
	{ "fchmodat2", 452, { -1, 0, 0, 0 } },
	{ "setxattrat", 463, { -1, 0, 0, 0 } },
	{ "removexattrat", 466, { -1, 0, 0, 0 } },
	{ "file_setattr", 469, { -1, 0, 0, 0 } },
	{ "FS_IOC_SETFLAGS", SYS_ioctl, { -1, FS_IOC_SETFLAGS, 0 } },
	{ "FS_IOC_SETFLAGS above", SYS_ioctl, { -1, ABOVE | FS_IOC_SETFLAGS, 0 } },
	{ "FS_IOC32_SETFLAGS", SYS_ioctl, { -1, FS_IOC32_SETFLAGS, 0 } },
	{ "FS_IOC_FSSETXATTR", SYS_ioctl, { -1, FS_IOC_FSSETXATTR, 0 } },
	{ "FS_IOC_ENABLE_VERITY", SYS_ioctl, { -1, 0x40806685, 0 } },
	{ "FS_IOC_SET_ENCRYPTION_POLICY", SYS_ioctl, { -1, 0x800c6613, 0 } },
	{ "BTRFS_IOC_SUBVOL_SETFLAGS", SYS_ioctl, { -1, 0x4008941a, 0 } },
	{ "O_TRUNC", SYS_openat, { -1, (long)"", O_TRUNC } },
	{ "open and O_TRUNC", SYS_open, { (long)"", O_TRUNC } },
};

static const struct attempt pidfds[] = {
	{ "pidfd_open", SYS_pidfd_open, { NOBODY, 0 } },
	{ "pidfd_getfd", SYS_pidfd_getfd, { -1, 0, 0 } },
	{ "SO_PEERPIDFD", SYS_getsockopt, { -1, SOL_SOCKET, 77, 0 } },
	{ "SO_PEERPIDFD above", SYS_getsockopt, { -1, ABOVE | SOL_SOCKET, ABOVE | 77, 0 } },
	{ "SO_PASSPIDFD", SYS_setsockopt, { -1, SOL_SOCKET, 76, 0 } },
};

static const struct attempt processes[] = {
	{ "prlimit64", SYS_prlimit64, { NOBODY, RLIMIT_DATA, 0, 0 } },
	{ "sched_setaffinity", SYS_sched_setaffinity, { NOBODY, 0, 0 } },
	{ "sched_setattr", SYS_sched_setattr, { NOBODY, 0, 0 } },
	{ "sched_setparam", SYS_sched_setparam, { NOBODY, 0 } },
	{ "sched_setscheduler", SYS_sched_setscheduler, { NOBODY, 0, 0 } },
	{ "setpriority", SYS_setpriority, { PRIO_PROCESS, NOBODY, 19 } },
	{ "PRIO_PGRP", SYS_setpriority, { PRIO_PGRP, NOBODY, 19 } },
	{ "PRIO_USER", SYS_setpriority, { PRIO_USER, NOBODY, 19 } },
	{ "ioprio_set", SYS_ioprio_set, { 1, NOBODY, 0 } },
	{ "process_madvise", 440, { -1, 0, 0, 0 } },
	{ "process_mrelease", 448, { -1, 0 } },
	{ "migrate_pages", SYS_migrate_pages, { NOBODY, 0, 0, 0 } },
	{ "move_pages", SYS_move_pages, { NOBODY, 0, 0, 0 } },
};

static const struct attempt shared[] = {
	{ "shmget", SYS_shmget, { NOBODY, 0, 0 } },
	{ "shmat", SYS_shmat, { -1, 0, 0 } },
	{ "shmctl", SYS_shmctl, { -1, 0, 0 } },
	{ "msgget", SYS_msgget, { NOBODY, 0 } },
	{ "msgsnd", SYS_msgsnd, { -1, 0, 0, 0 } },
	{ "msgrcv", SYS_msgrcv, { -1, 0, 0, 0 } },
	{ "msgctl", SYS_msgctl, { -1, 0, 0 } },
	{ "semget", SYS_semget, { NOBODY, 0, 0 } },
	{ "semop", SYS_semop, { -1, 0, 0 } },
	{ "semtimedop", SYS_semtimedop, { -1, 0, 0, 0 } },
	{ "semctl", SYS_semctl, { -1, 0, 0, 0 } },
	{ "mq_open", SYS_mq_open, { 0, 0, 0, 0 } },
	{ "mq_unlink", SYS_mq_unlink, { 0 } },
};

static const struct attempt sockets[] = {
	{ "AF_UNIX", SYS_socket, { AF_UNIX, STREAM } },
	{ "AF_UNIX above", SYS_socket, { ABOVE | AF_UNIX, STREAM } },
	{ "AF_VSOCK", SYS_socket, { VIRTUAL, STREAM } },
	{ "AF_ALG", SYS_socket, { AF_ALG, SOCK_SEQPACKET, 0 } },
	{ "listen", SYS_listen, { -1, 0 } },
	{ "accept", SYS_accept, { -1, 0, 0 } },
	{ "accept4", SYS_accept4, { -1, 0, 0, 0 } },
	{ "pair of datagrams", SYS_socketpair, { AF_UNIX, SOCK_DGRAM, 0, 0 } },
	{ "raw pair", SYS_socketpair, { AF_UNIX, SOCK_RAW, 0, 0 } },
};

static const struct attempt allowed[] = {
	{ "F_SETFL", SYS_fcntl, { -1, F_SETFL, O_NONBLOCK } },
	{ "O_WRONLY", SYS_openat, { -1, (long)"", O_WRONLY | O_TRUNC } },
	{ "F_DUPFD", SYS_fcntl, { -1, F_DUPFD_CLOEXEC, 0 } },
	{ "SO_TYPE", SYS_getsockopt, { -1, SOL_SOCKET, SO_TYPE, 0 } },
	{ "own prlimit64", SYS_prlimit64, { 0, RLIMIT_DATA, 0, 0 } },
	{ "own setpriority", SYS_setpriority, { PRIO_PROCESS, 0, 19 } },
	{ "own affinity", SYS_sched_setaffinity, { 0, 0, 0 } },
	{ "pair", SYS_socketpair, { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, 0 } },
	{ "TCGETS", SYS_ioctl, { -1, TCGETS, 0 } },
};

static const struct attempt asking[] = {
	{ "AF_INET", SYS_socket, { AF_INET, STREAM } },
	{ "AF_INET6", SYS_socket, { AF_INET6, STREAM } },
	{ "AF_NETLINK", SYS_socket, { AF_NETLINK, SOCK_RAW, 0 } },
	{ "bind", SYS_bind, { -1, 0, 0 } },
	{ "connect", SYS_connect, { -1, 0, 0 } },
};

enum confined { NOT_CONFINED, READS, ASKS };

/* In a process of its own. */
static void check(const struct attempt *all, size_t n, enum confined confined, bool allows)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (confined != NOT_CONFINED && !reader_calls_restrict(confined == ASKS))
			_exit(1);
		for (size_t i = 0; i < n; i++) {
			const long *a = all[i].arguments;
			long result = syscall(all[i].number, a[0], a[1], a[2], a[3]);
			bool is_allowed = result >= 0 || errno != EPERM;

			if (is_allowed == allows)
				continue;
			fprintf(stderr, "%s: %s\n", all[i].name,
				is_allowed ? "allowed" : "forbidden");
			_exit(1);
		}
		_exit(0);
	}
	cr_assert(waitpid(pid, &status, 0) == pid);
	cr_assert_eq(status, 0, "confined %d, should be allowed: %d", confined, allows);
}

static void check_forbidden(const struct attempt *all, size_t n)
{
	check(all, n, NOT_CONFINED, true);
	check(all, n, READS, false);
	check(all, n, ASKS, false);
}

Test(reader_calls, send_no_signals)
{
	check_forbidden(signals, ARRAY_SIZE(signals));
}

Test(reader_calls, change_no_attributes)
{
	check_forbidden(attributes, ARRAY_SIZE(attributes));
}

Test(reader_calls, get_no_pidfds)
{
	check_forbidden(pidfds, ARRAY_SIZE(pidfds));
}

Test(reader_calls, change_no_other_process)
{
	check_forbidden(processes, ARRAY_SIZE(processes));
}

Test(reader_calls, share_nothing)
{
	check_forbidden(shared, ARRAY_SIZE(shared));
}

Test(reader_calls, serve_nobody_and_reach_no_socket_of_this_machine)
{
	check_forbidden(sockets, ARRAY_SIZE(sockets));
}

Test(reader_calls, do_what_is_needed)
{
	check(allowed, ARRAY_SIZE(allowed), READS, true);
	check(allowed, ARRAY_SIZE(allowed), ASKS, true);
}

Test(reader_calls, ask_servers_if_asked)
{
	check(asking, ARRAY_SIZE(asking), READS, false);
	check(asking, ARRAY_SIZE(asking), ASKS, true);
}

static bool is_without_filter;

int __real_seccomp_load(scmp_filter_ctx filter);
int __wrap_seccomp_load(scmp_filter_ctx filter);

int __wrap_seccomp_load(scmp_filter_ctx filter)
{
	return is_without_filter ? 0 : __real_seccomp_load(filter);
}

/* An abstract socket that listens. */
static struct sockaddr_un begin_service(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "dwarfprof-test-%d", getpid());
	cr_assert(bind(server, (struct sockaddr *)&name, sizeof(name)) == 0);
	cr_assert(listen(server, 1) == 0);
	return name;
}

/* Landlock alone, if it can (from 6.12 on). */
Test(reader_calls, are_forbidden_twice)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct sockaddr_un name = begin_service();
	int status;
	pid_t pid;

	if (version < 6)
		cr_skip("no scopes");
	pid = fork();
	if (pid == 0) {
		const struct confine_reader reader = { 0 };
		struct confinement confinement;
		int client;

		is_without_filter = true;
		confine_reader(&reader, &confinement);
		client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (kill(getppid(), 0) == 0 || errno != EPERM || kill(getpid(), 0) < 0)
			_exit(1);
		_exit(connect(client, (struct sockaddr *)&name, sizeof(name)) == 0 ? 2 :
		      errno == EPERM                                               ? 0 :
										     3);
	}
	cr_assert(waitpid(pid, &status, 0) == pid);
	cr_assert_eq(status, 0);
}
