// SPDX-License-Identifier: Apache-2.0
/* USDT probes of this program, by name and glob. */
#include "probes/usdt_places.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/sdt.h>

#include "base/as_it_is.h"
#include "probes/probe_file.h"

#define SELF "/proc/self/exe"

static AS_IT_IS void hit(int number)
{
	DTRACE_PROBE1(provider, one, number);
	if (number)
		DTRACE_PROBE1(provider, one, number + 1);
	DTRACE_PROBE(provider, other);
}

static int find(const char *file, const char *pattern, struct usdt_places *ret)
{
	const struct uprobe_reader reader = probe_file_reader(NULL);

	return usdt_places_find(NULL, &reader, file, pattern, ret);
}

static size_t count(const char *pattern)
{
	struct usdt_places places;
	int err = find(SELF, pattern, &places);
	size_t n = err == 0 ? places.at.n : 0;

	cr_assert(err == 0 || err == -ENOENT);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(places.at.offsets[i], places.notes[i]->offset);
	usdt_places_done(&places);
	return n;
}

Test(usdt_places, are_found_by_name_or_glob)
{
	hit(1);
	cr_assert_eq(count("provider:one"), 2);
	cr_assert_eq(count("provider:o*"), 3);
	cr_assert_eq(count("*:other"), 1);
	cr_assert_eq(count("provider:on"), 0);
	cr_assert_eq(count("other:one"), 0);
}

Test(usdt_places, are_those_of_an_elf_file)
{
	struct usdt_places places;

	cr_assert_eq(find("/etc/passwd", "a:b", &places), -ENOEXEC);
	cr_assert_eq(find("/nowhere", "a:b", &places), -ENOENT);
}
