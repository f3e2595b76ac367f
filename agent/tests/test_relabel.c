// SPDX-License-Identifier: Apache-2.0
/* Rules: what they do is what Prometheus's documentation of relabel_config says. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/relabel.h"

static struct relabel rules;
static struct named_labels labels;
static bool keep;

static void tear_down(void)
{
	relabel_done(&rules);
	named_labels_done(&labels);
}

TestSuite(relabel, .fini = tear_down);

static void set(const char *name, const char *value)
{
	cr_assert_eq(named_labels_set(&labels, name, value), 0);
}

static void apply(const char *text)
{
	struct relabel_error error;

	relabel_done(&rules);
	cr_assert_eq(relabel_add(&rules, text, &error), 0, "%s: %s", text, error.why);
	cr_assert_eq(relabel_apply(&rules, &labels, &keep), 0);
}

static void expect(const char *name, const char *value)
{
	cr_assert_str_eq(named_labels_get(&labels, name), value, "%s: %s", name,
			 named_labels_get(&labels, name));
}

Test(relabel, replace)
{
	set("a", "x-1");
	set("b", "y");
	apply("source_labels=a,b target_label=c");
	expect("c", "x-1;y");
	apply("source_labels='[ a, b ]' target_label=d separator=");
	expect("d", "x-1y");
}

Test(relabel, replace_parts)
{
	set("a", "x-1");
	set("b", "y");
	apply("source_labels=a,none,b separator=/ regex=([a-z]*)-(.*)//(.) target_label=${1}_name "
	      "replacement='$2 ${3}z $$1'");
	expect("x_name", "1 yz $1");
	apply("target_label=constant replacement=\"a b\"");
	expect("constant", "a b");
	/* Without a match nothing changes; the whole text has to match. */
	apply("source_labels=a regex=(x) target_label=b");
	apply("source_labels=a regex=(-1)|x target_label=b");
	expect("b", "y");
	/* An empty value removes the label. */
	apply("source_labels=none target_label=b");
	expect("b", "");
	cr_assert_eq(labels.n, 3);
	/* What would be no name is left alone. */
	apply("source_labels=a regex=x(-1) target_label=$1 replacement=z");
	cr_assert_eq(labels.n, 3);
}

static bool keeps(const char *text)
{
	apply(text);
	return keep;
}

Test(relabel, keep_and_drop)
{
	set("service.name", "web-1");
	cr_assert(keeps("action=keep source_labels=service_name regex=web-.*"));
	cr_assert_not(keeps("action=keep source_labels=service_name regex=web"));
	cr_assert_not(keeps("action=keep source_labels=service.name regex=eb-1"));
	cr_assert(keeps("action=keep source_labels=service_name regex=db|web-1|x"));
	cr_assert_not(keeps("action=drop source_labels=service_name regex=web-[0-9]+"));
	cr_assert(keeps("action=drop source_labels=service_name,none regex=web-1"));
	cr_assert_not(keeps("action=drop source_labels=service_name,none regex=web-1;"));
	cr_assert_not(keeps("action=drop source_labels=none regex="));
}

Test(relabel, names)
{
	set("app_a", "1");
	set("app_b", "2");
	set("c", "3");
	apply("action=labelmap regex=app_(.)");
	expect("a", "1");
	expect("b", "2");
	apply("action=labelmap regex=(c) replacement=new_$1");
	expect("new_c", "3");
	apply("action=labeldrop regex=app_.*|c");
	expect("app_a", "");
	expect("c", "");
	cr_assert_eq(labels.n, 3);
	apply("action=labelkeep regex=a|b");
	cr_assert_eq(labels.n, 2);
	expect("new_c", "");
}

Test(relabel, case_of_letters)
{
	set("a", "xY\xc3\xa4");
	apply("action=lowercase source_labels=a target_label=l");
	apply("action=uppercase source_labels=a target_label=u");
	expect("l", "xy\xc3\xa4");
	expect("u", "XY\xc3\xa4");
}

Test(relabel, in_order_until_one_drops)
{
	const char *const texts[] = { "target_label=a replacement=1",
				      "action=drop source_labels=a regex=1",
				      "target_label=b replacement=2" };
	struct relabel_error error;

	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(relabel_add(&rules, texts[i], &error), 0);
	cr_assert_eq(relabel_apply(&rules, &labels, &keep), 0);
	cr_assert_not(keep);
	expect("a", "1");
	expect("b", "");
	cr_assert(relabel_is_same(&rules, &rules));
	cr_assert_not(relabel_is_same(&rules, NULL));
	cr_assert(relabel_is_same(NULL, NULL));
	cr_assert_eq(relabel_apply(NULL, &labels, &keep), 0);
	cr_assert(keep);
}

