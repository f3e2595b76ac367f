/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_TESTS_DRAIN_WORLD_H
#define DP_SAMPLES_TESTS_DRAIN_WORLD_H

/* What a drain reads from and reports to, in place of a kernel, fetchers and reports (--wrap). */

#include <errno.h>
#include <unistd.h>

#include "base/array.h"
#include "kernel/filter.h"
#include "process/process_list.h"
#include "process/tests/process_world.h"
#include "samples/drain.h"
#include "samples/tests/kernel_world.h"
#include "sandbox/list_fetchers.h"

#define MS UINT64_C(1000000)
#define HOUR (3600 * 1000 * MS)
#define STACK UINT64_C(0x7fc0)

/* A reported sample, with what tests check. */
struct reported {
	struct sample sample;
	struct frame user[8];
	__u64 kernel[8];
};

static struct drain drain;
static struct filter filter;
static struct unwinder *unwinder;
static struct reported reported[MAX_RECORDS];
static size_t n_reported;
static struct frame code[8]; /* that is to be read before its samples are reported */
static size_t n_code;
static size_t n_at_boundary; /* SIZE_MAX: not reached yet */
static struct totals last_totals;
static bool is_full;
static uint64_t now;      /* when the test began */
static uint64_t added_ns; /* to what the clock says */

bool __wrap_report_queue_is_full(struct report_queue *report_queue);
int __wrap_report_queue_add(struct report_queue *report_queue, const struct sample *sample,
			    const struct totals *totals);
int __wrap_report_queue_read_code(struct report_queue *report_queue, const struct frame *frames,
				  size_t n);
int __wrap_report_queue_take(struct report_queue *report_queue, size_t i, struct report *report,
			     const struct totals *totals, uint64_t now_ns, report_taken_fn fn,
			     void *arg);

static const struct fetched_list *coming; /* a list that a fetcher has */
static bool is_seen, has_drained;

void __wrap_list_fetchers_look(struct list_fetchers *fetchers);
bool __wrap_list_fetchers_take(struct list_fetchers *fetchers, struct fetched_list *ret);

void __wrap_list_fetchers_look(struct list_fetchers *fetchers)
{
	is_seen = coming != NULL;
	has_drained = false;
}

bool __wrap_list_fetchers_take(struct list_fetchers *fetchers, struct fetched_list *ret)
{
	if (!is_seen)
		return false;
	cr_assert(has_drained, "records from before the list come first");
	*ret = *coming;
	coming = NULL;
	is_seen = false;
	return true;
}

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

static struct timespec
	stopped; /* the time that it is from then on, but for added_ns; 0: it goes on */

static inline void stop_the_clock(void)
{
	__real_clock_gettime(CLOCK_MONOTONIC, &stopped);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int err = __real_clock_gettime(clock, ret);
	uint64_t ns;

	if (clock == CLOCK_MONOTONIC && stopped.tv_sec != 0)
		*ret = stopped;
	ns = (uint64_t)ret->tv_nsec + (clock == CLOCK_MONOTONIC ? added_ns : 0);
	ret->tv_sec += (time_t)(ns / (1000 * MS));
	ret->tv_nsec = (long)(ns % (1000 * MS));
	return err;
}

int __wrap_sideband_drain(struct sideband *sideband, struct process_table *processes)
{
	has_drained = true;
	return 0;
}

static struct kallsyms *begun; /* to be read */
static int n_begun;

void __wrap_kallsyms_read_ahead(struct kallsyms *kallsyms);

void __wrap_kallsyms_read_ahead(struct kallsyms *kallsyms)
{
	begun = kallsyms ?: begun;
	n_begun += kallsyms != NULL;
}

bool __wrap_report_queue_is_full(struct report_queue *report_queue)
{
	return is_full;
}

int __wrap_report_queue_add(struct report_queue *report_queue, const struct sample *sample,
			    const struct totals *totals)
{
	struct reported *r = &reported[n_reported++];

	cr_assert(n_reported <= MAX_RECORDS && sample->n_user <= 8 && sample->n_kernel <= 8);
	r->sample = *sample;
	memcpy(r->user, sample->user, sample->n_user * sizeof(*sample->user));
	memcpy(r->kernel, sample->kernel, sample->n_kernel * sizeof(*sample->kernel));
	last_totals = *totals;
	return 0;
}

