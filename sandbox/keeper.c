// SPDX-License-Identifier: Apache-2.0
#include "sandbox/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "sandbox/message.h"

enum keeper_kind { ASK_KILL, ASK_MEMORY, ASK_BEGIN };

struct keeper_request {
	enum keeper_kind kind;
	uint64_t number;
};

/* Of the process: its rights are given up once. 0: there is none. */
static int keeper;

void keeper_use(int socket)
{
	keeper = socket;
}

bool keeper_is_there(void)
{
	return keeper > 0;
}

static int ask(enum keeper_kind kind, uint64_t number, int pidfd)
{
	const struct keeper_request request = { kind, number };
	int fds[MESSAGE_MAX_FDS], answer, err;

	if (!keeper_is_there())
		return -EPERM;
	err = message_send(keeper, &request, sizeof(request), &pidfd, pidfd >= 0);
	if (err == 0)
		err = message_receive(keeper, &answer, sizeof(answer), fds);
	if (err < 0)
		return err;
	message_close(fds);
	return answer;
}

static int kill_by_fd(int pidfd)
{
	return syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0 ? 0 : -errno;
}

int keeper_kill(int pidfd)
{
	return keeper_is_there() ? ask(ASK_KILL, 0, pidfd) : kill_by_fd(pidfd);
}

int keeper_allow_memory(int pidfd, uint64_t size)
{
	return ask(ASK_MEMORY, size, pidfd);
}

int keeper_begin(size_t number)
{
	return ask(ASK_BEGIN, number, -1);
}

/* A number of a file in /proc, by its name; -1: none. */
static pid_t read_pid(const char *path, const char *name)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0, length = strlen(name);

	while (file && getline(&line, &size, file) > 0)
		if (strncmp(line, name, length) == 0)
			return (pid_t)strtol(line + length, NULL, 10);
	return -1;
}

static pid_t parent_of(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return pid > 0 ? read_pid(path, "PPid:") : -1;
}

/*
 * The process of a pidfd. -ESRCH: it has ended, or the descriptor is another: pidfd_send_signal(2) also
 * takes a directory of /proc. -EPERM: it is neither the reader's child, a spawner, nor a helper of one.
 */
static int find_helper(int pidfd, pid_t reader)
{
	char path[48];
	pid_t pid, parent;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	pid = pidfd < 0 ? -1 : read_pid(path, "Pid:");
	if (pid <= 0)
		return -ESRCH;
	parent = parent_of(pid);
	return parent == reader || parent_of(parent) == reader ? pid : -EPERM;
}

static int kill_helper(int pidfd, pid_t reader)
{
	int pid = find_helper(pidfd, reader);

	return pid < 0 ? pid : kill_by_fd(pidfd);
}

static int raise_memory(pid_t pid, uint64_t size)
{
	struct rlimit limit;

	if (prlimit(pid, RLIMIT_DATA, NULL, &limit) < 0)
		return -errno;
	if (size > KEEPER_MEMORY)
		size = KEEPER_MEMORY;
	if (limit.rlim_cur >= size)
		return 0;
	limit.rlim_cur = size < limit.rlim_max ? size : limit.rlim_max;
	return prlimit(pid, RLIMIT_DATA, &limit, NULL) == 0 ? 0 : -errno;
}

/* Its number may be another's by now, if it has ended. */
static int allow_memory(int pidfd, uint64_t size, pid_t reader)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };
	int pid = find_helper(pidfd, reader);
	int err = pid < 0 ? pid : raise_memory(pid, size);

	return err == 0 && poll(&end, 1, 0) != 0 ? -ESRCH : err;
}

void keeper_serve(int socket, pid_t reader, int (*begin)(void *arg, size_t number), void *arg)
{
	struct keeper_request request;
	int fds[MESSAGE_MAX_FDS];

	while (message_receive(socket, &request, sizeof(request), fds) == 0) {
		int answer =
			request.kind == ASK_KILL   ? kill_helper(fds[0], reader) :
			request.kind == ASK_MEMORY ? allow_memory(fds[0], request.number, reader) :
			request.kind == ASK_BEGIN  ? begin(arg, request.number) :
						     -EINVAL;

		message_close(fds);
		if (message_send(socket, &answer, sizeof(answer), NULL, 0) < 0)
			break;
	}
}
