// SPDX-License-Identifier: Apache-2.0
/* What `dwarfprof top` lets its user see of an interval, as lines of a text. */
#include <criterion/criterion.h>
#include <limits.h>

#include "report/report.h"
#include "symbols/tests/some_names.h"
#include "text/text.h"
#include "text/top_view.h"

static struct module modules[26];
static char names[26][2];
static struct totals totals;
static struct report *report;
static struct top_view view;

static void show(void *arg, struct top_interval *interval)
{
	cr_assert(top_view_show(arg, interval) == 0);
}

static const struct top_viewer viewer = { .show = show, .arg = &view };

static void begin(void)
{
	const struct report_context context = {
		.target = "prog\033[2J (PID 42)",
		.event = "cpu-clock",
		.events = EVENT_BIT(DP_EVENT_CPU) | EVENT_BIT(DP_EVENT_OFF_CPU),
		.names = some_names(),
		.viewer = &viewer,
	};

	for (int i = 0; i < 26; i++) {
		names[i][0] = (char)('a' + i);
		modules[i] = (struct module){ .names = some_names(),
					      .name = names[i],
					      .path = names[i],
					      .fd = -1,
					      .symtab_tried = true };
	}
	top_view_init(&view);
	cr_assert(report_new(&report_top, &context, stdout, &report) == 0);
}

/* A stack of binaries without symbols, from root to leaf, that were on the CPU for so long. */
static void add_block(const char *stack, enum dp_event event, pid_t pid, pid_t tid, uint64_t ns)
{
	const __u64 kernel[] = { 0xffffffff81000001 };
	struct sample sample = { .event = event,
				 .state = DP_STATE_SLEEPING,
				 .weight = 1,
				 .value_ns = ns,
				 .pid = pid,
				 .tid = tid,
				 .comm = "pro\033g0",
				 .thread_name = "thr\nead0",
				 .outcome = DP_COMPLETE,
				 .kernel = kernel,
				 .n_kernel = event == DP_EVENT_OFF_CPU };
	struct frame frames[16];

	sample.n_user = strlen(stack);
	for (size_t i = 0; i < sample.n_user; i++)
		frames[sample.n_user - 1 - i] = (struct frame){ .offset = 0x100,
								.module = &modules[stack[i] - 'a'],
								.method = DP_METHOD_TABLE };
	sample.user = frames;
	sample.comm[5] = (char)('0' + pid % 10);
	sample.thread_name[7] = (char)('0' + tid % 10);
	totals.samples++;
	totals.events++;
	totals.time_ns += ns;
	cr_assert(report_add(report, &sample, &totals) == 0);
}

static void add_of(const char *stack, pid_t pid, pid_t tid, uint64_t ns)
{
	add_block(stack, DP_EVENT_CPU, pid, tid, ns);
}

static void add(const char *stack, uint64_t ns)
{
	add_of(stack, 1, 1, ns);
}

static void tick(void)
{
	cr_assert(report_tick(report, &totals) == 0);
}

static void end(void)
{
	report_free(report);
	top_view_done(&view);
}

/* A line for each row: "> [a] 10/30 of 100", with the selected one marked; details are indented. */
static void expect(const char *expected)
{
	static const char *const relations[] = { [TOP_CALLER] = "  by ",
						 [TOP_ITSELF] = "  itself ",
						 [TOP_CALLEE] = "  calls ",
						 [TOP_WITHIN] = "  within " };
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	for (size_t i = 0; i < view.rows.n; i++) {
		const struct top_row *row = &view.rows.items[i];

		fprintf(to, "%s%s%s ", i == view.selected ? ">" : "",
			row->kind < TOP_CALLER ? "" : relations[row->kind], top_row_name(row));
		if (row->thread)
			fprintf(to, "%d %d ", row->thread->key.pid, row->thread->key.tid);
		fprintf(to, "%lu/%lu of %lu\n", row->self, row->total, row->whole);
	}
	fclose(to);
	cr_assert_str_eq(text, expected);
	free(text);
}

