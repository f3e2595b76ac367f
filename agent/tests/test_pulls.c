// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "agent/process_labels.h"
#include "agent/pulls.h"
#include "limits/limits.h"
#include "symbols/names.h"

static void ignore(void *arg)
{
}

static void count(void *arg)
{
	++*(int *)arg;
}

static struct window window = { .from_ns = 0, .until_ns = UINT64_MAX };
static const struct pull_request request = { .duration_ns = 1000, .format = "pprof" };
static const struct totals totals = { .duration_ns = 2000 };
static struct names *names;
static struct pulls *pulls;

/* What may take long. Meanwhile the lock must be free: whoever reads the rings takes it. */
const char *__wrap_process_labels_cgroup(struct process_labels *labels,
					 const struct sample *sample);
int __real_report_finish(struct report *report, const struct totals *totals);
int __wrap_report_finish(struct report *report, const struct totals *totals);
struct report *__real_report_free(struct report *report);
struct report *__wrap_report_free(struct report *report);

static int n_asked, n_finished, n_freed;
static bool closes; /* while one is being completed */

const char *__wrap_process_labels_cgroup(struct process_labels *labels, const struct sample *sample)
{
	(void)pulls_due(pulls);
	n_asked++;
	return sample->pid == 1 ? "/a" : sample->pid == 2 ? "/b" : NULL;
}

int __wrap_report_finish(struct report *report, const struct totals *t)
{
	(void)pulls_due(pulls);
	n_finished++;
	if (closes)
		cr_assert_not(pulls_try_close(pulls));
	return __real_report_finish(report, t);
}

struct report *__wrap_report_free(struct report *report)
{
	(void)pulls_due(pulls);
	n_freed += report != NULL;
	return __real_report_free(report);
}

static void begin(void)
{
	cr_assert_eq(names_new(&(struct names_options){ .none = true }, &names), 0);
	cr_assert_eq(pulls_new(ignore, NULL, &pulls), 0);
}

static void end(void)
{
	pulls_free(pulls);
	names_free(names);
}

/* Whoever waits for a lock of its own is caught. */
TestSuite(pulls, .init = begin, .fini = end, .timeout = 20);

static struct report *new_report(void)
{
	const struct report_context context = {
		.events = EVENT_BIT(DP_EVENT_CPU),
		.hz = 19,
		.names = names,
	};
	struct report *report;

	cr_assert_eq(pulls_report_new(pulls, &context, &window, NULL, &report), 0);
	return report;
}

Test(pulls, a_run_that_never_served_leaves_them_alone)
{
	struct report *present, *next;
	struct pull *pull;
	const char *text;
	size_t size;
	int n_done = 0;

	present = new_report();
	next = new_report();
	cr_assert_eq(pulls_ask(pulls, &request, count, &n_done, &pull), 0);
	cr_assert_eq(pulls_due(pulls), 0);
	pulls_plan(present, 100, 100);
	cr_assert_eq(pulls_taken(present, present, &totals), 0);
	cr_assert_eq(pulls_due(pulls), 1100);
	pulls_report_free(next, &totals);
	cr_assert_eq(n_done, 0);
	pulls_plan(present, 1100, 1100);
	cr_assert_eq(pulls_taken(present, present, &totals), 0);
	cr_assert_eq(n_done, 1);
	cr_assert_eq(pull_result(pull, &text, &size), 0);
	cr_assert_gt(size, 0);
	pull_free(pull);
	pulls_report_free(present, &totals);
}

Test(pulls, closed_while_one_runs)
{
	struct report *report;
	struct pull *pull, *other;
	const char *text;
	size_t size;
	int n_done = 0;

	report = new_report();
	cr_assert_eq(pulls_ask(pulls, &request, count, &n_done, &pull), 0);
	pulls_plan(report, 100, 100);
	cr_assert_eq(pulls_taken(report, report, &totals), 0);
	pulls_close(pulls);
	cr_assert_eq(n_done, 1);
	cr_assert_eq(pull_result(pull, &text, &size), -ESHUTDOWN);
	cr_assert_eq(pulls_ask(pulls, &request, count, &n_done, &other), -ESHUTDOWN);
	pull_free(pull);
	pulls_report_free(report, &totals);
	cr_assert_eq(n_done, 1);
}

static bool is_counted(void *arg)
{
	return *(int *)arg < 0;
}

