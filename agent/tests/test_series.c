// SPDX-License-Identifier: Apache-2.0
/* Which profile a sample belongs to, and how many there are. */
#include <criterion/criterion.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "agent/pyroscope_labels.h"
#include "agent/relabel.h"
#include "agent/series.h"
#include "agent/series_memory.h"
#include "deliver/deliver.h"
#include "report/report.h"

static struct series_options options;
static struct series *series;
static struct relabel all, own;
static struct series_sample found;

static void begin(bool by_process, size_t max_sets)
{
	options.host = "h";
	options.by_process = by_process;
	options.max_sets = max_sets;
	cr_assert_eq(series_new(&options, &series), 0);
}

static void tear_down(void)
{
	series_free(series);
	relabel_done(&all);
	relabel_done(&own);
}

TestSuite(series, .fini = tear_down);

static void add(struct label_list *list, const char *key, const char *text)
{
	cr_assert_eq(label_list_add(list, &(struct label){ .key = key, .text = text }), 0);
}

static bool find_with(int pid, const char *comm, struct label_list *list)
{
	struct sample sample = { .pid = pid };
	struct label_set *labels = NULL;

	strcpy(sample.comm, comm);
	if (list->n > 0)
		cr_assert_eq(label_set_new(list, &labels), 0);
	sample.labels = labels;
	cr_assert_eq(series_find(series, &sample, &found), 0);
	label_set_free(labels);
	label_list_done(list);
	return found.kept == SERIES_ALL;
}

/* A sample with one label. */
static bool find(int pid, const char *comm, const char *key, const char *text)
{
	struct label_list list = { 0 };

	if (key)
		add(&list, key, text);
	return find_with(pid, comm, &list);
}

static bool has(const char *key, const char *text)
{
	return label_set_has(found.profile, key, text);
}

Test(series, service_is_the_unit_or_the_name)
{
	begin(false, 10);
	find(1, "a", NULL, NULL);
	cr_assert(has("service.name", "a"));
	cr_assert(has("host.name", "h"));
	cr_assert_null(found.sample);
	find(1, "a", "service.name", "b");
	cr_assert(has("service.name", "b"));
	cr_assert_not(has("service.name", "a"));
	cr_assert_null(found.sample);
}

Test(series, labels_of_a_sample_are_not_the_profiles)
{
	begin(false, 10);
	find(1, "a", "route", "/");
	cr_assert_not(has("route", "/"));
	cr_assert(label_set_has(found.sample, "route", "/"));
}

Test(series, labels_of_the_backend)
{
	const struct deliver_label labels[] = { { "rack.row", "7" }, { "service_name", "s" } };

	options.labels = labels;
	options.n_labels = 2;
	begin(false, 10);
	find(1, "a", NULL, NULL);
	cr_assert(has("resource:rack.row", "7"));
	cr_assert(has("service.name", "s"));
}

Test(series, facts_about_a_process_are_for_those_that_tell_them_apart)
{
	begin(false, 10);
	find(1, "a", "process.linux.cgroup", "/x");
	cr_assert_not(has("process.linux.cgroup", "/x"));
	series_free(series);
	begin(true, 10);
	find(1, "a", "process.linux.cgroup", "/x");
	cr_assert(has("process.linux.cgroup", "/x"));
}

Test(series, sets_are_limited)
{
	begin(false, 2);
	cr_assert(find(1, "a", NULL, NULL));
	cr_assert(find(2, "a", NULL, NULL));
	cr_assert(find(1, "b", NULL, NULL));
	cr_assert_not(find(1, "c", NULL, NULL));
	cr_assert(has("service.name", SERIES_OTHER));
	cr_assert(has("host.name", "h"));
	cr_assert_not(find(1, "a", "route", "/"));
	cr_assert(has("service.name", "a"));
	cr_assert_null(found.sample);
	cr_assert(find(1, "b", NULL, NULL));
	cr_assert(has("service.name", "b"));
}