int __wrap_report_queue_read_code(struct report_queue *report_queue, const struct frame *frames,
				  size_t n)
{
	cr_assert(n > 0 && n_code + n <= ARRAY_SIZE(code));
	memcpy(&code[n_code], frames, n * sizeof(*frames));
	n_code += n;
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
	drain.cpu_value_ns = 10;
	now = clock_now_ns();
	n_at_boundary = SIZE_MAX;
	/* Known from the start, so /proc is not read. */
	for (int i = 0; i < 2; i++)
		map(i, 1, 0x1000, 0x2000);
	cr_assert_eq(process_table_publish(&table, 2), 0);
}

static void tear_down(void)
{
	drain_done(&drain);
	unwinder_free(unwinder);
	filter_done(&filter);
	end();
}

TestSuite(drain, .init = set_up, .fini = tear_down);

/* Of a process of the table, which a test may change. */
static struct named_sample *add_sample(int n, uint64_t time)
{
	static const __u64 frames[] = {
		0x1010,
		0x1020 | (__u64)DP_METHOD_FRAME_POINTER << DP_METHOD_SHIFT,
		0x1030 | (__u64)DP_METHOD_FRAME_POINTER << DP_METHOD_SHIFT,
		0xffffffff81000010,
		0xffffffff81000020,
	};
	const struct process *p = process_table_find(&table, PID(n));

	return add_sample_of(PID(n), p ? p->snapshot : NULL, time, frames);
}

static inline void add_end(uint32_t tid, uint64_t time, uint64_t end_time)
{
	struct dp_off_cpu_end block_end = {
		.part = { DP_RECORD_OFF_CPU_END, sizeof(block_end) },
		.tid = tid,
		.time_ns = time,
		.end_ns = end_time,
	};

	add_record(&block_end, sizeof(block_end));
}

/*
 * Adds the stack of a sample of the first process: the words at its stack pointer, up to the end of
 * a page.
 */
static inline void add_chunk(uint32_t tid, uint64_t time, const uint64_t words[8])
{
	struct {
		struct dp_chunk chunk;
		uint64_t words[8];
	} record = {
		.chunk = { .part = { DP_RECORD_CHUNK, sizeof(record) },
			   .tid = tid,
			   .time_ns = time,
			   .start = STACK,
			   .n_bytes = 64,
			   .regs.reg = { [DP_REG_PC] = 0x1010,
					 [DP_REG_SP] = STACK,
					 [DP_REG_FP] = STACK } },
	};

	memcpy(record.words, words, sizeof(record.words));
	add_record(&record, sizeof(record));
}

static inline struct named_sample *add_late(uint64_t time, const uint64_t words[8])
{
	struct named_sample *s;

	add_chunk((uint32_t)PID(0) + 100, time, words);
	s = add_sample(0, time);
	s->sample.n_chunks = 1;
	s->sample.flags = DP_SAMPLE_LATE;
	s->sample.outcome = DP_NO_MAPPING;
	s->sample.n_user = 1;
	s->sample.n_kernel = 0;
	return s;
}

/* A sample that the kernel has walked up to its second frame, with a function of a runtime. */
static inline void add_late_function(unsigned int kind, uint64_t position, const uint64_t words[8])
{
	struct named_sample *s = add_late(now - 100 * MS, words);
	struct record *r = &records[n_records - 1];
	struct {
		struct dp_runtime head;
		struct dp_runtime_frame frame;
	} runtime = { { { DP_RECORD_RUNTIME, sizeof(runtime) }, (__u8)kind, 0, 1 },
		      { .code = 0x5000, .position = position } };

	s->sample.n_user = 2;
	s->sample.flags |= DP_SAMPLE_RUNTIME;
	s->sample.part.size = (__u32)(sizeof(s->sample) + 2 * sizeof(*s->frames));
	memcpy(&s->frames[2], &runtime, sizeof(runtime));
	r->size = sizeof(*s) + 2 * sizeof(*s->frames) + sizeof(runtime);
}

/* A list of mappings of the first process. */
static inline struct process *await_list(uint64_t number)
{
	struct process *p = process_table_find(&table, PID(0));

	p->list = calloc(1, sizeof(*p->list));
	cr_assert(p->list);
	p->list->number = number;
	p->list->time = now - 150 * MS;
	table.n_awaited = 1;
	return p;
}

/* Reads what there is, and reports what is certain. */
static void run(bool final)
{
	do
		cr_assert_eq(drain_run(&drain, final), 0);
	while (!final && drain_is_behind(&drain));
}

#endif