static void wrong(const char *text, size_t at, const char *why)
{
	struct relabel_error error;

	cr_assert_eq(relabel_add(&rules, text, &error), -EINVAL, "%s", text);
	cr_assert_eq(error.at, at, "%s: %zu, %s", text, error.at, error.why);
	cr_assert(strstr(error.why, why), "%s: %s", text, error.why);
	cr_assert_eq(rules.n, 0);
}

Test(relabel, what_is_wrong)
{
	wrong("", 0, "empty");
	wrong("action", 0, "NAME=VALUE");
	wrong("action=drop x=1", 12, "unknown word 'x'; a rule has");
	wrong("action=kep regex=a", 7, "unknown action 'kep'; there are");
	wrong("action=drop action=keep", 12, "given twice");
	wrong("action=drop source_labels=a", 0, "drop needs regex");
	wrong("regex=a", 0, "replace needs target_label");
	wrong("action=labeldrop regex=a source_labels=b", 39, "labeldrop takes no source_labels");
	wrong("action=drop regex='a", 18, "no end");
	wrong("action=drop regex='a'b", 21, "a space is missing");
	wrong("source_labels=a,7 target_label=b", 16, "'7' is no label's name");
	wrong("source_labels='a b' target_label=b", 17, "a comma is missing");
	wrong("source_labels=a, target_label=b", 16, "no label's name");
	wrong("source_labels=a target_label=b-c", 29, "'b-c' is no label's name");
	wrong("source_labels=a regex=\\d+ target_label=b", 22, "write [0-9]");
	wrong("source_labels=a regex=a)(b target_label=b", 23, "this ) has no (");
	wrong("source_labels=a regex=(a target_label=b", 24, "a ( has no )");
	wrong("source_labels=a regex=(?:a) target_label=b", 22, "no (?");
	wrong("source_labels=a regex=a.*?b target_label=b", 24, "leave the ? out");
	wrong("source_labels=a regex=a\\ target_label=b", 23, "backslash");
	wrong("source_labels=a regex=[a target_label=b", 22, "");
	wrong("source_labels=a regex=a target_label=b", 0, "needs replacement");
	wrong("source_labels=a replacement=x$2 target_label=b", 29, "fewer groups");
	wrong("source_labels=a replacement=$1x target_label=b", 28, "${1} before letters");
	wrong("source_labels=a replacement=$ target_label=b", 28, "$$ is a dollar");
	wrong("source_labels=a target_label=a$2", 30, "fewer groups");
}

Test(relabel, facts_cannot_be_set)
{
	const char *why = "labels process.* are facts about the process and cannot be set";

	wrong("source_labels=a target_label=process.team", 29, why);
	wrong("source_labels=a target_label=process.$1", 29, why);
	wrong("action=lowercase source_labels=a target_label=process.linux.cgroup", 46, why);
	wrong("action=labelmap regex=x_(.*) replacement=process.$1", 41, why);
	apply("source_labels=process.linux.cgroup target_label=a");
	apply("target_label=a replacement=process.x");
	expect("a", "process.x");
}

Test(relabel, brackets_are_no_syntax)
{
	set("a", "(?]\\");
	apply("source_labels=a regex='[(][^]x][]][^[:alpha:]]' target_label=b replacement=y");
	expect("b", "y");
	apply("source_labels=a regex='\\(\\?\\]\\W' target_label=c replacement=y");
	expect("c", "y");
}

static bool reads(const char *text, const char *name)
{
	apply(text);
	return relabel_reads(&rules, name);
}

Test(relabel, reads)
{
	cr_assert(reads("source_labels=a,__meta_x target_label=c", "__meta_x"));
	cr_assert(reads("source_labels=process.linux.cgroup target_label=c",
			"__meta_process_cgroup"));
	cr_assert(reads("source_labels=__meta_x regex=b action=drop", "__meta_x"));
	cr_assert(reads("action=labelmap regex=__meta_(.+)", "__meta_x"));
	cr_assert_not(reads("action=labelmap regex=__meta_(y)", "__meta_x"));
	cr_assert_not(reads("source_labels=a,__meta_x2 target_label=__meta_x", "__meta_x"));
	cr_assert_not(reads("action=labeldrop regex=.*", "__meta_x"));
	cr_assert_not(relabel_reads(NULL, "a"));
}