Test(series, sets_of_processes)
{
	begin(true, 4);
	cr_assert(find(1, "a", "process.linux.cgroup", "/x"));
	cr_assert_not(find(2, "a", "process.linux.cgroup", "/x"));
	cr_assert(has("service.name", "a"));
	cr_assert_not(has("process.linux.cgroup", "/x"));
	cr_assert(find(1, "a", "process.linux.cgroup", "/x"));
	cr_assert(has("process.linux.cgroup", "/x"));
}

/* A process has a resource, or a series, for each name that it takes, also of the same service. */
Test(series, names_of_processes_are_sets)
{
	for (int by_process = 0; by_process < 2; by_process++) {
		begin(by_process, 8);
		cr_assert(find(1, "a", "service.name", "s"));
		cr_assert(find(1, "b", "service.name", "s"));
		cr_assert_not(find(1, "c", "service.name", "s"));
		cr_assert(has("service.name", "s"));
		series_free(series);
	}
	series = NULL;
}

/* One that has a name for each of its threads takes no other service's place. */
Test(series, names_of_threads_are_sets)
{
	for (int by_process = 0; by_process < 2; by_process++) {
		struct sample sample = { .pid = 1, .comm = "a" };
		size_t n[SERIES_N_KEPT] = { 0 };

		begin(by_process, 80);
		for (int i = 0; i < 100; i++) {
			snprintf(sample.thread_name, sizeof(sample.thread_name), "t%d", i);
			cr_assert_eq(series_find(series, &sample, &found), 0);
			n[found.kept]++;
		}
		cr_assert_eq(n[SERIES_ALL], 20);
		cr_assert_eq(n[SERIES_THREAD], 5);
		cr_assert_eq(n[SERIES_COMM], 75);
		strcpy(sample.thread_name, "t0");
		cr_assert_eq(series_find(series, &sample, &found), 0);
		cr_assert_eq(found.kept, SERIES_ALL);
		series_free(series);
	}
	series = NULL;
}

Test(series, states_are_sets)
{
	struct sample sample = { .comm = "a", .event = DP_EVENT_OFF_CPU };

	begin(false, 8);
	for (int i = 0; i < 3; i++) {
		sample.state = i == 1 ? DP_STATE_SLEEPING : DP_STATE_RUNNABLE;
		cr_assert_eq(series_find(series, &sample, &found), 0);
		cr_assert_eq(found.kept, SERIES_ALL);
	}
	sample.state = DP_STATE_DISK_SLEEP;
	cr_assert_eq(series_find(series, &sample, &found), 0);
	cr_assert_neq(found.kept, SERIES_ALL);
	series_free(series);
	/* Of those on a CPU, it says nothing. */
	sample.event = DP_EVENT_CPU;
	begin(false, 4);
	for (int i = 0; i < 5; i++) {
		sample.state = (enum dp_state)i;
		cr_assert_eq(series_find(series, &sample, &found), 0);
		cr_assert_eq(found.kept, SERIES_ALL);
	}
}

/* Or its values would be another one's. */
Test(series, the_event_is_kept)
{
	static const enum series_kept expected[] = { SERIES_ALL, SERIES_THREAD, SERIES_NOTHING };

	for (int by_process = 0; by_process < 2; by_process++) {
		begin(by_process, 1);
		for (int i = 0; i < 3; i++) {
			struct label_list list = { 0 };

			add(&list, REPORT_EVENT, "cycles");
			if (i == 1)
				add(&list, "route", "/");
			find_with(1, i < 2 ? "a" : "b", &list);
			cr_assert_eq(found.kept,
				     by_process && i == 1 ? SERIES_NOTHING : expected[i]);
			cr_assert(label_set_has(found.sample, REPORT_EVENT, "cycles"));
		}
		series_free(series);
	}
	series = NULL;
}

/* What a process is called tells more than its number. */
Test(series, keeps_names_longest)
{
	struct sample sample = { .comm = "a" };
	size_t n[SERIES_N_KEPT] = { 0 };

	begin(true, 80);
	for (int i = 0; i < 100; i++) {
		sample.pid = 1000 + i;
		snprintf(sample.thread_name, sizeof(sample.thread_name), "t%d", i / 10);
		cr_assert_eq(series_find(series, &sample, &found), 0);
		cr_assert(has("service.name", "a"));
		n[found.kept]++;
	}
	/* A part is 20; then 5 threads with 10 processes each, and the rest by name. */
	cr_assert_eq(n[SERIES_ALL], 20);
	cr_assert_eq(n[SERIES_THREAD], 50);
	cr_assert_eq(n[SERIES_COMM], 30);
	for (int i = 0; i < 20; i++) {
		snprintf(sample.comm, sizeof(sample.comm), "b%d", i);
		find_with(sample.pid, sample.comm, &(struct label_list){ 0 });
	}
	cr_assert_eq(found.kept, SERIES_ALL); /* of other services */
}

