// SPDX-License-Identifier: Apache-2.0
/* The queue in front of libdwfl's thread, whose place the test takes (--wrap=verify_stack, verify_clock). */
#include <criterion/criterion.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "limits/limits.h"
#include "log/clock.h"
#include "samples/verify.h"
#include "samples/verify_maps.h"
#include "samples/verify_queue.h"
#include "symbols/names.h"
#include "symbols/tests/some_names.h"

void __wrap_verify_stack(struct verify *verify, const struct verify_maps *maps,
			 const struct stack_copy *copy, const struct frame *ours, size_t n_ours,
			 struct verified_stack *ret);
clockid_t __wrap_verify_clock(const struct verify *verify);

static struct verify_queue *queue;
static sem_t began, may_go;                 /* one for each comparison */
static enum { GOES, COMPUTES, HANGS } form; /* until it may go */
static clockid_t helper;                    /* that it waits for */
static struct module module;
static time_t later_s; /* how much later it is than the clock says */
static struct frame frame = { .address = 0x1000, .module = &module };

static void take(sem_t *semaphore)
{
	while (sem_wait(semaphore) < 0)
		;
}

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int err = __real_clock_gettime(clock, ret);

	if (clock == CLOCK_MONOTONIC)
		ret->tv_sec += later_s;
	return err;
}

/* Agrees, if the copy and the mappings belong together. */
void __wrap_verify_stack(struct verify *verify, const struct verify_maps *maps,
			 const struct stack_copy *copy, const struct frame *ours, size_t n_ours,
			 struct verified_stack *ret)
{
	sem_post(&began);
	while (form == COMPUTES && sem_trywait(&may_go) < 0)
		sched_yield();
	if (form == HANGS)
		take(&may_go);
	*ret = (struct verified_stack){
		.result = copy->time_ns == (uint64_t)maps->pid ? VERIFIED_EQUAL : VERIFIED_DIFFERS,
		.n_equal = n_ours,
		.frames = ours,
		.n_frames = n_ours,
		.end = "the end",
	};
}

clockid_t __wrap_verify_clock(const struct verify *verify)
{
	return helper;
}

static void begin_with(struct names *names)
{
	sem_init(&may_go, 0, 0);
	sem_init(&began, 0, 0);
	cr_assert_eq(verify_queue_new(NULL, 10, names, &queue), 0);
}

static void begin(void)
{
	begin_with(some_names());
}

static struct mapping *mappings; /* of each snapshot */
static size_t n_mappings;

/* A stack of n_bytes, in a snapshot of its own, of the process with the same number. */
static struct verification *add(uint32_t number, size_t n_bytes)
{
	const struct sample sample = { .user = &frame, .n_user = 1, .comm = "test" };
	const struct snapshot snapshot = {
		.id = number, .pid = (pid_t)number, .mappings = mappings, .n_mappings = n_mappings
	};
	struct stack_copy *copy = calloc(1, sizeof(*copy));
	struct verification *verification = NULL;

	copy->time_ns = number;
	copy->n_bytes = n_bytes;
	cr_assert_eq(verify_queue_add(queue, &sample, &snapshot, copy, &verification), 0);
	return verification;
}

static enum verified_result result_of(struct verification *verification)
{
	enum verified_result result = verification->wait(verification)->result;

	verification_drop(verification);
	return result;
}

static uint64_t n_with(enum verified_result result)
{
	return verify_queue_results(queue)->results[result];
}

Test(verify_queue, verifies_each_with_its_own_mappings, .timeout = 60)
{
	struct verification *all[100];

	form = GOES;
	begin();
	for (uint32_t i = 0; i < 100; i++)
		all[i] = add(i + 1, 100);
	for (uint32_t i = 0; i < 100; i++)
		cr_assert_eq(result_of(all[i]), VERIFIED_EQUAL);
	verify_queue_finish(queue);
	cr_assert_eq(n_with(VERIFIED_EQUAL), 100);
	cr_assert_eq(verify_queue_results(queue)->equal_frames, 100);
	cr_assert_eq(module.n_holds, 0);
	queue = verify_queue_free(queue);
}

