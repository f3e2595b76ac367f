// SPDX-License-Identifier: Apache-2.0
#include "profiler/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "log/clock.h"

static _Noreturn void child_run(char **argv, const sigset_t *mask, const struct sigaction *on_child,
				int go, int failed)
{
	char byte;
	int err;

	/* End of file: the profiler has ended. */
	if (read(go, &byte, 1) != 1)
		_exit(126);
	sigaction(SIGCHLD, on_child, NULL);
	if (mask)
		sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	err = errno;
	if (write(failed, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(err == ENOENT ? 127 : 126);
}

int launch_start(char **argv, const sigset_t *mask, struct launch *ret)
{
	/* If SIGCHLD is ignored, also by inheritance, wait(2) does not work. */
	const struct sigaction wait_for_child = { .sa_handler = SIG_DFL };
	struct sigaction inherited;
	int go[2], failed[2];
	pid_t pid;

	*ret = (struct launch){ .go = -1, .failed = -1 };
	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(failed, O_CLOEXEC) < 0) {
		int err = -errno;

		close(go[0]);
		close(go[1]);
		return err;
	}
	sigaction(SIGCHLD, &wait_for_child, &inherited);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(failed[0]);
		child_run(argv, mask, &inherited, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	*ret = (struct launch){ .pid = pid, .go = go[1], .failed = failed[0] };
	if (pid < 0) {
		int err = -errno;

		launch_done(ret);
		return err;
	}
	return 0;
}

int launch_go(struct launch *l)
{
	_cleanup_close_ int go = steal_fd(&l->go);
	_cleanup_close_ int failed = steal_fd(&l->failed);
	int err;

	if (write(go, "", 1) != 1)
		return -errno;
	/* A successful exec closes the pipe, with nothing written. */
	if (read(failed, &err, sizeof(err)) != sizeof(err))
		return 0;
	return -err;
}

bool launch_runs(const struct launch *l)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

void launch_end(struct launch *l)
{
	if (l->told_ns || !launch_runs(l))
		return;
	kill(l->pid, SIGTERM);
	l->told_ns = clock_now_ns();
}

/* Kills a child that takes too long to end. */
static void wait_or_kill(struct launch *l)
{
	_cleanup_close_ int fd = pidfd_open(l->pid, 0);
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	uint64_t end = l->told_ns + LAUNCH_GRACE_NS, now;

	while ((now = clock_now_ns()) < end)
		if (poll(&poll_fd, 1, (int)((end - now) / 1000000) + 1) > 0)
			return;
	l->is_killed = launch_runs(l) && kill(l->pid, SIGKILL) == 0;
}

int launch_wait(struct launch *l)
{
	int status;
	pid_t pid;

	if (l->told_ns)
		wait_or_kill(l);
	do
		pid = waitpid(l->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	if (pid < 0)
		return -errno;
	l->pid = 0;
	l->has_died = l->told_ns && WIFSIGNALED(status) &&
		      WTERMSIG(status) == (l->is_killed ? SIGKILL : SIGTERM);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void launch_done(struct launch *l)
{
	bool waiting = l->go >= 0;

	if (l->go >= 0)
		close(steal_fd(&l->go));
	if (l->failed >= 0)
		close(steal_fd(&l->failed));
	if (waiting && l->pid > 0)
		launch_wait(l);
}