Test(top_view, functions_in_each_order)
{
	const char *by_self =
		">[c] 60/60 of 100\n[d] 30/30 of 100\n[b] 10/70 of 100\n[a] 0/100 of 100\n";
	const char *by_total =
		">[a] 0/100 of 100\n[b] 10/70 of 100\n[c] 60/60 of 100\n[d] 30/30 of 100\n";
	const char *by_name =
		">[a] 0/100 of 100\n[b] 10/70 of 100\n[c] 60/60 of 100\n[d] 30/30 of 100\n";

	begin();
	add("abc", 60);
	add("ab", 10);
	add("ad", 30);
	tick();
	expect(by_self);
	top_view_sort(&view, 1);
	expect(by_total);
	top_view_sort(&view, 1);
	expect(by_name);
	top_view_sort(&view, 1);
	cr_assert_eq(view.columns[TOP_FUNCTIONS], TOP_BINARY);
	expect(by_name); /* each is a binary */
	top_view_sort(&view, 1);
	expect(by_self);
	top_view_sort(&view, -1);
	cr_assert_eq(view.columns[TOP_FUNCTIONS], TOP_BINARY);
	top_view_sort(&view, -2);
	expect(by_total);
	end();
}

/* Equal totals are in the order of their own values, these in that of names. */
Test(top_view, ties)
{
	begin();
	add("zac", 10);
	add("zab", 20);
	tick();
	top_view_sort(&view, 1);
	expect(">[a] 0/30 of 30\n[z] 0/30 of 30\n[b] 20/20 of 30\n[c] 10/10 of 30\n");
	end();
}

Test(top_view, lines_about_the_interval)
{
	begin();
	add("ab", 10);
	totals.duration_ns = 1000000000;
	tick();
	cr_assert_str_eq(view.interval->target, "prog?[2J (PID 42), cpu-clock and off-cpu, 1.0 s");
	cr_assert_str_eq(view.interval->last,
			 "last 1.0 s: 1 samples, 0.0 % complete, 0 lost; in all: "
			 "1, 0.0 %, 0");
	cr_assert_str_eq(view.interval->labels, "");
	end();
}

Test(top_view, only_the_last_interval)
{
	begin();
	add("ab", 10);
	tick();
	add("ac", 20);
	tick();
	expect(">[c] 20/20 of 20\n[a] 0/20 of 20\n");
	tick();
	expect("");
	top_view_move(&view, 1);
	cr_assert(top_view_expand(&view) == 0);
	expect("");
	end();
}

Test(top_view, filter)
{
	begin();
	add("abc", 60);
	add("ad", 40);
	tick();
	cr_assert(top_view_filter(&view, "[B") == 0);
	expect(">[b] 0/60 of 100\n");
	cr_assert_eq(view.n_found, 1);
	cr_assert_eq(view.n_all, 4);
	/* It stays for the next interval. */
	add("ab", 1);
	tick();
	expect(">[b] 1/1 of 1\n");
	top_view_filter(&view, "nothing\033");
	cr_assert_str_eq(view.filter, "nothing?");
	expect("");
	top_view_filter(&view, "");
	expect(">[b] 1/1 of 1\n[a] 0/1 of 1\n");
	end();
}

/* By the binary as well: a wait has a name that its binary has not. */
Test(top_view, filter_of_binaries)
{
	begin();
	modules[1].path = (char *)"/x/libfoo.so";
	add("ab", 60);
	tick();
	top_view_filter(&view, "FOO");
	expect(">[b] 60/60 of 60\n");
	top_view_filter(&view, "x/");
	expect("");
	end();
}

Test(top_view, callers_and_callees)
{
	begin();
	add("abc", 50);
	add("dbe", 20);
	add("db", 30);
	tick();
	top_view_filter(&view, "[b]");
	cr_assert(top_view_expand(&view) == 0);
	expect(">[b] 30/100 of 100\n"
	       "  by [a] 50/50 of 100\n"
	       "  by [d] 50/50 of 100\n"
	       "  itself [b] 30/30 of 100\n"
	       "  calls [c] 50/50 of 100\n"
	       "  calls [e] 20/20 of 100\n");
	cr_assert(top_view_expand(&view) == 0);
	expect(">[b] 30/100 of 100\n");
	end();
}

/* A stack counts once for each of the callers and callees in it. */
Test(top_view, recursion)
{
	begin();
	add("abbbcb", 10);
	add("abc", 7);
	tick();
	top_view_filter(&view, "[b]");
	top_view_expand(&view);
	expect(">[b] 10/17 of 17\n"
	       "  by [a] 17/17 of 17\n"
	       "  by [b] 10/10 of 17\n"
	       "  by [c] 10/10 of 17\n"
	       "  itself [b] 10/10 of 17\n"
	       "  calls [c] 17/17 of 17\n"
	       "  calls [b] 10/10 of 17\n");
	end();
}

