/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_TESTS_FUZZ_RINGS_H
#define DP_SAMPLES_TESTS_FUZZ_RINGS_H

#include "kernel/filter.h"
#include "kernel/record_reader.h"
#include "log/clock.h"
#include "process/tests/fuzz_world.h"
#include "report/outcome.h"
#include "report/report.h"
#include "samples/drain.h"
#include "samples/event_label.h"
#include "samples/tests/wrapped.h"

/*
 * A kernel whose rings have what a fuzzer's input says (--wrap, samples/meson.build), from which
 * drain.c makes samples of one report. The input is a list; the low bits of a kind (1) say what
 * comes next, the third bit, on which of two rings:
 *
 *   0  a record: number of parts (1), for each its type (1), size without head (1, in words; 4 bytes
 *      more) and so many bytes
 *   1  a record as it is: size (1, in words), bytes
 *   2  what a process does: which one and what (1), time (8), start (8), length (4), offset (4)
 *   3  a thread that is blocked at the end: struct dp_blocked
 */

enum {
	RINGS_PARTS,
	RINGS_BYTES,
	RINGS_PROCESS,
	RINGS_BLOCKED,
	RINGS_SECOND = 4,
};

#define N_RINGS 2
#define N_BLOCKED 8
#define MS UINT64_C(1000000)

static struct drain drain;
static struct filter filter;
static struct unwinder *unwinder;
static struct report *report;
static struct record_reader readers[N_RINGS];
static struct feed rings_feed;
static ring_fn read_part;
static struct dp_blocked blocked[N_BLOCKED];
static size_t n_blocked;
static uint64_t n_reported;

bool __wrap_report_queue_is_full(struct report_queue *queue);
int __wrap_report_queue_add(struct report_queue *queue, const struct sample *sample,
			    const struct totals *totals);
int __wrap_report_queue_read_code(struct report_queue *queue, const struct frame *frames, size_t n);

int __wrap_session_read_rings(struct session *session, ring_fn fn, void *arg)
{
	EXPECT(arg == &drain);
	read_part = fn;
	return 0;
}

static int read_record(struct record_reader *reader, const uint64_t *words, size_t size)
{
	/* Of its size, so that a sanitizer sees a read behind its end. */
	uint64_t *record = malloc(size ? size : 1);
	int err;

	EXPECT(record);
	memcpy(record, words, size);
	err = record_reader_read(reader, record, size, (unsigned int)(reader - readers), read_part,
				 &drain);
	free(record);
	return err;
}

static void feed_bytes(struct feed *f, void *to, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = feed_u8(f);
}

/* Parts with the right sizes. */
static int read_parts(struct record_reader *reader, struct feed *f)
{
	static uint64_t words[8 * 257];
	uint8_t *bytes = (uint8_t *)words;
	size_t at = 0;

	for (int n = feed_u8(f) % 8; n > 0; n--) {
		struct dp_part part = { .type = feed_u8(f) };

		part.size = (__u16)(8 + feed_u8(f) * sizeof(*words));
		memcpy(bytes + at, &part, sizeof(part));
		feed_bytes(f, bytes + at + sizeof(part), part.size - sizeof(part));
		at += part.size;
	}
	return read_record(reader, words, at);
}

static int read_bytes(struct record_reader *reader, struct feed *f)
{
	uint64_t words[256];
	size_t size = feed_u8(f) * sizeof(*words);

	feed_bytes(f, words, size);
	return read_record(reader, words, size);
}

static void change_process(struct feed *f)
{
	uint8_t what = feed_u8(f);
	pid_t pid = PID(what & 1);
	struct mmap_record m = { .pid = pid, .time = feed_u64(f), .start = feed_u64(f) };

	m.time = m.time < now_ns ? m.time : now_ns; /* as perf_record_time() */
	m.end = m.start + feed_number(f, 4);
	m.offset = feed_number(f, 4);
	m.name = what & 2 ? "/file" : "//anon";
	m.file.inode = what >> 1 & 1;
	switch (what >> 2 & 3) {
	case 0:
		if (m.start < m.end)
			EXPECT(process_table_on_mmap(&table, &m) == 0);
		break;
	case 1:
		EXPECT(process_table_on_fork(&table, PID(1 - (what & 1)), pid, m.time) == 0);
		break;
	case 2:
		process_table_on_exec(&table, pid, m.time);
		break;
	case 3:
		process_table_on_exit(&table, pid, m.time);
		break;
	}
}

