// SPDX-License-Identifier: Apache-2.0
/* From the kernel's records of calls to samples that are in them, to a list instead of reports (--wrap). */
#include <errno.h>
#include <unistd.h>

#include "kernel/filter.h"
#include "limits/limits.h"
#include "process/tests/process_world.h"
#include "samples/drain.h"
#include "samples/probed_code.h"
#include "samples/tests/kernel_world.h"

#define MS UINT64_C(1000000)
#define MIN_NS (100 * MS)
#define TID ((uint32_t)PID(0) + 100)

static struct drain drain;
static struct filter filter;
static struct unwinder *unwinder;
static struct probed_code code;
static struct value_labels values;
static struct {
	uint64_t time_ns, value_ns;
	bool is_known;
} reported[MAX_RECORDS];
static size_t n_reported;
static size_t n_at_boundary;
static struct totals last_totals;
static uint64_t now; /* when the test began */

bool __wrap_report_queue_is_full(struct report_queue *report_queue);
int __wrap_report_queue_add(struct report_queue *report_queue, const struct sample *sample,
			    const struct totals *totals);
int __wrap_report_queue_take(struct report_queue *report_queue, size_t i, struct report *report,
			     const struct totals *totals, uint64_t now_ns, report_taken_fn fn,
			     void *arg);

int __wrap_sideband_drain(struct sideband *sideband, struct process_table *processes)
{
	return 0;
}

bool __wrap_report_queue_is_full(struct report_queue *report_queue)
{
	return false;
}

int __wrap_report_queue_add(struct report_queue *report_queue, const struct sample *sample,
			    const struct totals *totals)
{
	bool is_known = label_set_has(sample->labels, "span", "f");

	cr_assert(is_known || label_set_has(sample->labels, "span", "<unknown>"));
	cr_assert(sample->n_user == 3 && sample->user[2].address == 0x1030);
	cr_assert_lt(n_reported, MAX_RECORDS);
	reported[n_reported].time_ns = sample->time_ns;
	reported[n_reported].value_ns = sample->value_ns;
	reported[n_reported++].is_known = is_known;
	return 0;
}

int __wrap_report_queue_take(struct report_queue *report_queue, size_t i, struct report *report,
			     const struct totals *totals, uint64_t now_ns, report_taken_fn fn,
			     void *arg)
{
	n_at_boundary = n_reported;
	last_totals = *totals;
	return 0;
}

static void set_up(void)
{
	begin();
	table.all = true;
	filter_init(&filter);
	cr_assert_eq(unwinder_new(&pool, DP_UNWIND_AUTO, 100, &unwinder), 0);
	cr_assert_eq(drain_init(&drain, NULL, NULL, &table, &filter, unwinder, NULL, NULL), 0);
	value_labels_init(&values, NULL, 0);
	drain.spans.name = "f";
	drain.spans.min_ns = MIN_NS;
	drain.spans.code = &code;
	drain.spans.values = &values;
	now = clock_now_ns();
	map(0, 1, 0x1000, 0x2000);
	cr_assert_eq(process_table_publish(&table, 2), 0);
}

static void tear_down(void)
{
	drain_done(&drain);
	unwinder_free(unwinder);
	filter_done(&filter);
	end();
}

TestSuite(drain_calls, .init = set_up, .fini = tear_down);

/* A sample in a call; 0: in none, and on another stack. */
static struct dp_sample *add_sample(uint64_t time, uint64_t begin_ns)
{
	static const __u64 frames[] = {
		0x1010,
		0x1020 | (__u64)DP_METHOD_FRAME_POINTER << DP_METHOD_SHIFT,
		0x1030 | (__u64)DP_METHOD_FRAME_POINTER << DP_METHOD_SHIFT,
		0xffffffff81000010,
		0xffffffff81000020,
	};
	const struct process *p = process_table_find(&table, PID(0));
	struct named_sample *s = add_sample_of(PID(0), p->snapshot, time, frames);
	struct record *r = &records[n_records - 1];
	const struct dp_spans spans = {
		.part = { DP_RECORD_SPANS, sizeof(spans) + (begin_ns ? 8 : 0) },
		.n = begin_ns != 0,
		.root = begin_ns ? 0x8000 : 0x9000,
	};

	s->sample.outcome = DP_COMPLETE;
	s->sample.flags = DP_SAMPLE_SPANS;
	memcpy(r->bytes + r->size, &spans, sizeof(spans));
	memcpy(r->bytes + r->size + sizeof(spans), &begin_ns, sizeof(begin_ns));
	r->size += spans.part.size;
	return &s->sample;
}

static void add_begin(uint64_t begin_ns)
{
	const struct {
		struct dp_span_begin begin;
		struct dp_values values;
	} record = {
		.begin = { { DP_RECORD_SPAN_BEGIN, sizeof(record) }, TID, begin_ns },
		.values.part = { DP_RECORD_VALUES, sizeof(record.values) },
	};

	add_record(&record, sizeof(record));
}

