// SPDX-License-Identifier: Apache-2.0
#include "sandbox/helper.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elf/bus_guard.h"
#include "sandbox/confine.h"
#include "sandbox/fetcher.h"
#include "sandbox/finder.h"
#include "sandbox/hello.h"
#include "sandbox/namer.h"
#include "sandbox/opener.h"
#include "sandbox/parser.h"
#include "sandbox/spawner.h"
#include "sandbox/verifier.h"

/* Reports of sanitizers should be seen. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LAST_CLOSED STDOUT_FILENO
#else
#define LAST_CLOSED STDERR_FILENO
#endif

bool helper_is_one(const char *name)
{
	return name && strcmp(name, SPAWNER_HELPER_NAME) == 0;
}

static bool close_all(void)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0)
		return false;
	for (int fd = 0; fd <= LAST_CLOSED; fd++)
		if (dup2(null, fd) < 0)
			return false;
	return syscall(SYS_close_range, HELPER_SOCKET + 1, ~0u, 0) == 0;
}

static bool say_hello(int self, const struct confinement *confinement)
{
	int err = hello_say(HELPER_SOCKET, self, confinement);

	if (self >= 0)
		close(self);
	return err == 0;
}

/*
 * Confined, it could not open its pidfd. Nor can it do at its exit what sanitizers do there: one that has
 * never been asked ends when nobody can ask it any more.
 */
static int serve(const char *kind)
{
	bool is_namer = strcmp(kind, HELPER_NAMER) == 0;
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0), opens[OPENER_N_ENDS] = { -1, -1, -1 };
	struct confinement confinement;

	if (is_namer)
		opener_open_self(opens);
	(void)bus_guard_install();
	confine_self(&confinement, is_namer ? &opens[OPENER_LISTENER] : NULL);
	if (!say_hello(self, &confinement))
		_exit(EXIT_FAILURE);
	if (strcmp(kind, HELPER_VERIFIER) == 0)
		_exit(verifier_run(HELPER_SOCKET));
	_exit(is_namer ? namer_run(HELPER_SOCKET, opens) : parser_run(HELPER_SOCKET));
}

/*
 * The thread that reads samples waits for it, so it is no less urgent. Without the capability, it could
 * read less than who has started it.
 */
static int fetch(void)
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct confinement confinement;

	(void)prctl(PR_SET_NAME, HELPER_FETCHER, 0, 0, 0);
	(void)setpriority(PRIO_PROCESS, 0, FETCHER_NICE);
	return confine_fetcher(&confinement) && say_hello(self, &confinement) ?
		       fetcher_run(HELPER_SOCKET) :
		       EXIT_FAILURE;
}

static int find(void)
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct confinement confinement;

	(void)prctl(PR_SET_NAME, HELPER_FINDER, 0, 0, 0);
	return confine_finder(&confinement) && say_hello(self, &confinement) ?
		       finder_run(HELPER_SOCKET) :
		       EXIT_FAILURE;
}

int helper_main(int argc, char **argv)
{
	bool is_same = argc >= 3 && strcmp(argv[2], HELPER_VERSION) == 0;
	const char *kind = is_same ? argv[1] : "";

	if (!close_all())
		return EXIT_FAILURE;
	if (strcmp(kind, HELPER_SPAWNER) == 0)
		return argc == 4 ?
			       spawner_run(HELPER_SOCKET, (uint32_t)strtoul(argv[3], NULL, 10)) :
			       EXIT_FAILURE;
	if (strcmp(kind, HELPER_FETCHER) == 0)
		return fetch();
	if (strcmp(kind, HELPER_FINDER) == 0)
		return find();
	if (strcmp(kind, HELPER_PARSER) != 0 && strcmp(kind, HELPER_NAMER) != 0 &&
	    strcmp(kind, HELPER_VERIFIER) != 0)
		return EXIT_FAILURE;
	return serve(kind);
}