/* Of one service, by the names of its processes while there is room. */
Test(series, keeps_services_of_many_names)
{
	size_t n[SERIES_N_KEPT] = { 0 };
	char comm[16];

	begin(true, 80);
	for (int i = 0; i < 100; i++) {
		snprintf(comm, sizeof(comm), "c%d", i);
		find(1000 + i, comm, "service.name", "s");
		cr_assert(has("service.name", "s"));
		n[found.kept]++;
	}
	cr_assert_eq(n[SERIES_ALL], 20);
	cr_assert_eq(n[SERIES_THREAD], 5);
	cr_assert_eq(n[SERIES_COMM], 5);
	cr_assert_eq(n[SERIES_SERVICE], 70);
}

/* Without processes, a sample that loses its own labels is of the set that those without any have. */
Test(series, keeps_names_without_processes)
{
	char text[16];

	begin(false, 80);
	cr_assert(find(1, "a", NULL, NULL));
	for (int i = 0; found.kept == SERIES_ALL; i++) {
		snprintf(text, sizeof(text), "%d", i);
		find(1, "a", "own", text);
	}
	cr_assert_eq(found.kept, SERIES_THREAD);
	cr_assert_null(found.sample);
}

Test(series, labels_are_valid_without_processes)
{
	struct label_list list = { 0 };
	struct label label;
	size_t at = 0, n = 0;
	char key[32];

	begin(false, 80);
	find(1, "a", "http.route", "/");
	cr_assert(label_set_has(found.sample, "http_route", "/"));
	for (int i = 0; i < 40; i++) {
		snprintf(key, sizeof(key), "cloud.%d", i);
		add(&list, key, "x");
	}
	find_with(1, "a", &list);
	while (label_set_next(found.profile, &at, &label))
		n++;
	cr_assert_eq(n, PYROSCOPE_PROFILE_LABELS);
	cr_assert(has("service.name", "a"));
	cr_assert(has("host.name", "h"));
	series_free(series);
	begin(true, 80);
	find(1, "a", "http.route", "/");
	cr_assert(label_set_has(found.sample, "http.route", "/"));
}

/* What the backend adds and rules make is not lost to what a program sets. */
Test(series, labels_of_the_backend_have_room)
{
	const struct deliver_label labels[] = { { "rack", "7" }, { "row", "8" } };
	struct label_list list = { 0 };
	char key[32];

	options.labels = labels;
	options.n_labels = 2;
	begin(false, 80);
	for (int i = 0; i < 40; i++) {
		snprintf(key, sizeof(key), "cloud.%d", i);
		add(&list, key, "x");
	}
	add(&list, "service.name", "s");
	find_with(1, "a", &list);
	cr_assert(has("resource:rack", "7"));
	cr_assert(has("resource:row", "8"));
	cr_assert(has("service.name", "s"));
}

/* One that starts processes, or makes up labels, does not take the others' place. */
static int find_many(const char *comm, bool by_label)
{
	char text[16];
	int n = 0;

	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "%d", i);
		n += find(by_label ? 1 : 1000 + i, comm, by_label ? "id" : NULL, text);
		cr_assert(has("service.name", comm));
	}
	return n;
}

Test(series, a_service_has_a_part_of_the_sets)
{
	for (int i = 0; i < 3; i++) {
		begin(i > 0, 40);
		cr_assert_eq(find_many("a", i < 2), 10);
		cr_assert_eq(find_many("b", i < 2), 10);
		cr_assert(find(1, "c", NULL, NULL));
		cr_assert(find(1, "c", "route", "/"));
		series_free(series);
	}
	series = NULL;
}

