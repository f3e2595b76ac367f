// SPDX-License-Identifier: Apache-2.0
/* Enumerations of this program's own debug information, and which are flags. */
#include "values/enumerator.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "values/parameters.h"

enum day { MONDAY, SUNDAY = 6, NEVER = -7 };
enum access { MAY_READ = 1, MAY_WRITE = 2, MAY_RUN = 8 };

struct shift {
	long hours;
	enum day day;
	enum access access;
};

/* What a linker calls the begin of a program. */
extern const char __executable_start;

__attribute__((noinline)) int pay(enum day day, const struct shift *shift);
int pay(enum day day, const struct shift *shift)
{
	return (int)day + (int)shift->hours;
}

static struct parameter found[DP_MAX_ARGUMENTS];

static void find(const char *const *paths, size_t n, enum value_type type,
		 struct enumerators *ret_names)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct parameter_wanted wanted[DP_MAX_ARGUMENTS] = { 0 };

	for (size_t i = 0; i < n; i++) {
		snprintf(wanted[i].path, sizeof(wanted[i].path), "%s", paths[i]);
		wanted[i].type = type;
	}
	cr_assert_eq(
		parameters_find(fd,
				(uint64_t)(uintptr_t)pay - (uint64_t)(uintptr_t)&__executable_start,
				wanted, n, found, ret_names),
		0);
}

Test(enumerator, names_are_those_of_debug_information)
{
	const char *const paths[] = { "day", "shift->hours", "shift->day", "shift->access" };
	struct enumerators names = { 0 };
	struct shift shift = { 0 };

	cr_assert_eq(pay(MONDAY, &shift), 0);
	find(paths, ARRAY_SIZE(paths), VALUE_N_TYPES, &names);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		cr_assert_str_eq(found[i].why, "");
	cr_assert_eq(names.n, 6);
	cr_assert(found[0].n_names == 3 && found[1].n_names == 0);
	cr_assert(found[2].n_names == 3 && found[3].n_names == 0);
	cr_assert_str_eq(enumerator_name(names.of, 3, (uint64_t)SUNDAY), "SUNDAY");
	cr_assert_str_eq(enumerator_name(names.of + 3, 3, (uint64_t)-7), "NEVER");
	cr_assert_null(enumerator_name(names.of, 3, 5));
	enumerators_done(&names);
}

Test(enumerator, names_are_not_of_what_is_wanted_as_a_number)
{
	const char *const paths[] = { "day" };
	struct enumerators names = { 0 };

	find(paths, 1, VALUE_S32, &names);
	cr_assert(names.n == 0 && found[0].n_names == 0);
	enumerators_done(&names);
}

static bool are_flags(const uint64_t *values, size_t n)
{
	struct enumerator e[8] = { 0 };

	for (size_t i = 0; i < n; i++)
		e[i].value = values[i];
	return enumerators_are_flags(e, n);
}

#define ARE_FLAGS(...)                                                                             \
	are_flags((const uint64_t[]){ __VA_ARGS__ },                                               \
		  ARRAY_SIZE(((const uint64_t[]){ __VA_ARGS__ })))

Test(enumerator, flags_are_powers_of_two_and_their_sums)
{
	cr_assert(ARE_FLAGS(1, 2, 4));
	cr_assert(ARE_FLAGS(0, 1, 16));
	cr_assert(ARE_FLAGS(4, 1, 5, 8));
	cr_assert(ARE_FLAGS(UINT64_C(1) << 63, 1));
	cr_assert(!ARE_FLAGS(0, 1, 2));
	cr_assert(!ARE_FLAGS(3, 2, 1, 0, 4, 1));
	cr_assert(!ARE_FLAGS(0, 4));
	cr_assert(!ARE_FLAGS(1, 2, 12));
	cr_assert(!ARE_FLAGS(1, 2, (uint64_t)-1));
	cr_assert(!ARE_FLAGS(200, 404, 500));
	cr_assert(!enumerators_are_flags(NULL, 0));
}

Test(enumerator, names_are_short)
{
	struct enumerators list = { 0 };
	char name[ENUMERATOR_NAME_SIZE + 1] = "";

	memset(name, 'x', ENUMERATOR_NAME_SIZE);
	cr_assert_eq(enumerators_add(&list, name, 1), 0);
	cr_assert_eq(enumerators_add(&list, "", 1), 0);
	cr_assert_eq(enumerators_add(&list, NULL, 1), 0);
	cr_assert_eq(list.n, 0);
	cr_assert_eq(enumerators_add(&list, name + 1, 1), 0);
	cr_assert(list.n == 1 && enumerators_are_sound(list.of, 1));
	list.of[0].name[ENUMERATOR_NAME_SIZE - 1] = 'x';
	cr_assert(!enumerators_are_sound(list.of, 1));
	list.of[0].name[0] = '\0';
	cr_assert(!enumerators_are_sound(list.of, 1));
	enumerators_done(&list);
}
