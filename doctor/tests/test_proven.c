// SPDX-License-Identifier: Apache-2.0
/* What doctor says of the kernel's version. */
#include "doctor/proven.h"

#include <criterion/criterion.h>

#define SERIES "6.1, 6.12, 7.2"

static void expect(const char *release, const char *said)
{
	char text[PROVEN_TEXT_SIZE];

	proven_describe(release, SERIES, text);
	cr_assert_str_eq(text, said, "%s: %s", release, text);
}

Test(proven, series)
{
	expect("6.1.0-40-amd64", "tested, as Debian's " SERIES);
	expect("6.12.9", "tested, as Debian's " SERIES);
	expect("7.2.13+deb14-cloud-amd64", "tested, as Debian's " SERIES);
}

Test(proven, others)
{
	expect("6.10.1", "not tested; nearest of " SERIES ": 6.12");
	expect("5.17.0", "not tested; nearest of " SERIES ": 6.1");
	expect("6.18.44", "not tested; nearest of " SERIES ": 7.2");
	expect("6.14.1-arch1", "not tested; nearest of " SERIES ": 6.12");
	expect("9.0-rc1", "not tested; nearest of " SERIES ": 7.2");
}

/* Nothing is said of what is not a version. */
Test(proven, no_versions)
{
	char text[PROVEN_TEXT_SIZE];

	expect("", "");
	expect("next", "");
	proven_describe("6.1.0", "", text);
	cr_assert_str_eq(text, "");
}