Test(series, the_first_of_services_have_room)
{
	char comm[16];

	for (int by_process = 0; by_process < 2; by_process++) {
		begin(by_process, 40);
		for (int i = 0; i < 4; i++) {
			snprintf(comm, sizeof(comm), "s%d", i);
			find_many(comm, true);
		}
		for (int i = 0; i < 4; i++) {
			snprintf(comm, sizeof(comm), "t%d", i);
			cr_assert(find(1, comm, NULL, NULL));
			cr_assert_not(find(1, comm, "route", "/"));
		}
		series_free(series);
	}
	series = NULL;
}

Test(series, spans_are_no_sets)
{
	begin(false, 1);
	cr_assert(find(1, "a", "span_id", "0123456789abcdef"));
	cr_assert(find(1, "a", "span_id", "fedcba9876543210"));
	cr_assert(label_set_has(found.sample, "span_id", "fedcba9876543210"));
}

static void rule(struct relabel *rules, const char *text)
{
	struct relabel_error error;

	cr_assert_eq(relabel_add(rules, text, &error), 0);
	options.all_rules = &all;
	options.own_rules = &own;
}

Test(series, rules_drop)
{
	rule(&all, "action=drop source_labels=__meta_process_comm regex=a");
	rule(&own, "action=keep source_labels=service_name regex=[abc]");
	begin(false, 10);
	find(1, "a", NULL, NULL);
	cr_assert(found.is_dropped);
	find(1, "b", NULL, NULL);
	cr_assert_not(found.is_dropped);
	find(1, "d", NULL, NULL);
	cr_assert(found.is_dropped);
}

/* The rules of all come before the labels of the backend, and its rules after them. */
Test(series, rules_are_in_order)
{
	const struct deliver_label labels[] = { { "team", "backend" } };

	options.labels = labels;
	options.n_labels = 1;
	rule(&all, "target_label=team replacement=all");
	rule(&all, "source_labels=team target_label=before");
	rule(&own, "source_labels=team target_label=after");
	begin(false, 10);
	find(1, "a", NULL, NULL);
	cr_assert(has("resource:before", "all"));
	cr_assert(has("resource:team", "backend"));
	cr_assert(has("resource:after", "backend"));
}

Test(series, rules_see_what_is_not_sent)
{
	rule(&all, "source_labels=__meta_process_cgroup,__meta_process_pid,__meta_process_comm "
		   "target_label=x");
	begin(true, 10);
	find(7, "a", "process.linux.cgroup", "/c");
	cr_assert(has("resource:x", "/c;7;a"));
	cr_assert(has("process.linux.cgroup", "/c"));
	cr_assert_not(has("resource:__meta_process_comm", "a"));
	find(8, "a", "process.linux.cgroup", "/c");
	cr_assert(has("resource:x", "/c;8;a"));
}

/* Otherwise a report would set it by itself. */
Test(series, a_dropped_label_is_empty)
{
	rule(&all, "action=labeldrop regex=host|service_name");
	begin(false, 10);
	find(1, "a", NULL, NULL);
	cr_assert(has("host.name", ""));
	cr_assert(has("service.name", ""));
}

Test(series, rules_see_what_the_agent_knows)
{
	static const char *const keys[] = { "service.name", "resource:team" };

	rule(&all, "source_labels=__meta_process_comm,host target_label=x");
	begin(false, 10);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		find(1, "a", keys[i], "b");
		cr_assert(has("resource:x", "a;h"), "%s", keys[i]);
	}
}

Test(series, facts_have_room)
{
	struct label_list list = { 0 };
	char key[32];

	rule(&all, "source_labels=__meta_process_cgroup,k8s_pod_uid target_label=service_name");
	begin(false, 10);
	for (int i = 0; i < NAMED_LABELS_MAX; i++) {
		snprintf(key, sizeof(key), "cloud.%d", i);
		add(&list, key, "x");
	}
	add(&list, "process.linux.cgroup", "/c");
	add(&list, "k8s.pod.uid", "1");
	find_with(1, "a", &list);
	cr_assert(has("service.name", "/c;1"));
}