Test(pulls, nobody_waits_for_one)
{
	struct report *report;
	struct pull *pull[PULLS_MAX], *more;
	int n_done[PULLS_MAX + 1] = { 0 };
	const char *text;
	size_t size;

	report = new_report();
	for (int i = 0; i < PULLS_MAX; i++)
		cr_assert_eq(pulls_ask(pulls, &request, count, &n_done[i], &pull[i]), 0);
	cr_assert_eq(pulls_ask(pulls, &request, count, &n_done[PULLS_MAX], &more), -EBUSY);
	pulls_plan(report, 100, 100);
	cr_assert_eq(pulls_taken(report, report, &totals), 0);
	n_done[3] = -1;
	pulls_drop(pulls, is_counted);
	for (int i = 0; i < PULLS_MAX; i++)
		cr_assert_eq(n_done[i], 0);
	cr_assert_eq(pull_result(pull[3], &text, &size), -ECANCELED);
	pull_free(pull[3]);
	cr_assert_eq(pulls_ask(pulls, &request, count, &n_done[PULLS_MAX], &more), 0);
	pulls_report_free(report, &totals);
	for (int i = 0; i < PULLS_MAX; i++) {
		cr_assert_eq(n_done[i], i == 3 ? 0 : 1);
		if (i != 3)
			pull_free(pull[i]);
	}
	pulls_close(pulls);
	pull_free(more);
}

static const struct sample sample = {
	.time_ns = 150, .event = DP_EVENT_CPU, .weight = 1, .pid = 1, .outcome = DP_NO_USER_STACK
};

Test(pulls, hold_up_nobody_while_they_are_filled_and_end)
{
	struct pull_request of_cgroup = request;
	struct report *report = new_report();
	struct pull *pull;
	int n_done = 0;

	strcpy(of_cgroup.cgroup, "/");
	cr_assert_eq(pulls_ask(pulls, &of_cgroup, count, &n_done, &pull), 0);
	pulls_plan(report, 100, 100);
	cr_assert_eq(pulls_taken(report, report, &totals), 0);
	cr_assert_eq(report->add(report, &sample, &totals), 0);
	cr_assert_eq(n_asked, 1);
	pulls_plan(report, 1100, 1100);
	cr_assert_eq(pulls_taken(report, report, &totals), 0);
	cr_assert_eq(n_done, 1);
	cr_assert_eq(n_finished, 1);
	cr_assert_eq(n_freed, 1);
	pull_free(pull);
	pulls_report_free(report, &totals);
}

Test(pulls, of_a_cgroup)
{
	static const char *const programs[] = { "first", "second", "third" };
	struct pull_request of_cgroup = { .duration_ns = 1000, .format = "folded", .cgroup = "/a" };
	struct report *report = new_report();
	struct sample other = sample;
	struct pull *pull;
	const char *text;
	size_t size;
	int n_done = 0;

	cr_assert_eq(pulls_ask(pulls, &of_cgroup, count, &n_done, &pull), 0);
	pulls_plan(report, 100, 100);
	cr_assert_eq(pulls_taken(report, report, &totals), 0);
	for (other.pid = 1; other.pid <= 3; other.pid++) {
		strcpy(other.comm, programs[other.pid - 1]);
		cr_assert_eq(report->add(report, &other, &totals), 0);
	}
	cr_assert_eq(n_asked, 3);
	pulls_plan(report, 1100, 1100);
	cr_assert_eq(pulls_taken(report, report, &totals), 0);
	cr_assert_eq(n_done, 1);
	cr_assert_eq(pull_result(pull, &text, &size), 0);
	cr_assert(memmem(text, size, "first", 5));
	cr_assert_not(memmem(text, size, "second", 6) || memmem(text, size, "third", 5));
	pull_free(pull);
	pulls_report_free(report, &totals);
}

Test(pulls, hold_up_nobody_while_they_fail)
{
	struct report *report = new_report();
	struct pull *pull, *other;
	int n_done = 0, n_gone = -1;

	cr_assert_eq(pulls_ask(pulls, &request, count, &n_done, &pull), 0);
	cr_assert_eq(pulls_ask(pulls, &request, count, &n_gone, &other), 0);
	pulls_plan(report, 100, 100);
	cr_assert_eq(pulls_taken(report, report, &totals), 0);
	pulls_drop(pulls, is_counted);
	cr_assert_eq(n_gone, 0);
	cr_assert_eq(n_freed, 1);
	pulls_close(pulls);
	cr_assert_eq(n_done, 1);
	cr_assert_eq(n_freed, 2);
	pull_free(pull);
	pull_free(other);
	pulls_report_free(report, &totals);
}

Test(pulls, closed_while_one_is_completed)
{
	struct report *report = new_report();
	struct pull *pull, *other;
	const char *text;
	size_t size;
	int n_done = 0, n_other = 0;

	cr_assert_eq(pulls_ask(pulls, &request, count, &n_done, &pull), 0);
	pulls_plan(report, 100, 100);
	cr_assert_eq(pulls_taken(report, report, &totals), 0);
	cr_assert_eq(pulls_ask(pulls, &request, count, &n_other, &other), 0);
	pulls_plan(report, 1100, 1100);
	closes = true;
	cr_assert_eq(pulls_taken(report, report, &totals), 0);
	cr_assert_eq(n_done, 1);
	cr_assert_eq(pull_result(pull, &text, &size), 0);
	cr_assert_eq(n_other, 1);
	cr_assert_eq(pull_result(other, &text, &size), -ESHUTDOWN);
	cr_assert(pulls_try_close(pulls));
	pull_free(pull);
	pull_free(other);
	pulls_report_free(report, &totals);
}
