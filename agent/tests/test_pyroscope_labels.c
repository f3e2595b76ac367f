// SPDX-License-Identifier: Apache-2.0
/* Labels of pushed profiles: what Pyroscope would refuse has valid names and lengths. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/named_labels.h"
#include "agent/pyroscope_labels.h"
#include "report/report.h"

static struct label_list own, profile_list;
static struct label_set *profile, *made;

static void tear_down(void)
{
	label_list_done(&own);
	label_list_done(&profile_list);
	label_set_free(profile);
	label_set_free(made);
}

TestSuite(pyroscope_labels, .fini = tear_down);

static void add(const char *key, const char *text)
{
	cr_assert_eq(label_list_add(&own, &(struct label){ .key = key, .text = text }), 0);
}

static void of_profile(const char *key, const char *text)
{
	cr_assert_eq(label_list_add(&profile_list, &(struct label){ .key = key, .text = text }), 0);
}

/* Returns their number. */
static size_t make(void)
{
	_cleanup_(label_set_freep) struct label_set *set = NULL;
	struct label label;
	size_t at = 0, n = 0;

	cr_assert_eq(label_set_new(&own, &set), 0);
	cr_assert_eq(label_set_new(&profile_list, &profile), 0);
	cr_assert_eq(pyroscope_labels_make(set, profile, &made), 0);
	while (label_set_next(made, &at, &label))
		n++;
	return n;
}

Test(pyroscope_labels, names_are_prometheus_names)
{
	add("http.route", "1");
	add("a/b-c", "2");
	add("7", "3");
	cr_assert_eq(make(), 3);
	cr_assert(label_set_has(made, "http_route", "1"));
	cr_assert(label_set_has(made, "a_b_c", "2"));
	cr_assert(label_set_has(made, "_", "3"));
}

Test(pyroscope_labels, names_that_mean_something_else)
{
	add("comm", "1");
	add("thread_name", "2");
	add("state", "3");
	add("profile_id", "4");
	add("__name__", "5");
	add("service_name", "6");
	add("rack", "7");
	add("pid", "8");
	of_profile("service.name", "s");
	of_profile("resource:rack", "r");
	cr_assert_eq(make(), 8);
	cr_assert(label_set_has(made, "label_comm", "1"));
	cr_assert(label_set_has(made, "label_thread_name", "2"));
	cr_assert(label_set_has(made, "label_state", "3"));
	cr_assert(label_set_has(made, "label_profile_id", "4"));
	cr_assert(label_set_has(made, "label___name__", "5"));
	cr_assert(label_set_has(made, "label_service_name", "6"));
	cr_assert(label_set_has(made, "label_rack", "7"));
	cr_assert(label_set_has(made, "pid", "8"));
}

Test(pyroscope_labels, names_that_are_made_may_be_taken_as_well)
{
	add("rack", "1");
	of_profile("resource:rack", "2");
	of_profile("resource:label_rack", "3");
	cr_assert_eq(make(), 1);
	cr_assert(label_set_has(made, "label_label_rack", "1"));
}

Test(pyroscope_labels, one_of_each_name)
{
	add("a.b", "1");
	add("a/b", "2");
	add("a_b", "3");
	cr_assert_eq(make(), 1);
	cr_assert(label_set_has(made, "a_b", "1"));
}

/* An empty text is none; numbers and traces would be dropped, or be a series each. */
Test(pyroscope_labels, what_is_none)
{
	const struct label number = { .key = "size", .number = 7, .unit = "bytes" };

	add("empty", "");
	add("", "x");
	add(LABEL_TRACE_ID, "0123456789abcdef0123456789abcdef");
	cr_assert_eq(label_list_add(&own, &number), 0);
	cr_assert_eq(make(), 0);
	cr_assert_null(made);
}