static int read_next(struct feed *f)
{
	uint8_t kind = feed_u8(f);
	struct record_reader *reader = &readers[(kind & RINGS_SECOND) != 0];

	switch (kind % RINGS_SECOND) {
	case RINGS_PARTS:
		return read_parts(reader, f);
	case RINGS_BYTES:
		return read_bytes(reader, f);
	case RINGS_PROCESS:
		change_process(f);
		return 0;
	default:
		if (n_blocked < N_BLOCKED)
			feed_bytes(f, &blocked[n_blocked++], sizeof(*blocked));
		return 0;
	}
}

int __wrap_session_consume(struct session *session)
{
	int err = 0;

	while (err == 0 && rings_feed.pos < rings_feed.end)
		err = read_next(&rings_feed);
	return err == -EAGAIN ? 0 : err;
}

void __wrap_session_losses(const struct session *session, struct session_losses *ret)
{
	*ret = (struct session_losses){ 0 };
}

int __wrap_session_each_blocked(const struct session *session, uint64_t until_ns,
				int (*fn)(void *arg, const struct dp_blocked *blocked,
					  uint64_t time_ns),
				void *arg)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < n_blocked; i++)
		err = fn(arg, &blocked[i], until_ns - blocked[i].since_ns);
	return err;
}

int __wrap_sideband_drain(struct sideband *sideband, struct process_table *processes)
{
	return process_table_publish(processes, clock_now_ns());
}

bool __wrap_sideband_take_loss(struct sideband *sideband)
{
	return false;
}

bool __wrap_sideband_is_behind(const struct sideband *sideband)
{
	return false;
}

bool __wrap_report_queue_is_full(struct report_queue *queue)
{
	return false;
}

/* What reports rely on. */
static void check_sample(const struct sample *s, const struct totals *totals)
{
	EXPECT(totals->samples == n_reported);
	EXPECT(memchr(s->comm, '\0', sizeof(s->comm)));
	EXPECT(memchr(s->thread_name, '\0', sizeof(s->thread_name)));
	EXPECT(s->outcome > DP_WALKING && s->outcome < DP_N_OUTCOMES);
	EXPECT(s->event < DP_N_EVENTS && s->state < DP_N_STATES);
	EXPECT(s->kernel_error == 0 || kernel_error_word(s->kernel_error));
	EXPECT(s->n_user <= DP_MAX_FRAMES && s->n_kernel <= DP_MAX_KERNEL_FRAMES);
	for (size_t i = 0; i < s->n_user; i++)
		EXPECT(s->user[i].method < DP_N_METHODS);
}

int __wrap_report_queue_add(struct report_queue *queue, const struct sample *sample,
			    const struct totals *totals)
{
	n_reported++;
	check_sample(sample, totals);
	return report_add(report, sample, totals);
}

int __wrap_report_queue_read_code(struct report_queue *queue, const struct frame *frames, size_t n)
{
	EXPECT(n > 0 && n <= DP_MAX_FRAMES);
	for (size_t i = 0; i < n; i++)
		frame_read(&frames[i]);
	return 0;
}

/* Two processes with code in no file, which are known from the start. */
static void add_processes(void)
{
	table.all = true;
	for (int i = 0; i < 2; i++) {
		const struct mmap_record code = {
			.pid = PID(i), .time = 1, .start = 0x1000, .end = 0x3000, .name = "//anon"
		};

		process_table_on_exec(&table, PID(i), 0);
		EXPECT(process_table_on_mmap(&table, &code) == 0);
	}
	EXPECT(process_table_publish(&table, 2) == 0);
}

static void rings_begin(const struct feed *f)
{
	world_begin();
	filter_init(&filter);
	add_processes();
	EXPECT(unwinder_new(&pool, DP_UNWIND_AUTO, 100, &unwinder) == 0);
	EXPECT(drain_init(&drain, NULL, NULL, &table, &filter, unwinder, NULL, NULL) == 0);
	drain.cpu_value_ns = 10;
	rings_feed = *f;
	n_blocked = 0;
	n_reported = 0;
}

/* Reads the rings, in steps if not `at_once`. */
static void rings_run(bool at_once)
{
	while (!at_once && rings_feed.pos < rings_feed.end)
		EXPECT(drain_run(&drain, false) == 0);
	do
		EXPECT(drain_run(&drain, true) == 0);
	while (rings_feed.pos < rings_feed.end);
	EXPECT(drain_finish_off_cpu(&drain, clock_now_ns()) == 0);
	EXPECT(drain.totals.samples == n_reported);
}

static void rings_end(void)
{
	for (size_t i = 0; i < N_RINGS; i++)
		record_reader_done(&readers[i]);
	memset(readers, 0, sizeof(readers));
	drain_done(&drain);
	unwinder_free(unwinder);
	filter_done(&filter);
	world_end();
}

#endif
