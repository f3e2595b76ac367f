// SPDX-License-Identifier: Apache-2.0
/* What a spawner starts, and what for. */
#include "sandbox/spawner.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>

#include "sandbox/hello.h"
#include "sandbox/helper.h"
#include "sandbox/tests/helper_test.h"

int main(int argc, char **argv)
{
	return helper_is_one(argv[0]) ? helper_main(argc, argv) : run_tests(argc, argv);
}

/* By a shift as wide as the bits, a bit is found again. */
#define SHIFTED_OUT 32

TestSuite(spawner, .timeout = 60);

/* 0, or why there is no such helper. */
static int start(struct spawner *spawner, unsigned int kind)
{
	struct spawned helper;
	int socket, err;
	pid_t pid;

	err = spawner_request(spawner, (enum spawned_kind)kind, &pid, &socket);
	if (err == 0)
		err = hello_await(socket, pid, &helper);
	if (err == 0)
		spawned_end(&helper);
	return err;
}

static uint64_t capabilities(const struct spawner *spawner, const char *name)
{
	return status(spawner_pid(spawner), name, 16);
}

/* Whoever sends requests may have read what makes it send others. */
Test(spawner, starts_only_its_kinds)
{
	struct spawner *spawner;

	cr_assert_eq(spawner_new(HELPER_SELF, SPAWNED_FOR_READERS, &spawner), 0);
	cr_assert_eq(start(spawner, SPAWNED_FETCHER), -EPERM);
	cr_assert_eq(start(spawner, SPAWNED_VERIFIER), -EPERM);
	cr_assert_eq(start(spawner, SPAWNED_N_KINDS), -EPERM);
	cr_assert_eq(start(spawner, UINT32_MAX), -EPERM);
	cr_assert_eq(start(spawner, SHIFTED_OUT + SPAWNED_PARSER), -EPERM);
	cr_assert_eq(start(spawner, SPAWNED_PARSER), 0);
	cr_assert_eq(start(spawner, SPAWNED_NAMER), 0);
	cr_assert_eq(capabilities(spawner, "CapEff") & 1U << CAP_SYS_PTRACE, 0);
	cr_assert_eq(capabilities(spawner, "CapPrm") & 1U << CAP_SYS_PTRACE, 0);
	cr_assert(status(getpid(), "CapEff", 16) == 0 || start(spawner, SPAWNED_FINDER) == 0);
	spawner_free(spawner);
}

/* What it executes gets no more of them, either. */
Test(spawner, has_the_capabilities_of_its_kinds)
{
	const uint64_t found = 1U << CAP_DAC_READ_SEARCH, read = 1U << CAP_SYS_PTRACE;
	uint64_t had = status(getpid(), "CapBnd", 16);
	struct spawner *spawner;

	if (status(getpid(), "CapEff", 16) != had)
		cr_skip("has no capabilities");
	cr_assert_eq(spawner_new(HELPER_SELF, 1U << SPAWNED_PARSER, &spawner), 0);
	cr_assert_eq(start(spawner, SPAWNED_PARSER), 0);
	cr_assert_eq(capabilities(spawner, "CapBnd") & (found | read), 0);
	spawner_free(spawner);
	cr_assert_eq(spawner_new(HELPER_SELF, SPAWNED_ALL, &spawner), 0);
	cr_assert_eq(start(spawner, SPAWNED_PARSER), 0);
	cr_assert_eq(capabilities(spawner, "CapBnd"), had);
	spawner_free(spawner);
}
