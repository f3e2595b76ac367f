// SPDX-License-Identifier: Apache-2.0
/* The same with a probe that is added meanwhile: samples outside its calls, and before it, stay. */
#include "samples/spans.h"

#include <criterion/criterion.h>

#include "samples/call_table.h"
#include "samples/tests/spans_test.h"
#include "samples/value_table.h"

/* Of a probe that is added: from 500 to 2000. */
static void set_up(void)
{
	struct call_period period = { .is_timed = true, .min_ns = MIN };
	unsigned int probe;

	set_up_values();
	period.forms = forms[0];
	values.n_lists = 0;
	cr_assert_eq(value_table_new(&values.added), 0);
	cr_assert_eq(call_table_new(&values.calls), 0);
	cr_assert_eq(value_table_add(values.added, &forms[0], "f", 0, 0), 0);
	cr_assert_eq(call_table_prepare(values.calls, &period, 500, &probe), 0);
	call_table_begin(values.calls, probe, 500);
	call_table_end(values.calls, probe, 2000);
	spans = (struct spans){ .values = &values, .are_added = true };
}

static void tear_down(void)
{
	spans_done(&spans);
	value_table_free(values.added);
	call_table_free(values.calls);
}

TestSuite(added_spans, .init = set_up, .fini = tear_down);

/* Samples without labels have the number 0. */
static int report_any(void *arg, const struct sample *sample)
{
	if (sample->labels)
		return report(arg, sample);
	reported[n_reported].time = sample->time_ns;
	reported[n_reported++].number = 0;
	return 0;
}

static void release_any(void)
{
	cr_assert_eq(spans_release(&spans, settled, 0, report_any, NULL), 0);
}

/* begin_ns UINT64_MAX: in none */
static void take_added(uint64_t time, uint64_t begin_ns)
{
	const struct {
		struct dp_spans head;
		__u64 begin_ns;
	} raw = { { .part = { DP_RECORD_SPANS, sizeof(raw) }, .n = begin_ns != UINT64_MAX },
		  begin_ns };
	const struct sample sample = { .time_ns = time, .tid = TID, .pid = TID };
	struct span_list calls;
	struct owned_sample *kept;

	cr_assert_eq(spans_find(&spans, &raw.head, NULL, &sample, &calls), 0);
	if (!spans_hold(&spans, &calls)) {
		cr_assert_eq(report_any(NULL, &sample), 0);
		return;
	}
	cr_assert_eq(owned_sample_new(&sample, &calls, &kept), 0);
	cr_assert_eq(spans_keep(&spans, kept), 0);
}

Test(added_spans, keep_the_others)
{
	take_added(400, 300);
	take_added(600, UINT64_MAX);
	cr_assert_eq(n_reported, 2, "nothing waits");
	begin(1000);
	begin(1300);
	take_added(1010, 1000);
	take_added(1020, UINT64_MAX);
	take_added(1310, 1300);
	take_added(1400, 0);
	take_added(2000, 1300);
	release_any();
	cr_assert_eq(n_reported, 2, "they come in order");
	end(1000, 1000 + MIN, DP_SPAN_RETURNED);
	end(1300, 1300 + MIN - 1, DP_SPAN_RETURNED);
	release_any();
	cr_assert_eq(n_reported, 7);
	expect(0, 400, 0);
	expect(1, 600, 0);
	expect(2, 1010, 1000);
	expect(3, 1020, 0);
	expect(4, 1310, 0);
	expect(5, 1400, -1);
	expect(6, 2000, 0);
	cr_assert(spans.n_outside == 0 && spans.n_unknown == 0 && !spans.first);
	cr_assert_eq(spans.min_ns, MIN);
	take_added(2100, UINT64_MAX);
	cr_assert_eq(n_reported, 8);
}