static void add_return(uint64_t begin_ns, uint64_t end_ns)
{
	const struct dp_span_end record = {
		.part = { DP_RECORD_SPAN_END, sizeof(record) },
		.tid = TID,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.how = DP_SPAN_RETURNED,
	};

	add_record(&record, sizeof(record));
}

static void run(bool final)
{
	do
		cr_assert_eq(drain_run(&drain, final), 0);
	while (!final && drain_is_behind(&drain));
}

static void finish(void)
{
	run(true);
	cr_assert_eq(drain_finish_off_cpu(&drain, now), 0);
}

Test(drain_calls, that_took_long_have_samples)
{
	add_begin(now - 310 * MS);
	add_sample(now - 300 * MS, now - 310 * MS);
	run(false);
	cr_assert_eq(n_reported, 0);
	add_return(now - 310 * MS, now - 210 * MS);
	run(false);
	cr_assert_eq(n_reported, 1);
	cr_assert(reported[0].time_ns == now - 300 * MS && reported[0].is_known);
	cr_assert(drain.totals.samples == 1 && drain.totals.outside == 0);
}

Test(drain_calls, that_were_short_have_none)
{
	add_begin(now - 310 * MS);
	add_sample(now - 300 * MS, now - 310 * MS);
	add_sample(now - 100 * MS, 0);
	add_return(now - 310 * MS, now - 211 * MS);
	finish();
	cr_assert_eq(n_reported, 0);
	cr_assert(drain.totals.samples == 0 && drain.totals.outside == 2);
}

/* A blocked thread is in its calls until it goes on. */
Test(drain_calls, have_the_time_of_blocked_threads)
{
	const struct dp_off_cpu_end back = {
		.part = { DP_RECORD_OFF_CPU_END, sizeof(back) },
		.tid = TID,
		.time_ns = now - 300 * MS,
		.end_ns = now - 200 * MS,
	};

	add_begin(now - 301 * MS);
	add_sample(now - 300 * MS, now - 301 * MS)->event = DP_EVENT_OFF_CPU;
	add_record(&back, sizeof(back));
	run(false);
	cr_assert_eq(n_reported, 1);
	cr_assert(reported[0].value_ns == 100 * MS && reported[0].is_known);
}

/* At the end, too. */
Test(drain_calls, have_the_time_of_threads_that_stay_blocked)
{
	blocked[0] = (struct dp_blocked){ .tid = TID, .since_ns = now - 300 * MS, .weight = 1 };
	blocked_ns[0] = 300 * MS; /* until now */
	n_blocked = 1;
	add_begin(now - 301 * MS);
	add_sample(now - 300 * MS, now - 301 * MS)->event = DP_EVENT_OFF_CPU;
	finish();
	cr_assert_eq(n_reported, 1);
	cr_assert(reported[0].value_ns == 300 * MS && reported[0].is_known);
	cr_assert_eq(drain.totals.still_blocked, 1);
}

Test(drain_calls, that_still_run_are_not_known)
{
	add_begin(now - 60 * MS);
	add_sample(now - 50 * MS, now - 60 * MS);
	finish();
	cr_assert_eq(n_reported, 1);
	cr_assert(!reported[0].is_known && drain.totals.in_unknown == 1);
	cr_assert_eq(drain.spans.times.n_left[dp_span_step(10 * MS)], 1);
}

/* What was sampled before a profile is taken belongs to it, known or not. */
Test(drain_calls, are_not_awaited_by_a_profile)
{
	const struct drain_boundary boundary = { .time_ns = now - 50 * MS, .duration_ns = 7 };

	add_begin(now - 80 * MS);
	add_sample(now - 70 * MS, now - 80 * MS);
	add_sample(now - 60 * MS, 0);
	add_sample(now - 40 * MS, now - 80 * MS);
	cr_assert_eq(drain_take(&drain, &boundary), 0);
	run(false);
	cr_assert_eq(n_at_boundary, 1);
	cr_assert(!reported[0].is_known && reported[0].time_ns == now - 70 * MS);
	cr_assert(last_totals.samples == 1 && last_totals.outside == 1);
	add_return(now - 80 * MS, now + 30 * MS);
	finish();
	cr_assert_eq(n_reported, 2);
	cr_assert(reported[1].is_known && reported[1].time_ns == now - 40 * MS);
}

/* Its sample has waited long enough. */
Test(drain_calls, have_not_all_the_time)
{
	uint64_t long_ago = now - MIN_NS - SPANS_WAIT_NS - 1000 * MS;

	add_begin(long_ago);
	add_sample(long_ago, long_ago);
	run(false);
	cr_assert_eq(n_reported, 1);
	cr_assert(!reported[0].is_known);
}

/* Of CPU time, and of no other events. */
Test(drain_calls, and_samples_without_them_tell_when_they_are_taken)
{
	cr_assert_eq(ticks_init(&drain.ticks, 64, 50 * MS), 0);
	add_sample(now - 110 * MS, 0)->event = DP_EVENT_OFF_CPU;
	run(false);
	cr_assert_eq(ticks_next(&drain.ticks, now), 0);
	add_sample(now - 100 * MS, 0);
	run(false);
	cr_assert_eq(ticks_next(&drain.ticks, now), now);
}
