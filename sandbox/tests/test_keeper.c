// SPDX-License-Identifier: Apache-2.0
/* A process that has given up its rights, and what the one that has kept them does for it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "limits/limits.h"
#include "sandbox/confine.h"
#include "sandbox/keeper.h"

#define NUMBER 3
#define ENDS_MS 10000
#define MEMORY (UINT64_C(2) << 30)

TestSuite(keeper, .timeout = 60);

/* Ends with its parent, which may have ended already. */
static void follow(pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(0);
}

/* A child, which ends with this process. */
static pid_t start_other(int *ret_pidfd)
{
	pid_t self = getpid(), pid = fork();

	if (pid == 0) {
		follow(self);
		pause();
		_exit(0);
	}
	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	cr_assert(*ret_pidfd >= 0);
	return pid;
}

/* As a spawner starts it: a child's child. */
static pid_t start_helper(int *ret_pidfd)
{
	pid_t self = getpid(), pid;
	int ends[2];

	cr_assert(pipe2(ends, O_CLOEXEC) == 0);
	if (fork() == 0) {
		follow(self);
		pid = start_other(ret_pidfd);
		cr_assert(write(ends[1], &pid, sizeof(pid)) == sizeof(pid));
		pause();
		_exit(0);
	}
	cr_assert(read(ends[0], &pid, sizeof(pid)) == sizeof(pid));
	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static int begin(void *arg, size_t number)
{
	*(size_t *)arg = number;
	return number == NUMBER ? 0 : -EINVAL;
}

/* Serves what fn asks for in another process. Returns what fn does. */
static int run_kept(int (*fn)(int fd), int fd, size_t *ret_begun)
{
	int sockets[2], status;
	pid_t pid;

	cr_assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
	pid = fork();
	if (pid == 0) {
		close(sockets[0]);
		keeper_use(sockets[1]);
		_exit(-fn(fd));
	}
	close(sockets[1]);
	keeper_serve(sockets[0], pid, begin, ret_begun);
	close(sockets[0]);
	cr_assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static bool has_ended(int pidfd)
{
	return poll(&(struct pollfd){ .fd = pidfd, .events = POLLIN }, 1, ENDS_MS) == 1;
}

static int have_child_killed(int none)
{
	int pidfd, err;

	(void)none;
	start_other(&pidfd);
	err = keeper_kill(pidfd);
	return err < 0 || has_ended(pidfd) ? err : -ETIME;
}

static int have_helper_killed(int none)
{
	int pidfd, err;

	(void)none;
	start_helper(&pidfd);
	err = keeper_kill(pidfd);
	return err < 0 || has_ended(pidfd) ? err : -ETIME;
}

Test(keeper, kills)
{
	cr_assert_eq(run_kept(have_child_killed, -1, NULL), 0);
	cr_assert_eq(run_kept(have_helper_killed, -1, NULL), 0);
}

static int ask_for_memory(int pidfd)
{
	return keeper_allow_memory(pidfd, MEMORY);
}

/* The pidfd of another, such as its parent, it may have got from a socket. */
Test(keeper, does_nothing_to_others)
{
	struct rlimit limit = { 1 << 20, RLIM_INFINITY };
	int pidfd;
	pid_t pid = start_other(&pidfd);

	cr_assert(prlimit(pid, RLIMIT_DATA, &limit, NULL) == 0);
	cr_assert_eq(run_kept(keeper_kill, pidfd, NULL), -EPERM);
	cr_assert_eq(run_kept(ask_for_memory, pidfd, NULL), -EPERM);
	cr_assert_eq(poll(&(struct pollfd){ .fd = pidfd, .events = POLLIN }, 1, 0), 0);
	cr_assert(prlimit(pid, RLIMIT_DATA, NULL, &limit) == 0);
	cr_assert_eq(limit.rlim_cur, 1 << 20);
	close(pidfd);
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	cr_assert_eq(run_kept(keeper_kill, pidfd, NULL), -EPERM);
	close(pidfd);
}

static int have_directory_killed(int none)
{
	int pidfd, directory;
	char path[32];
	pid_t pid = start_other(&pidfd);

	(void)none;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return keeper_kill(directory);
}

static int have_ended_one_killed(int none)
{
	int pidfd;
	pid_t pid = start_other(&pidfd);

	(void)none;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return keeper_allow_memory(pidfd, MEMORY) == -ESRCH ? keeper_kill(pidfd) : 0;
}

/* A directory in /proc is one for pidfd_send_signal(), and anybody can open it. */
Test(keeper, takes_no_other_descriptor)
{
	cr_assert_eq(run_kept(have_directory_killed, -1, NULL), -ESRCH);
	cr_assert_eq(run_kept(have_ended_one_killed, -1, NULL), -ESRCH);
}

/* Returns 0 if a helper gets it. */
static int have_memory_given(uint64_t asked, uint64_t got)
{
	struct rlimit limit = { 1 << 20, RLIM_INFINITY };
	int pidfd, err;
	pid_t pid = start_helper(&pidfd);

	if (prlimit(pid, RLIMIT_DATA, &limit, NULL) < 0)
		return -errno;
	err = keeper_allow_memory(pidfd, asked);
	if (err < 0 || prlimit(pid, RLIMIT_DATA, NULL, &limit) < 0)
		return err;
	return limit.rlim_cur == got ? 0 : -ERANGE;
}

static int have_some_given(int none)
{
	(void)none;
	return have_memory_given(MEMORY, MEMORY);
}

static int have_too_much_given(int none)
{
	(void)none;
	return have_memory_given(UINT64_MAX, KEEPER_MEMORY);
}

Test(keeper, gives_memory)
{
	cr_assert_eq(run_kept(have_some_given, -1, NULL), 0);
	cr_assert_eq(run_kept(have_too_much_given, -1, NULL), 0);
}

static int ask_to_begin(int number)
{
	return keeper_begin((size_t)number);
}

Test(keeper, begins_outputs)
{
	size_t begun = 0;

	cr_assert_eq(run_kept(ask_to_begin, NUMBER, &begun), 0);
	cr_assert_eq(begun, NUMBER);
	cr_assert_eq(run_kept(ask_to_begin, NUMBER + 1, &begun), -EINVAL);
}

Test(keeper, need_not_be_there)
{
	cr_assert_not(keeper_is_there());
	cr_assert_eq(keeper_kill(-1), -EBADF);
	cr_assert_eq(keeper_allow_memory(-1, 0), -EPERM);
}

static int refused(long result)
{
	return result < 0 ? errno : 0;
}

/* What the confined process may do, one digit each. */
static void attempt_all(const char *allowed, const char *other, char *ret, size_t size)
{
	char name[64], file[64];
	char *arguments[] = { (char *)"true", NULL };
	int fd;

	snprintf(name, sizeof(name), "%s/new", allowed);
	snprintf(file, sizeof(file), "%s/file", other);
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	snprintf(
		ret, size,
		"reads %d writes %d elsewhere %d truncates %d modes %d socket %d exec %d ptrace %d",
		refused(open(file, O_RDONLY | O_CLOEXEC)), refused(fd),
		refused(open(file, O_WRONLY | O_CLOEXEC)), refused(truncate(file, 0)),
		refused(chmod(file, 04755)), refused(socket(AF_INET, SOCK_STREAM, 0)),
		refused(execv("/bin/true", arguments)),
		refused(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL)));
}

static void be_reader(const char *allowed, const char *other, bool asks_servers, int to)
{
	int directory = open(allowed, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct confine_reader reader = { &directory, 1, asks_servers };
	struct confinement confinement;
	char text[256];

	confine_reader(&reader, &confinement);
	attempt_all(allowed, other, text, sizeof(text));
	dprintf(to, "%s layers %d\n", text,
		(confinement.layers & CONFINE_READER_LAYERS) == CONFINE_READER_LAYERS);
	_exit(0);
}

static void check_reader(bool asks_servers, const char *expected)
{
	char allowed[] = "/tmp/dwarfprof-test-XXXXXX", other[] = "/tmp/dwarfprof-test-XXXXXX";
	char path[64], text[256] = "";
	int ends[2], file;

	cr_assert(mkdtemp(allowed) && mkdtemp(other));
	snprintf(path, sizeof(path), "%s/file", other);
	file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert(file >= 0 && pipe(ends) == 0);
	close(file);
	if (fork() == 0)
		be_reader(allowed, other, asks_servers, ends[1]);
	close(ends[1]);
	wait(NULL);
	cr_assert(read(ends[0], text, sizeof(text) - 1) > 0);
	close(ends[0]);
	unlink(path);
	rmdir(other);
	snprintf(path, sizeof(path), "%s/new", allowed);
	unlink(path);
	rmdir(allowed);
	cr_assert_str_eq(text, expected);
}

/* 1: EPERM, 13: EACCES. */
Test(keeper, is_of_one_that_only_reads)
{
	check_reader(false, "reads 0 writes 0 elsewhere 13 truncates 1 modes 1 socket 1 exec 1 "
			    "ptrace 1 layers 1\n");
}

Test(keeper, is_of_one_that_asks_servers)
{
	check_reader(true, "reads 0 writes 0 elsewhere 13 truncates 1 modes 1 socket 0 exec 1 "
			   "ptrace 1 layers 1\n");
}
