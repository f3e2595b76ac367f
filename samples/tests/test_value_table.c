// SPDX-License-Identifier: Apache-2.0
/* Numbers of lists of values, which samples may have that are on their way. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "limits/limits.h"
#include "samples/value_table.h"

static struct value_table *table;
static const struct value_forms none;

static void begin(void)
{
	cr_assert_eq(value_table_new(&table), 0);
}

static void end(void)
{
	table = value_table_free(table);
}

TestSuite(value_table, .init = begin, .fini = end);

static struct value_forms forms_of(const char *name)
{
	struct value_forms forms = { .n = 1 };
	struct enumerator *names = calloc(1, sizeof(*names));

	snprintf(forms.of[0].name, sizeof(forms.of[0].name), "%s", name);
	snprintf(names->name, sizeof(names->name), "one");
	names->value = 1;
	forms.of[0].names = names;
	forms.of[0].n_names = 1;
	return forms;
}

static void check(uint32_t number, const char *name, const char *probe)
{
	const char *found;
	const struct value_forms *forms = value_table_lock(table, number, &found);

	cr_assert(forms);
	cr_assert_str_eq(forms->of[0].name, name);
	cr_assert_str_eq(found, probe);
	value_table_unlock(table);
}

Test(value_table, tells_forms_and_probe)
{
	struct value_forms first = forms_of("a"), second = forms_of("b");
	const char *probe;

	cr_assert_eq(value_table_add(table, &first, "p", 0, 1), 0);
	cr_assert_eq(value_table_add(table, &second, "q", 0, 1), 1);
	check(0, "a", "p");
	check(1, "b", "q");
	cr_assert_null(value_table_lock(table, 2, &probe));
	value_table_unlock(table);
	cr_assert_null(value_table_lock(table, DP_MAX_ARGUMENT_LISTS, &probe));
	cr_assert_str_eq(probe, "");
	value_table_unlock(table);
}

Test(value_table, uses_a_number_again_after_a_rest)
{
	struct value_forms first = forms_of("a"), second = forms_of("b"), third = forms_of("c");

	cr_assert_eq(value_table_add(table, &first, "p", 0, 1), 0);
	value_table_drop(table, 0, 1000);
	check(0, "a", "p");
	cr_assert_eq(value_table_add(table, &second, "q", 0, 999 + VALUE_TABLE_REST_NS), 1);
	check(0, "a", "p");
	cr_assert_eq(value_table_add(table, &third, "r", 0, 1000 + VALUE_TABLE_REST_NS), 0);
	check(0, "c", "r");
}

Test(value_table, is_full_at_some_time)
{
	for (int i = 0; i < DP_MAX_ARGUMENT_LISTS; i++)
		cr_assert_eq(value_table_add(table, &none, "p", 0, 0), i);
	cr_assert_eq(value_table_add(table, &none, "p", 0, UINT64_C(1) << 60), -E2BIG);
	value_table_drop(table, 7, 0);
	cr_assert_eq(value_table_add(table, &none, "p", 0, VALUE_TABLE_REST_NS), 7);
}

Test(value_table, leaves_lists_for_others)
{
	for (int i = 0; i < VALUE_TABLE_MAX_OWN; i++)
		cr_assert_eq(value_table_add(table, &none, "p", 1000, 0), i);
	cr_assert_eq(value_table_add(table, &none, "p", 1000, 0), -EDQUOT);
	cr_assert_eq(value_table_add(table, &none, "q", 1001, 0), VALUE_TABLE_MAX_OWN);
	value_table_drop(table, 7, 0);
	/* Those that rest count: else who adds and removes takes all. */
	cr_assert_eq(value_table_add(table, &none, "p", 1000, VALUE_TABLE_REST_NS - 1), -EDQUOT);
	cr_assert_eq(value_table_add(table, &none, "p", 1000, VALUE_TABLE_REST_NS), 7);
}

Test(value_table, has_no_limit_for_root)
{
	for (int i = 0; i <= VALUE_TABLE_MAX_OWN; i++)
		cr_assert_eq(value_table_add(table, &none, "p", 0, 0), i);
}
