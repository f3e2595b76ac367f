// SPDX-License-Identifier: Apache-2.0
/* Names in the memory of processes, which may end before what is sampled is reported. */
#include <criterion/criterion.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "report/report_queue.h"
#include "symbols/code_source.h"
#include "symbols/jit.h"
#include "symbols/tests/some_names.h"

enum { N = 3 };

static struct module compiled = { .path = (char *)MODULE_JIT, .name = MODULE_JIT, .fd = -1 };
static sem_t may_read, was_read;
static _Atomic uint64_t last_read;
static bool is_too_early; /* a frame was located that had not been read */
static int gate[2];       /* the report waits for a byte for each sample */
static _Atomic uint64_t n_reported;

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) < 0)
		;
}

/* Numbers go up. */
static void read_slowly(struct code_source *source, uint64_t number)
{
	(void)source;
	wait_for(&may_read);
	last_read = number;
	sem_post(&was_read);
}

static size_t locate(struct code_source *source, uint64_t number, const uint64_t **ret,
		     bool *ret_is_near)
{
	static uint64_t located;

	(void)source;
	is_too_early |= number > last_read;
	located = number;
	*ret = &located;
	*ret_is_near = false;
	return 1;
}

static int add_slowly(struct report *report, const struct sample *sample,
		      const struct totals *totals)
{
	char byte;

	(void)report;
	(void)sample;
	(void)totals;
	(void)!read(gate[0], &byte, 1);
	n_reported++;
	return 0;
}

static struct code_source source = { .read = read_slowly, .locate = locate };
static struct report report = { .add = add_slowly };
static struct report *reports[] = { &report };
static struct report_queue *queue;

static void begin(void)
{
	sem_init(&may_read, 0, 0);
	sem_init(&was_read, 0, 0);
	cr_assert_eq(pipe(gate), 0);
	compiled.names = some_names();
	cr_assert_eq(jit_new(compiled.names, &compiled.jit), 0);
	compiled.code = &source;
	cr_assert_eq(report_queue_new(reports, 1, some_names(), false, &queue), 0);
	for (uint64_t i = 1; i <= N; i++) {
		const struct frame frame = { .offset = i,
					     .module = &compiled,
					     .method = DP_METHOD_PHP };

		cr_assert_eq(report_queue_add(queue,
					      &(struct sample){ .user = &frame, .n_user = 1 },
					      &(struct totals){ 0 }),
			     0);
	}
}

static void end(void)
{
	report_queue_free(queue);
	jit_free(compiled.jit);
}

TestSuite(queued_code, .init = begin, .fini = end, .timeout = 60);

static void open_gate(void)
{
	const char bytes[N] = { 0 };

	cr_assert_eq(write(gate[1], bytes, N), N);
}

/* As it does while native names of the first sample are looked up. */
Test(queued_code, is_read_while_a_report_waits)
{
	for (int i = 0; i < N; i++) {
		sem_post(&may_read);
		wait_for(&was_read);
	}
	cr_expect_eq(n_reported, 0);
	open_gate();
	cr_assert_eq(report_queue_finish(queue), 0);
	cr_expect_eq(n_reported, N);
	cr_expect_not(is_too_early);
}

/* Each sample waits for its own. */
Test(queued_code, is_read_before_it_is_reported)
{
	open_gate();
	for (int i = 0; i < N; i++)
		sem_post(&may_read);
	cr_assert_eq(report_queue_finish(queue), 0);
	cr_expect_eq(n_reported, N);
	cr_expect_eq(last_read, N);
	cr_expect_not(is_too_early);
}

/* Of a sample that is still to come, but behind those that wait. */
Test(queued_code, may_be_read_before_its_sample_is_added)
{
	const struct frame frames[] = {
		{ .offset = N + 1, .module = &compiled, .method = DP_METHOD_PHP },
		{ .offset = N + 2, .module = &compiled, .method = DP_METHOD_PHP },
	};

	cr_assert_eq(report_queue_read_code(queue, frames, 2), 0);
	for (int i = 0; i < N + 2; i++) {
		sem_post(&may_read);
		wait_for(&was_read);
	}
	cr_expect_eq(last_read, N + 2);
	cr_expect_eq(n_reported, 0);
	cr_expect_eq(report_queue_size(queue), N);
	open_gate();
	cr_assert_eq(report_queue_finish(queue), 0);
	cr_expect_eq(n_reported, N);
	cr_expect_not(is_too_early);
}
