// SPDX-License-Identifier: Apache-2.0
#include "sandbox/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/message.h"

enum keeper_kind { KEEPER_KILL, KEEPER_MEMORY, KEEPER_BEGIN };

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

int keeper_kill(int pidfd)
{
	return ask(KEEPER_KILL, 0, pidfd);
}

int keeper_allow_memory(int pidfd, uint64_t size)
{
	return ask(KEEPER_MEMORY, size, pidfd);
}

int keeper_begin(size_t number)
{
	return ask(KEEPER_BEGIN, number, -1);
}

/*
 * The process of a pidfd. A directory of /proc, which pidfd_send_signal(2) takes as well, could be opened by
 * the reader for any process; it can open no pidfd.
 */
static pid_t pid_of(int pidfd)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	char path[48];
	pid_t pid;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	file = pidfd < 0 ? NULL : fopen(path, "re");
	while (file && getline(&line, &size, file) > 0)
		if (sscanf(line, "Pid: %d", &pid) == 1)
			return pid;
	return -1;
}

static int kill_process(int pidfd)
{
	if (pid_of(pidfd) <= 0)
		return -ESRCH;
	return syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0 ? 0 : -errno;
}

static int allow_memory(int pidfd, uint64_t size)
{
	pid_t pid = pid_of(pidfd);
	struct rlimit limit;

	if (pid <= 0)
		return -ESRCH;
	if (prlimit(pid, RLIMIT_DATA, NULL, &limit) < 0)
		return -errno;
	if (limit.rlim_cur >= size)
		return 0;
	limit.rlim_cur = size < limit.rlim_max ? size : limit.rlim_max;
	return prlimit(pid, RLIMIT_DATA, &limit, NULL) == 0 ? 0 : -errno;
}

void keeper_serve(int socket, int (*begin)(void *arg, size_t number), void *arg)
{
	struct keeper_request request;
	int fds[MESSAGE_MAX_FDS];

	while (message_receive(socket, &request, sizeof(request), fds) == 0) {
		int answer = request.kind == KEEPER_KILL   ? kill_process(fds[0]) :
			     request.kind == KEEPER_MEMORY ? allow_memory(fds[0], request.number) :
			     request.kind == KEEPER_BEGIN  ? begin(arg, request.number) :
							     -EINVAL;

		message_close(fds);
		if (message_send(socket, &answer, sizeof(answer), NULL, 0) < 0)
			break;
	}
}