/* The reason is part of the name, and what carries the wait out is no callee. */
Test(top_view, waits)
{
	begin();
	add_block("ab", DP_EVENT_OFF_CPU, 1, 1, 80);
	add("abc", 20);
	tick();
	top_view_expand(&view);
	cr_assert(strstr(top_row_name(&view.rows.items[0]), "[b] ["));
	cr_assert_eq(view.rows.items[0].self, 80);
	cr_assert_eq(view.rows.items[1].kind, TOP_CALLER);
	cr_assert_eq(view.rows.items[2].kind, TOP_ITSELF);
	cr_assert_eq(view.rows.items[3].kind, TOP_FUNCTION);
	end();
}

Test(top_view, at_most_so_many_details)
{
	char stack[] = "zya";

	begin();
	for (char c = 'a'; c < 'a' + TOP_DETAILS + 2; c++) {
		stack[2] = c;
		add(stack, (uint64_t)(100 - c + 'a'));
	}
	tick();
	top_view_filter(&view, "[y]");
	top_view_expand(&view);
	cr_assert_eq(view.rows.n, 1 + 1 + TOP_DETAILS);
	cr_assert_str_eq(top_row_name(&view.rows.items[2]), "[a]");
	cr_assert_str_eq(top_row_name(&view.rows.items[1 + TOP_DETAILS]), "[j]");
	end();
}

Test(top_view, processes_and_threads)
{
	begin();
	add_of("ab", 1, 1, 10);
	add_of("abc", 1, 2, 30);
	add_of("ad", 3, 3, 60);
	tick();
	cr_assert(top_view_choose_list(&view, TOP_PROCESSES) == 0);
	expect(">pro?g3 3 3 60/60 of 100\npro?g1 1 1 40/40 of 100\n");
	top_view_move(&view, 1);
	top_view_expand(&view);
	expect("pro?g3 3 3 60/60 of 100\n>pro?g1 1 1 40/40 of 100\n"
	       "  within [c] 30/30 of 40\n  within [b] 10/10 of 40\n");
	top_view_sort(&view, 1); /* by number */
	expect(">pro?g1 1 1 40/40 of 100\n  within [c] 30/30 of 40\n  within [b] 10/10 of 40\n"
	       "pro?g3 3 3 60/60 of 100\n");
	top_view_choose_list(&view, TOP_THREADS);
	expect(">thr?ead3 3 3 60/60 of 100\nthr?ead2 1 2 30/30 of 100\nthr?ead1 1 1 10/10 of 100\n");
	top_view_sort(&view, 1); /* by their numbers */
	expect(">thr?ead1 1 1 10/10 of 100\nthr?ead2 1 2 30/30 of 100\nthr?ead3 3 3 60/60 of 100\n");
	top_view_sort(&view, 1); /* by their processes' */
	expect(">thr?ead2 1 2 30/30 of 100\nthr?ead1 1 1 10/10 of 100\nthr?ead3 3 3 60/60 of 100\n");
	top_view_expand(&view);
	expect(">thr?ead2 1 2 30/30 of 100\n  within [c] 30/30 of 30\nthr?ead1 1 1 10/10 of 100\n"
	       "thr?ead3 3 3 60/60 of 100\n");
	top_view_filter(&view, "3"); /* a name, or a number as a whole */
	expect(">thr?ead3 3 3 60/60 of 100\n");
	top_view_filter(&view, "PRO?G1");
	cr_assert_eq(view.n_found, 2);
	end();
}

/* What is equally long is in the order of names and numbers; a thread has all its stacks. */
Test(top_view, order_of_threads)
{
	begin();
	add_of("ab", 21, 21, 10);
	add_of("ac", 11, 11, 4);
	add_of("ad", 11, 11, 6);
	add_of("ac", 12, 12, 10);
	tick();
	top_view_choose_list(&view, TOP_THREADS);
	expect(">thr?ead1 11 11 10/10 of 30\nthr?ead1 21 21 10/10 of 30\n"
	       "thr?ead2 12 12 10/10 of 30\n");
	top_view_choose_list(&view, TOP_PROCESSES);
	top_view_sort(&view, -1);
	cr_assert_eq(view.columns[TOP_PROCESSES], TOP_NAME);
	top_view_sort(&view, 1);
	cr_assert_eq(view.columns[TOP_PROCESSES], TOP_SELF);
	end();
}