Test(pyroscope_labels, spans_and_events_stay)
{
	add(LABEL_SPAN_ID, "0123456789abcdef");
	add(REPORT_EVENT, "page-faults");
	for (int i = 0; i < PYROSCOPE_PROFILE_LABELS; i++)
		of_profile((char[]){ (char)('A' + i), '\0' }, "x");
	add("no.room", "x");
	cr_assert_eq(make(), 2);
	cr_assert(label_set_has(made, LABEL_SPAN_ID, "0123456789abcdef"));
	cr_assert(label_set_has(made, REPORT_EVENT, "page-faults"));
}

Test(pyroscope_labels, there_are_not_too_many)
{
	char key[16];

	of_profile("service.name", "s");
	of_profile("host.name", ""); /* it is to have none */
	for (int i = 0; i < 40; i++) {
		snprintf(key, sizeof(key), "k%02d", i);
		add(key, "x");
	}
	cr_assert_eq(make(), PYROSCOPE_PROFILE_LABELS - 1);
	cr_assert(label_set_has(made, "k00", "x"));
}

/* Not within a character. */
Test(pyroscope_labels, long_texts_are_cut)
{
	size_t n = 3000;
	_cleanup_free_ char *text = calloc(1, n + 1), *key = calloc(1, n + 1);
	struct label label;
	size_t at = 0;

	memset(key, 'k', n);
	for (size_t i = 0; i + 2 <= n; i += 2)
		memcpy(text + i, "ä", 2);
	add(key, text);
	cr_assert_eq(make(), 1);
	cr_assert(label_set_next(made, &at, &label));
	cr_assert_leq(strlen(label.key), PYROSCOPE_MAX_NAME);
	cr_assert_eq(strlen(label.text), 2044 + strlen("…"));
	cr_assert_str_eq(label.text + 2042, "ä…");
}

Test(pyroscope_labels, of_profiles_are_bounded)
{
	_cleanup_(named_labels_done) struct named_labels named = { 0 };
	_cleanup_free_ char *text = calloc(1, 3001), *key = calloc(1, 1101);
	char name[16];

	memset(text, 'x', 3000);
	memset(key, 'k', 1100);
	cr_assert_eq(named_labels_set(&named, "service.name", text), 0);
	cr_assert_eq(named_labels_set(&named, key, "x"), 0);
	cr_assert_eq(named_labels_set(&named, "__meta_a", text), 0);
	cr_assert_eq(named_labels_set(&named, "process.linux.cgroup", text), 0);
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		cr_assert_eq(named_labels_set(&named, name, "x"), 0);
	}
	pyroscope_labels_bound(&named);
	cr_assert_eq(pyroscope_labels_count(&named), PYROSCOPE_PROFILE_LABELS);
	cr_assert_eq(strlen(named_labels_get(&named, "service.name")), PYROSCOPE_MAX_VALUE);
	cr_assert_str_eq(named_labels_get(&named, key), "");
	cr_assert_str_eq(named_labels_get(&named, "k0"), "x");
	cr_assert_str_eq(named_labels_get(&named, "k29"), "");
	cr_assert_eq(strlen(named_labels_get(&named, "__meta_a")), 3000); /* is not sent */
}

Test(pyroscope_labels, names_of_process_and_thread)
{
	struct sample sample = { .comm = "a", .thread_name = "", .state = DP_STATE_SLEEPING };

	cr_assert_eq(pyroscope_labels_all(NULL, &sample, true, &made), 0);
	cr_assert(label_set_has(made, "comm", "a"));
	cr_assert_not(label_set_has(made, "thread_name", ""));
	cr_assert_not(label_set_has(made, "state", "S"));
	made = label_set_free(made);
	sample.event = DP_EVENT_OFF_CPU;
	strcpy(sample.thread_name, "t");
	cr_assert_eq(pyroscope_labels_all(NULL, &sample, true, &made), 0);
	cr_assert(label_set_has(made, "thread_name", "t"));
	cr_assert(label_set_has(made, "state", "S"));
	made = label_set_free(made);
	cr_assert_eq(pyroscope_labels_all(NULL, &sample, false, &made), 0);
	cr_assert_not(label_set_has(made, "state", "S"));
}
