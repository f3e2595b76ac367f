// SPDX-License-Identifier: Apache-2.0
/* What is said of a process that cannot give up all its rights. */
#include "profiler/confined.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LANDLOCK (1U << CONFINE_LANDLOCK)

static struct confinement given;
static int said; /* what was logged */

void __wrap_confine_reader(const struct confine_reader *reader, struct confinement *ret);

void __wrap_confine_reader(const struct confine_reader *reader, struct confinement *ret)
{
	(void)reader;
	*ret = given;
}

static void begin(void)
{
	said = memfd_create("said", MFD_CLOEXEC);
	cr_assert(dup2(said, STDERR_FILENO) == STDERR_FILENO);
}

TestSuite(confined, .init = begin, .timeout = 60);

static int read_with(enum sandbox_mode mode, uint32_t lacking, uint32_t missing)
{
	const struct confine_reader reader = { 0 };

	given = (struct confinement){ CONFINE_READER_LAYERS & ~lacking, missing };
	return confined_read(mode, &reader);
}

static bool has_said(const char *text)
{
	char all[1024] = "";

	cr_assert(pread(said, all, sizeof(all) - 1, 0) >= 0);
	return *text ? strstr(all, text) != NULL : all[0] == '\0';
}

Test(confined, as_it_could_be)
{
	cr_assert_eq(read_with(SANDBOX_AUTO, 0, 0), 0);
	cr_assert_eq(read_with(SANDBOX_REQUIRE, 0, 0), 0);
	cr_assert(has_said(""));
}

/* A kernel without a layer is no news; one that has it is. */
Test(confined, less_than_it_could_be)
{
	cr_assert_eq(read_with(SANDBOX_AUTO, LANDLOCK, 0), 0);
	cr_assert(has_said(""));
	cr_assert_eq(read_with(SANDBOX_AUTO, LANDLOCK, LANDLOCK), 0);
	cr_assert(has_said("warning: readers of recordings are confined less than they could be, "
			   "without Landlock\n"));
}

Test(confined, less_than_is_required)
{
	cr_assert_eq(read_with(SANDBOX_REQUIRE, LANDLOCK, 0), -EOPNOTSUPP);
	cr_assert(has_said(
		"readers of recordings cannot be confined as --sandbox=require demands\n"));
	cr_assert(has_said("they lack Landlock\n"));
	cr_assert(!has_said("parsers of files"));
}
