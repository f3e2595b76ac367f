// SPDX-License-Identifier: Apache-2.0
#include "profiler/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "log/clock.h"
#include "log/log.h"
#include "symbols/debug_library.h"

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
	debug_library_unbind();
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
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0)
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
	*ret = (struct launch){
		.name = argv[0],
		.pid = pid,
		.go = go[1],
		.failed = failed[0],
	};
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

	/* Its only reader is the child: a pipe would raise SIGPIPE if that has been killed. */
	if (send(go, "", 1, MSG_NOSIGNAL) != 1)
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

/* Returns whether it could; it cannot if the child has become another user's. */
static bool send_signal(struct launch *l, int number)
{
	if (kill(l->pid, number) == 0)
		return true;
	log_warning("cannot end %s (PID %d): %s; waiting for it", l->name, l->pid, strerror(errno));
	l->is_refused = true;
	return false;
}

void launch_end(struct launch *l)
{
	if (l->told_ns || !launch_runs(l))
		return;
	l->told_ns = clock_now_ns();
	if (!send_signal(l, SIGTERM))
		return;
	/* A stopped one sees it only when it goes on. */
	kill(l->pid, SIGCONT);
}

/* If it cannot be waited for with poll(2). */
#define RECHECK_MS 50

/* Waits until the child has ended, its time is over, or a signal can be read from signals_fd. */
static void wait_for_grace(const struct launch *l, int signals_fd)
{
	_cleanup_close_ int fd = pidfd_open(l->pid, 0);
	struct pollfd fds[] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = signals_fd, .events = POLLIN },
	};
	uint64_t end = l->told_ns + LAUNCH_GRACE_NS, now;
	struct signalfd_siginfo info;

	while (launch_runs(l) && (now = clock_now_ns()) < end) {
		int rest_ms = (int)((end - now) / 1000000) + 1;

		poll(fds, ARRAY_SIZE(fds), fd < 0 && rest_ms > RECHECK_MS ? RECHECK_MS : rest_ms);
		if (fds[1].revents && read(signals_fd, &info, sizeof(info)) > 0)
			return;
	}
}

/*
 * Kills a child that takes too long to end, or longer than the user wants to wait. Until then signals
 * must not kill the profiler, which would leave the child running.
 */
static void wait_or_kill(struct launch *l)
{
	_cleanup_close_ int fd = -1;
	sigset_t signals, old;

	if (!launch_runs(l))
		return;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, &old);
	fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	log_info("%s (PID %d) has not ended yet; Ctrl-C kills it", l->name, l->pid);
	wait_for_grace(l, fd);
	l->is_killed = launch_runs(l) && send_signal(l, SIGKILL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

int launch_wait(struct launch *l)
{
	int status;
	pid_t pid;

	if (l->told_ns && !l->is_refused)
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