/* However many labels a program sets, rules set theirs. */
static void check_room_of_rules(bool by_process)
{
	struct label_list list = { 0 };
	char key[32];

	rule(&all, "target_label=owner replacement=ops");
	rule(&own, "target_label=shard replacement=7");
	begin(by_process, 10);
	for (int i = 0; i < NAMED_LABELS_MAX; i++) {
		snprintf(key, sizeof(key), "cloud.%d", i);
		add(&list, key, "x");
	}
	find_with(1, "a", &list);
	cr_assert(has("resource:owner", "ops"));
	cr_assert(has("resource:shard", "7"));
	cr_assert(has("host.name", "h"));
	cr_assert(has("cloud.0", "x"));
}

Test(series, rules_have_room_for_their_labels)
{
	check_room_of_rules(false);
	tear_down();
	check_room_of_rules(true);
}

/* A machine that runs one container after the other, each in an interval of its own. */
Test(series, sets_are_limited_over_time)
{
	struct series_memory *memory;
	char text[16];
	int n = 0;

	cr_assert_eq(series_memory_new(&memory), 0);
	options.memory = memory;
	for (int i = 0; i < 1000; i++) {
		options.now_ns = (uint64_t)(1 + i) * 1000000000;
		begin(false, 10);
		snprintf(text, sizeof(text), "c%d", i);
		n += find(1, text, NULL, NULL);
		cr_assert_eq(n, i < 10 ? i + 1 : 10);
		cr_assert(find(2, "c0", NULL, NULL)); /* goes on */
		series_free(series);
	}
	/* What was not used makes room, and what was stays. */
	options.now_ns = (uint64_t)10 * 1000000000 + SERIES_MEMORY_NS;
	begin(false, 10);
	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "d%d", i);
		n += find(1, text, NULL, NULL);
	}
	cr_assert_eq(n, 10 + 8);
	cr_assert(find(1, "c0", NULL, NULL));
	cr_assert(find(1, "c9", NULL, NULL));
	cr_assert_not(find(1, "c8", NULL, NULL));
	series = series_free(series);
	series_memory_free(memory);
}

Test(series, forgotten_sets_of_a_service_make_room)
{
	struct series_memory *memory;

	cr_assert_eq(series_memory_new(&memory), 0);
	options.memory = memory;
	for (int i = 0; i < 3; i++) {
		options.now_ns = 1 + (uint64_t)i * (SERIES_MEMORY_NS + 1);
		begin(true, 40);
		cr_assert_eq(find_many("a", i % 2), 10);
		series = series_free(series);
	}
	series_memory_free(memory);
}

/* Bytes that are kept for n sources, which the service or the thread tells apart. */
static size_t measure(size_t max_sets, bool by_service, int n)
{
	struct sample sample = { .comm = "a" };
	size_t before;

	begin(false, max_sets);
	cr_assert_eq(series_find(series, &sample, &found), 0);
	before = mallinfo2().uordblks;
	for (int i = 0; i < n; i++) {
		sample.pid = i;
		snprintf(sample.thread_name, sizeof(sample.thread_name), "%d", i);
		if (by_service)
			snprintf(sample.comm, sizeof(sample.comm), "%d", i);
		cr_assert_eq(series_find(series, &sample, &found), 0);
	}
	return mallinfo2().uordblks - before;
}

Test(series, sources_are_limited)
{
	cr_assert_leq(measure(4, true, 10000), 256 << 10);
	cr_assert(find(1, "a", NULL, NULL));
	cr_assert_not(find(1, "b", NULL, NULL));
}

Test(series, sources_are_what_rules_tell_apart)
{
	rule(&all, "source_labels=service_name target_label=x");
	cr_assert_leq(measure(40, false, 600), 16 << 10);
}

Test(series, threads_that_rules_tell_apart)
{
	struct sample sample = { .comm = "a" };

	rule(&own, "source_labels=__meta_thread_name target_label=x");
	begin(false, 10);
	for (int i = 0; i < 3; i++) {
		snprintf(sample.thread_name, sizeof(sample.thread_name), "%d", i);
		cr_assert_eq(series_find(series, &sample, &found), 0);
		cr_assert(has("resource:x", sample.thread_name));
	}
}