Test(verify_queue, says_what_could_not_be_verified)
{
	const struct sample sample = { .user = &frame, .n_user = 1 };
	struct stack_copy *copy = calloc(1, sizeof(*copy));
	struct verification *verification = NULL;

	form = GOES;
	begin();
	cr_assert_eq(verify_queue_add(queue, &sample, &(struct snapshot){ .id = 1 }, NULL,
				      &verification),
		     0);
	cr_assert_eq(result_of(verification), VERIFIED_NO_COPY);
	cr_assert_eq(verify_queue_add(queue, &sample, NULL, copy, &verification), 0);
	cr_assert_eq(result_of(verification), VERIFIED_NO_START);
	verify_queue_collect(queue);
	cr_assert(n_with(VERIFIED_NO_COPY) == 1 && n_with(VERIFIED_NO_START) == 1);
	cr_assert_eq(verify_queue_results(queue)->frames, 0);
	queue = verify_queue_free(queue);
}

/* Adding never waits. What does not fit is left out and counted; the others are verified. */
Test(verify_queue, is_bounded, .timeout = 120)
{
	struct verification *all[VERIFY_QUEUE_MAX + 10];

	form = COMPUTES;
	begin();
	for (uint32_t i = 0; i < VERIFY_QUEUE_MAX + 10; i++)
		all[i] = add(i + 1, 100);
	verify_queue_collect(queue);
	cr_assert_eq(n_with(VERIFIED_LEFT_OUT), 10);
	for (int i = 0; i < 10; i++)
		cr_assert_eq(result_of(all[VERIFY_QUEUE_MAX + i]), VERIFIED_LEFT_OUT);
	for (int i = 0; i < VERIFY_QUEUE_MAX; i++)
		sem_post(&may_go);
	for (int i = 0; i < VERIFY_QUEUE_MAX; i++)
		cr_assert_eq(result_of(all[i]), VERIFIED_EQUAL);
	verify_queue_finish(queue);
	cr_assert_eq(n_with(VERIFIED_EQUAL), VERIFY_QUEUE_MAX);
	cr_assert_eq(n_with(VERIFIED_LEFT_OUT), 10);
	sem_post(&may_go);
	cr_assert_eq(result_of(add(1, 100)), VERIFIED_EQUAL, "there is room again");
	queue = verify_queue_free(queue);
}

Test(verify_queue, is_bounded_in_bytes, .timeout = 60)
{
	struct verification *first, *second, *third;

	form = COMPUTES;
	begin();
	first = add(1, VERIFY_QUEUE_MAX_BYTES / 2);
	second = add(2, VERIFY_QUEUE_MAX_BYTES / 2);
	third = add(3, VERIFY_QUEUE_MAX_BYTES / 4);
	verify_queue_collect(queue);
	cr_assert_eq(n_with(VERIFIED_LEFT_OUT), 1);
	cr_assert_eq(result_of(second), VERIFIED_LEFT_OUT);
	sem_post(&may_go);
	sem_post(&may_go);
	cr_assert_eq(result_of(first), VERIFIED_EQUAL);
	cr_assert_eq(result_of(third), VERIFIED_EQUAL);
	queue = verify_queue_free(queue);
}

/* Mappings that are kept for later stacks are let go first. */
Test(verify_queue, is_bounded_in_bytes_of_mappings, .timeout = 60)
{
	struct verification *first, *second;

	form = COMPUTES;
	n_mappings = VERIFY_QUEUE_MAX_BYTES / 2 / sizeof(struct verify_mapping) + 1;
	mappings = calloc(n_mappings, sizeof(*mappings));
	begin();
	first = add(1, 100);
	second = add(2, 100);
	cr_assert_eq(result_of(second), VERIFIED_LEFT_OUT);
	sem_post(&may_go);
	cr_assert_eq(result_of(first), VERIFIED_EQUAL);
	sem_post(&may_go);
	cr_assert_eq(result_of(add(3, 100)), VERIFIED_EQUAL);
	queue = verify_queue_free(queue);
	free(mappings);
}

