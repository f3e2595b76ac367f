// SPDX-License-Identifier: Apache-2.0
#include "sandbox/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "sandbox/confine.h"
#include "sandbox/hello.h"
#include "sandbox/helper.h"
#include "sandbox/keeper.h"
#include "sandbox/message.h"

/* P_PIDFD, which glibc has since 2.36. */
#define WAIT_PIDFD ((idtype_t)3)

/* How long it has to end by itself, and to wait for its helpers, which end, too. */
#define END_MS 100
#define END_LOOK_MS 2

struct spawner {
	int socket;
	int pidfd; /* -1: it has ended, or cannot be told from another process */
	pid_t pid;
};

/* Its descriptor is the socket that the helper gets. */
struct request {
	uint32_t kind; /* enum spawned_kind, or any number: who sends it may read foreign data */
};

/* What the dynamic linker and sanitizers need. Other variables may hold secrets. */
static const char *const kept[] = { "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS",
				    "TSAN_OPTIONS" };

static void list_environment(char *ret[ARRAY_SIZE(kept) + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		const char *value = getenv(kept[i]);

		if (value && asprintf(&ret[n], "%s=%s", kept[i], value) >= 0)
			n++;
	}
	ret[n] = NULL;
}

/* The child gets default signals and, apart from its socket, no descriptor of use. */
static int spawn(const char *program, uint32_t kinds, int socket, pid_t *ret)
{
	char number[16];
	char *const arguments[] = { (char *)SPAWNER_HELPER_NAME, (char *)HELPER_SPAWNER,
				    (char *)HELPER_VERSION, number, NULL };
	char *environment[ARRAY_SIZE(kept) + 1];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all, none;
	int err;

	sigfillset(&all);
	sigemptyset(&none);
	snprintf(number, sizeof(number), "%" PRIu32, kinds);
	list_environment(environment);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawn_file_actions_init(&actions);
	err = posix_spawn_file_actions_adddup2(&actions, socket, HELPER_SOCKET);
	if (err == 0)
		err = posix_spawn(ret, program, &actions, &attributes, arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	for (char **e = environment; *e; e++)
		free(*e);
	return -err;
}

/*
 * A number can belong to another process by now, if this program's children are waited for without
 * its knowledge (SIGCHLD ignored, or a host's waitpid(-1)). That one would not be our child.
 */
static int open_child(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	siginfo_t info;

	if (fd >= 0 && waitid(WAIT_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int spawner_new(const char *program, uint32_t kinds, struct spawner **ret)
{
	struct spawner *s = calloc(1, sizeof(*s));
	int sockets[2], err;

	*ret = NULL;
	if (!s)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
		err = -errno;
		free(s);
		return err;
	}
	err = spawn(program, kinds, sockets[1], &s->pid);
	close(sockets[1]);
	s->socket = sockets[0];
	s->pidfd = err == 0 ? open_child(s->pid) : -1;
	if (err < 0) {
		spawner_free(s);
		return err;
	}
	/* It may have been stopped, and the socket be full. */
	(void)fcntl(s->socket, F_SETFL, O_NONBLOCK);
	*ret = s;
	return 0;
}

void spawner_kill(const struct spawner *s)
{
	if (s && s->pidfd >= 0)
		(void)keeper_kill(s->pidfd);
}

struct spawner *spawner_free(struct spawner *s)
{
	if (!s)
		return NULL;
	close(s->socket);
	if (s->pidfd >= 0) {
		(void)poll(&(struct pollfd){ .fd = s->pidfd, .events = POLLIN }, 1, END_MS);
		spawner_kill(s);
		while (waitid(WAIT_PIDFD, (id_t)s->pidfd, NULL, WEXITED) < 0 && errno == EINTR)
			continue;
		close(s->pidfd);
	}
	free(s);
	return NULL;
}

pid_t spawner_pid(const struct spawner *s)
{
	return s->pid;
}

bool spawner_has_ended(const struct spawner *s)
{
	struct pollfd fd = { .fd = s->socket };

	return poll(&fd, 1, 0) > 0 && (fd.revents & POLLHUP);
}

int spawner_request(struct spawner *s, enum spawned_kind kind, pid_t *ret_pid, int *ret_socket)
{
	const struct request request = { kind };
	_cleanup_close_ int ours = -1, theirs = -1;
	int sockets[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	ours = sockets[0];
	theirs = sockets[1];
	err = message_send(s->socket, &request, sizeof(request), &theirs, 1);
	*ret_pid = s->pid;
	if (err == 0)
		*ret_socket = steal_fd(&ours);
	return err;
}

/* In the new process. Executes the program again, so that its memory is new. */
static void become_helper(enum spawned_kind kind, int socket)
{
	static const char *const kinds[SPAWNED_N_KINDS] = {
		[SPAWNED_PARSER] = HELPER_PARSER,     [SPAWNED_NAMER] = HELPER_NAMER,
		[SPAWNED_VERIFIER] = HELPER_VERIFIER, [SPAWNED_FETCHER] = HELPER_FETCHER,
		[SPAWNED_FINDER] = HELPER_FINDER,
	};
	char *arguments[] = { (char *)SPAWNER_HELPER_NAME, (char *)kinds[kind],
			      (char *)HELPER_VERSION, NULL };
	sigset_t none;

	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(socket, HELPER_SOCKET) != HELPER_SOCKET)
		_exit(EXIT_FAILURE);
	if (kind == SPAWNED_FETCHER || kind == SPAWNED_FINDER)
		_exit(helper_main(ARRAY_SIZE(arguments) - 1, arguments));
	execv("/proc/self/exe", arguments);
	_exit(EXIT_FAILURE);
}

static void start_fetcher(int socket)
{
	pid_t pid = fork();

	if (pid == 0)
		become_helper(SPAWNED_FETCHER, socket);
	if (pid < 0)
		hello_refuse(socket, -errno);
}

/* It begins when it is announced, or this process has ended: the gate closes. */
static void start_announced(enum spawned_kind kind, int socket)
{
	_cleanup_close_ int waits = -1, gate = -1;
	int ends[2];
	pid_t pid = -1;

	if (pipe2(ends, O_CLOEXEC) == 0) {
		waits = ends[0];
		gate = ends[1];
		pid = fork();
	}
	if (pid == 0) {
		close(gate);
		while (read(waits, &(char){ 0 }, 1) < 0 && errno == EINTR)
			continue;
		become_helper(kind, socket);
	}
	if (pid < 0)
		hello_refuse(socket, -errno);
	else
		(void)hello_announce(socket, pid);
}

static void start_helper(uint32_t kinds, uint32_t kind, int socket)
{
	if (kind >= SPAWNED_N_KINDS || !(kinds & 1U << kind))
		hello_refuse(socket, -EPERM);
	else if (kind == SPAWNED_FETCHER)
		start_fetcher(socket);
	else
		start_announced(kind, socket);
}

/* Interrupts ppoll(). */
static void note_end(int number)
{
	(void)number;
}

/* SIGCHLD arrives while waiting for requests only. */
static void hear_of_ends(sigset_t *ret)
{
	const struct sigaction action = { .sa_handler = note_end };
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ends, ret);
	sigaction(SIGCHLD, &action, NULL);
}

/* Waits for a request, and until then for helpers that end. */
static void await_request(int socket, const sigset_t *unblocked)
{
	struct pollfd fd = { .fd = socket, .events = POLLIN };

	do
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
	while (ppoll(&fd, 1, NULL, unblocked) < 0 && errno == EINTR);
}

/*
 * Helpers that nobody has waited for are left to who adopts them: in a container, a host that knows
 * nothing of them. One that is busy is killed when this process ends.
 */
static void await_ends(void)
{
	pid_t pid;

	for (int ms = 0; ms < END_MS / 2 && (pid = waitpid(-1, NULL, WNOHANG)) >= 0;) {
		if (pid > 0)
			continue;
		(void)poll(NULL, 0, END_LOOK_MS);
		ms += END_LOOK_MS;
	}
}

int spawner_run(int socket, uint32_t kinds)
{
	struct request request;
	int fds[MESSAGE_MAX_FDS];
	sigset_t unblocked;

	if (!(kinds & 1U << SPAWNED_FETCHER))
		confine_spawner(kinds & 1U << SPAWNED_FINDER);
	hear_of_ends(&unblocked);
	for (;;) {
		await_request(socket, &unblocked);
		if (message_receive(socket, &request, sizeof(request), fds) < 0)
			break;
		if (fds[0] >= 0)
			start_helper(kinds, request.kind, fds[0]);
		message_close(fds);
	}
	await_ends();
	return EXIT_SUCCESS;
}
