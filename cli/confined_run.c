// SPDX-License-Identifier: Apache-2.0
#include "cli/confined_run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "log/log.h"
#include "profiler/record.h"
#include "sandbox/keeper.h"

static int begin_output(void *arg, size_t number)
{
	struct outputs *outputs = arg;

	return number < outputs->n ? output_begin(&outputs->files[number]) : -EINVAL;
}

__attribute__((noreturn)) static void be_reader(int socket, pid_t parent, struct outputs *outputs,
						int (*fn)(void *arg), void *arg)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(EXIT_CODE_FAILED);
	keeper_use(socket);
	outputs_leave(outputs, keeper_begin);
	exit(fn(arg));
}

/* Signals that are no fault of the reader's: they end this process as they would have without it. */
static bool is_usual(int number)
{
	return number == SIGPIPE || number == SIGINT || number == SIGTERM || number == SIGHUP ||
	       number == SIGQUIT;
}

/* Its status; that of a failure if it is not known. */
static int await(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return W_EXITCODE(EXIT_CODE_FAILED, 0);
	return status;
}

/* The exit code for a reader's status. */
static int end_as(int status)
{
	int number;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	number = WTERMSIG(status);
	if (is_usual(number)) {
		signal(number, SIG_DFL);
		raise(number);
	}
	log_error("the process that reads the recording has ended: %s", strsignal(number));
	return EXIT_CODE_FAILED;
}

static int start(struct outputs *outputs, int (*fn)(void *arg), void *arg, int *ret_status)
{
	/* If it is ignored, also by inheritance, wait(2) does not work. */
	const struct sigaction wait_for_child = { .sa_handler = SIG_DFL };
	_cleanup_close_ int ours = -1, theirs = -1;
	pid_t self = getpid(), pid;
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	ours = sockets[0];
	theirs = sockets[1];
	fflush(NULL);
	sigaction(SIGCHLD, &wait_for_child, NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		close(steal_fd(&ours));
		be_reader(steal_fd(&theirs), self, outputs, fn, arg);
	}
	close(steal_fd(&theirs));
	keeper_serve(ours, pid, begin_output, outputs);
	/* If it still waits for an answer, it learns that there is none. */
	close(steal_fd(&ours));
	*ret_status = await(pid);
	return 0;
}

int confined_run(enum sandbox_mode mode, struct outputs *outputs, int (*fn)(void *arg), void *arg)
{
	int status = 0, code, err;

	if (mode == SANDBOX_OFF)
		return fn(arg);
	err = start(outputs, fn, arg, &status);
	if (err < 0 && mode == SANDBOX_REQUIRE) {
		log_error("no process can be started to read the recording: %s", strerror(-err));
		(void)outputs_close(outputs, 0);
		return EXIT_CODE_FAILED;
	}
	if (err < 0) {
		log_warning("this process reads the recording itself, with its rights: %s",
			    strerror(-err));
		return fn(arg);
	}
	/* Before a signal ends this process, too. */
	err = outputs_close(outputs, 0);
	code = end_as(status);
	return err < 0 ? EXIT_CODE_FAILED : code;
}