Test(top_view, several_expanded)
{
	begin();
	add("ab", 20);
	add("cd", 10);
	tick();
	top_view_expand(&view);
	top_view_move(&view, 3);
	top_view_expand(&view);
	expect("[b] 20/20 of 30\n  by [a] 20/20 of 20\n  itself [b] 20/20 of 20\n"
	       ">[d] 10/10 of 30\n  by [c] 10/10 of 10\n  itself [d] 10/10 of 10\n"
	       "[a] 0/20 of 30\n[c] 0/10 of 30\n");
	top_view_move(&view, -LONG_MAX);
	top_view_expand(&view);
	expect(">[b] 20/20 of 30\n[d] 10/10 of 30\n  by [c] 10/10 of 10\n  itself [d] 10/10 of 10\n"
	       "[a] 0/20 of 30\n[c] 0/10 of 30\n");
	/* The row of the detail that was selected. */
	top_view_move(&view, 3);
	top_view_collapse(&view);
	expect("[b] 20/20 of 30\n>[d] 10/10 of 30\n[a] 0/20 of 30\n[c] 0/10 of 30\n");
	end();
}

Test(top_view, selection_follows_its_row)
{
	begin();
	add("ab", 60);
	add("ac", 40);
	tick();
	top_view_move(&view, 1);
	expect("[b] 60/60 of 100\n>[c] 40/40 of 100\n[a] 0/100 of 100\n");
	add("ab", 10);
	add("ac", 90);
	tick();
	expect(">[c] 90/90 of 100\n[b] 10/10 of 100\n[a] 0/100 of 100\n");
	/* Where it is gone, the one in its place. */
	add("ab", 10);
	tick();
	expect(">[b] 10/10 of 10\n[a] 0/10 of 10\n");
	top_view_move(&view, LONG_MAX);
	expect("[b] 10/10 of 10\n>[a] 0/10 of 10\n");
	add("d", 10);
	tick();
	expect(">[d] 10/10 of 10\n");
	/* Fewer rows than before: the last one. */
	add("abc", 10);
	tick();
	top_view_move(&view, 2);
	add("xy", 10);
	tick();
	expect("[y] 10/10 of 10\n>[x] 0/10 of 10\n");
	end();
}

Test(top_view, selection_stays_at_the_first_row)
{
	begin();
	add("ab", 60);
	add("ac", 40);
	tick();
	top_view_move(&view, 1);
	top_view_move(&view, -LONG_MAX);
	add("ab", 10);
	add("ac", 90);
	tick();
	expect(">[c] 90/90 of 100\n[b] 10/10 of 100\n[a] 0/100 of 100\n");
	end();
}

Test(top_view, selection_follows_a_detail)
{
	begin();
	add("xb", 60);
	add("yb", 40);
	tick();
	top_view_expand(&view);
	top_view_move(&view, 2);
	expect("[b] 100/100 of 100\n  by [x] 60/60 of 100\n>  by [y] 40/40 of 100\n"
	       "  itself [b] 100/100 of 100\n[x] 0/60 of 100\n[y] 0/40 of 100\n");
	add("xb", 10);
	add("yb", 90);
	tick();
	expect("[b] 100/100 of 100\n>  by [y] 90/90 of 100\n  by [x] 10/10 of 100\n"
	       "  itself [b] 100/100 of 100\n[y] 0/90 of 100\n[x] 0/10 of 100\n");
	end();
}

Test(top_view, expanded_again_when_it_comes_back)
{
	begin();
	add("ab", 10);
	tick();
	top_view_expand(&view);
	add("c", 10);
	tick();
	expect(">[c] 10/10 of 10\n");
	add("ab", 10);
	tick();
	expect(">[b] 10/10 of 10\n  by [a] 10/10 of 10\n  itself [b] 10/10 of 10\n[a] 0/10 of 10\n");
	cr_assert(top_view_collapse(&view) == 0);
	expect(">[b] 10/10 of 10\n[a] 0/10 of 10\n");
	end();
}

Test(top_view, goes_to_a_caller)
{
	begin();
	add("ab", 10);
	tick();
	top_view_filter(&view, "[b]");
	top_view_expand(&view);
	top_view_move(&view, 1);
	top_view_expand(&view);
	/* It was not among those of the filter. */
	expect("[b] 10/10 of 10\n  by [a] 10/10 of 10\n  itself [b] 10/10 of 10\n"
	       ">[a] 0/10 of 10\n  calls [b] 10/10 of 10\n");
	cr_assert_str_eq(view.filter, "");
	top_view_choose_list(&view, TOP_PROCESSES);
	top_view_expand(&view);
	top_view_move(&view, 1);
	top_view_expand(&view);
	cr_assert_eq(view.list, TOP_FUNCTIONS);
	expect(">[b] 10/10 of 10\n  by [a] 10/10 of 10\n  itself [b] 10/10 of 10\n"
	       "[a] 0/10 of 10\n  calls [b] 10/10 of 10\n");
	end();
}