/* A process that has ended is not verified again, and its binaries can go. */
Test(verify_queue, lets_binaries_go, .timeout = 60)
{
	struct binary binary = { .module = &module };
	struct mapping mapping = { .start = 0x1000, .end = 0x2000, .binary = &binary };

	form = GOES;
	mappings = &mapping;
	n_mappings = 1;
	begin();
	cr_assert_eq(result_of(add(1, 100)), VERIFIED_EQUAL);
	verify_queue_finish(queue);
	cr_assert_eq(binary.n_users, 1, "for its next sample");
	later_s = VERIFY_MAPS_KEPT_NS / 1000000000;
	verify_queue_collect(queue);
	cr_assert_eq(binary.n_users, 0);
	queue = verify_queue_free(queue);
}

/* A file that is never read: at the end it is left out, and the thread frees what it uses. */
Test(verify_queue, does_not_wait_for_one_that_hangs, .timeout = 60)
{
	struct verification *running, *waiting;
	uint64_t since;

	form = HANGS;
	begin();
	running = add(1, 100);
	waiting = add(2, 100);
	take(&began);
	since = clock_now_ns();
	verify_queue_finish(queue);
	cr_assert(clock_now_ns() - since < VERIFY_QUEUE_PATIENCE_NS);
	cr_assert_eq(result_of(running), VERIFIED_LEFT_OUT);
	cr_assert_eq(result_of(waiting), VERIFIED_LEFT_OUT);
	cr_assert(n_with(VERIFIED_LEFT_OUT) == 2 && n_with(VERIFIED_EQUAL) == 0);
	cr_assert_eq(module.n_holds, 0);
	queue = verify_queue_free(queue);
	sem_post(&may_go);
}

/* Who waits for another process may use CPU time, to look at it. */
Test(verify_queue, does_not_wait_for_a_process_that_hangs, .timeout = 60)
{
	struct verification *running;
	pid_t pid = fork();
	uint64_t since;

	if (pid == 0)
		_exit(prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || pause());
	cr_assert_eq(clock_getcpuclockid(pid, &helper), 0);
	form = COMPUTES;
	begin();
	running = add(1, 100);
	take(&began);
	since = clock_now_ns();
	verify_queue_finish(queue);
	cr_assert(clock_now_ns() - since < VERIFY_QUEUE_PATIENCE_NS);
	cr_assert_eq(result_of(running), VERIFIED_LEFT_OUT);
	sem_post(&may_go);
	queue = verify_queue_free(queue);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* While sampling, others do not wait either, and all goes on when the file is there. */
Test(verify_queue, goes_on_after_one_has_hung, .timeout = 60)
{
	struct verification *verification;

	form = HANGS;
	begin();
	verification = add(1, 100);
	take(&began);
	while (n_with(VERIFIED_LEFT_OUT) == 0)
		verify_queue_collect(queue);
	cr_assert_eq(result_of(verification), VERIFIED_LEFT_OUT);
	sem_post(&may_go);
	verification = add(2, 100);
	take(&began);
	sem_post(&may_go);
	cr_assert_eq(result_of(verification), VERIFIED_EQUAL);
	verify_queue_finish(queue);
	cr_assert(n_with(VERIFIED_LEFT_OUT) == 1 && n_with(VERIFIED_EQUAL) == 1);
	queue = verify_queue_free(queue);
}

Test(verify_queue, ends_when_the_user_does_not_want_to_wait, .timeout = 60)
{
	struct names *names;
	struct verification *verification;

	uint64_t since;

	form = COMPUTES;
	cr_assert_eq(names_new(&(struct names_options){ 0 }, &names), 0);
	begin_with(names);
	verification = add(1, 100);
	take(&began);
	names_disable(names);
	since = clock_now_ns();
	verify_queue_finish(queue);
	cr_assert(clock_now_ns() - since < VERIFY_QUEUE_PATIENCE_NS);
	cr_assert_eq(result_of(verification), VERIFIED_LEFT_OUT);
	sem_post(&may_go);
	queue = verify_queue_free(queue);
	names_free(names);
}

/* As when sampling has failed. */
Test(verify_queue, gives_up, .timeout = 60)
{
	struct verification *all[10];

	form = HANGS;
	begin();
	for (uint32_t i = 0; i < 10; i++)
		all[i] = add(i + 1, 100);
	verify_queue_give_up(queue);
	for (uint32_t i = 0; i < 10; i++)
		cr_assert_eq(result_of(all[i]), VERIFIED_LEFT_OUT);
	for (int i = 0; i < 10; i++)
		sem_post(&may_go);
	queue = verify_queue_free(queue);
}
