// SPDX-License-Identifier: Apache-2.0
/* Both names of labels. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/named_labels.h"

static struct named_labels labels;
static bool is_short; /* of memory */

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

char *__wrap_strdup(const char *text)
{
	return is_short ? NULL : __real_strdup(text);
}

static void tear_down(void)
{
	named_labels_done(&labels);
}

TestSuite(named_labels, .fini = tear_down);

static void set(const char *name, const char *value)
{
	cr_assert_eq(named_labels_set(&labels, name, value), 0);
}

Test(named_labels, have_two_names)
{
	set("k8s_pod_uid", "1");
	cr_assert_str_eq(labels.items[0].key, "k8s.pod.uid");
	cr_assert_str_eq(labels.items[0].name, "k8s_pod_uid");
	cr_assert_str_eq(named_labels_get(&labels, "k8s.pod.uid"), "1");
	set("host.name", "h");
	cr_assert_str_eq(named_labels_get(&labels, "host"), "h");
	set("host", "i");
	cr_assert_eq(labels.n, 2);
	cr_assert_str_eq(named_labels_get(&labels, "host.name"), "i");
	set("7 my.own-1", "x");
	cr_assert_str_eq(labels.items[2].key, "7 my.own-1");
	cr_assert_str_eq(labels.items[2].name, "__my_own_1");
	set("team", "t");
	cr_assert_str_eq(labels.items[3].key, "team");
}

Test(named_labels, without_a_value_are_none)
{
	set("a", "1");
	set("b", "2");
	set("c", "");
	set("a", "");
	cr_assert_eq(labels.n, 1);
	cr_assert_str_eq(labels.items[0].key, "b");
	cr_assert_str_eq(named_labels_get(&labels, "a"), "");
}

Test(named_labels, are_bounded)
{
	for (int i = 0; i < NAMED_LABELS_MAX + 5; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		set(name, "x");
	}
	cr_assert_eq(labels.n, NAMED_LABELS_MAX);
}

Test(named_labels, of_programs_make_room)
{
	for (int i = 0; i < NAMED_LABELS_MAX + 5; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		cr_assert_eq(named_labels_set_programs(&labels, name, "x"), 0);
	}
	set("n63", "mine");
	set("other", "mine");
	cr_assert_eq(labels.n, NAMED_LABELS_MAX);
	cr_assert_str_eq(named_labels_get(&labels, "n63"), "mine");
	cr_assert_str_eq(named_labels_get(&labels, "other"), "mine");
	cr_assert_str_eq(named_labels_get(&labels, "n61"), "x");
	cr_assert_str_eq(named_labels_get(&labels, "n62"), "");
	cr_assert_str_eq(named_labels_get(&labels, "n64"), "");
}

Test(named_labels, for_rules_only)
{
	set("process.linux.cgroup", "/");
	set("a", "1");
	cr_assert(named_label_is_internal(&labels.items[0]));
	cr_assert_not(named_label_is_internal(&labels.items[1]));
}

Test(named_labels, facts)
{
	cr_assert(named_label_is_fact("process.x"));
	cr_assert_not(named_label_is_fact("processes"));
	cr_assert_not(named_label_is_fact("x.process.x"));
}

Test(named_labels, do_not_change_while_memory_is_short)
{
	set("a", "1");
	set("b", "2");
	is_short = true;
	cr_assert_eq(named_labels_set(&labels, "c", "3"), -ENOMEM);
	cr_assert_eq(named_labels_set(&labels, "b", ""), -ENOMEM);
	cr_assert_eq(named_labels_set_programs(&labels, "b", "3"), -ENOMEM);
	cr_assert_str_eq(named_labels_get(&labels, "b"), "");
	is_short = false;
	cr_assert_eq(labels.n, 2);
	cr_assert_str_eq(named_labels_get(&labels, "a"), "1");
	cr_assert_str_eq(named_labels_get(&labels, "b"), "2");
}
