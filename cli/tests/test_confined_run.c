// SPDX-License-Identifier: Apache-2.0
/* A process that reads recordings, and the one that waits for it. */
#include "cli/confined_run.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "profiler/record.h"
#include "sandbox/keeper.h"

#define MAX_FILES 256
#define PATIENCE_S 20

TestSuite(confined_run, .timeout = 60);

static bool is_keepers(int fd)
{
	int type = 0;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){ sizeof(type) }) == 0 &&
	       type == SOCK_SEQPACKET;
}

static int ask_wrongly(void *arg)
{
	int n = 0;

	(void)arg;
	alarm(PATIENCE_S);
	for (int fd = 0; fd < MAX_FILES; fd++)
		n += is_keepers(fd) && send(fd, "x", 1, MSG_NOSIGNAL) == 1;
	return n == 1 && keeper_begin(0) < 0 ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

/* What the keeper does not understand ends it, and the reader need not wait for answers any more. */
Test(confined_run, does_not_wait_for_one_that_has_ended)
{
	struct outputs none = { 0 };

	cr_assert_eq(confined_run(SANDBOX_AUTO, &none, ask_wrongly, NULL), EXIT_CODE_OK);
}

static int ask_for_output(void *arg)
{
	(void)arg;
	return keeper_begin(0) == -EINVAL ? EXIT_CODE_NO_SAMPLES : EXIT_CODE_FAILED;
}

Test(confined_run, returns_what_it_says)
{
	struct outputs none = { 0 };

	cr_assert_eq(confined_run(SANDBOX_AUTO, &none, ask_for_output, NULL), EXIT_CODE_NO_SAMPLES);
}
