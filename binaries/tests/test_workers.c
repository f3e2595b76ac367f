// SPDX-License-Identifier: Apache-2.0
/*
 * Threads run jobs in order, no more than allowed, and return each once. Hanging jobs delay neither
 * others nor the end.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include "binaries/workers.h"
#include "elf/bus_guard.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/cpu_budget.h"

#define N_JOBS 40

struct counted {
	struct job job;
	int number;
	pthread_t thread;
	sem_t *begun, *may_end; /* NULL: does not wait */
	int n_run, n_dropped;
	sem_t *dropped; /* NULL: not signalled */
};

static struct counted jobs[N_JOBS];
static struct workers *workers;
static sem_t begun, may_end, dropped;
static int n_begun;
static struct counted *taken;

static void run(struct job *job)
{
	struct counted *c = (struct counted *)job;

	c->n_run++;
	c->thread = pthread_self();
	c->number = __atomic_fetch_add(&n_begun, 1, __ATOMIC_RELAXED);
	if (!c->may_end)
		return;
	sem_post(c->begun);
	sem_wait(c->may_end);
}

static void drop(struct job *job)
{
	struct counted *c = (struct counted *)job;

	c->n_dropped++;
	if (c->dropped)
		sem_post(c->dropped);
}

static void begin(void)
{
	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	for (int i = 0; i < N_JOBS; i++)
		jobs[i] = (struct counted){ .job = { .run = run, .drop = drop } };
}

static void end(void)
{
	workers = workers_free(workers);
}

TestSuite(workers, .init = begin, .fini = end, .timeout = 60);

static struct job *look_and_take(void)
{
	workers_look(workers);
	return workers_take(workers);
}

static struct counted *take(void)
{
	struct job *job;

	while (!(job = look_and_take()))
		workers_wait(workers, 1000);
	return (struct counted *)job;
}

/* Adds a job that runs until it may end. */
static void add_waiting(struct counted *c)
{
	c->begun = &begun;
	c->may_end = &may_end;
	workers_add(workers, &c->job, false);
}

Test(workers, begin_in_the_order_of_adding)
{
	cr_assert_eq(workers_new(1, N_JOBS, &workers), 0);
	for (int i = 0; i < N_JOBS; i++)
		workers_add(workers, &jobs[i].job, false);
	for (int i = 0; i < N_JOBS; i++) {
		struct counted *c = take();

		cr_assert(c == &jobs[i] && c->number == i && c->n_run == 1);
		cr_assert(!pthread_equal(c->thread, pthread_self()));
	}
	cr_assert_null(look_and_take());
}

/* Finished jobs that have not been taken use memory. */
Test(workers, begin_no_more_than_may_be_done)
{
	cr_assert_eq(workers_new(1, 2, &workers), 0);
	for (int i = 0; i < 4; i++)
		add_waiting(&jobs[i]);
	for (int i = 0; i < 2; i++) {
		sem_wait(&begun);
		sem_post(&may_end);
	}
	while (workers_wait(workers, 1000), !(taken = (struct counted *)look_and_take()))
		;
	cr_assert_eq(taken, &jobs[0]);
	sem_wait(&begun); /* the third one, which has room now */
	sem_post(&may_end);
	sem_post(&may_end);
	for (int i = 1; i < 4; i++)
		cr_assert_eq(take(), &jobs[i]);
}

/* What others have spent from it, too. Once nobody has to wait for it, they go on. */
Test(workers, begin_when_the_budget_allows)
{
	struct cpu_budget_counts counts = { 0 };
	struct cpu_budget *budget;

	cr_assert_eq(cpu_budget_new(0.001, &counts, &budget), 0);
	cpu_budget_begin(budget);
	cr_assert_eq(workers_new(2, N_JOBS, &workers), 0);
	workers_set_budget(workers, budget);
	workers_add(workers, &jobs[0].job, false);
	take();
	cr_assert_gt(counts.spent_ns, 0);
	cpu_budget_spend(budget, 0, CPU_BUDGET_SAVED_NS);
	workers_add(workers, &jobs[1].job, false);
	/* A thread has asked again. */
	for (int i = 0; i < 3 || counts.waited_ns == 0; i++) {
		workers_wait(workers, 100);
		cr_assert_null(look_and_take());
	}
	cpu_budget_lift(budget);
	cr_assert_eq(take(), &jobs[1]);
	end();
	cpu_budget_drop(budget);
}

/* A user who has to pay first lets others go first. */
Test(workers, begin_what_others_can_pay)
{
	struct cpu_budget_counts counts = { 0 };
	struct cpu_budget *budget;

	cr_assert_eq(cpu_budget_new(0.001, &counts, &budget), 0);
	cpu_budget_begin(budget);
	cpu_budget_spend(budget, 1, CPU_BUDGET_SAVED_NS);
	cr_assert_eq(workers_new(1, N_JOBS, &workers), 0);
	workers_set_budget(workers, budget);
	jobs[0].job.user = jobs[1].job.user = 1;
	jobs[2].job.user = 2;
	for (int i = 0; i < 3; i++)
		workers_add(workers, &jobs[i].job, false);
	cr_assert_eq(take(), &jobs[2]);
	cr_assert_null(look_and_take());
	cpu_budget_lift(budget);
	cr_assert_eq(take(), &jobs[0]);
	cr_assert_eq(take(), &jobs[1]);
	end();
	cpu_budget_drop(budget);
}

Test(workers, begin_what_is_urgent_first)
{
	cr_assert_eq(workers_new(1, N_JOBS, &workers), 0);
	add_waiting(&jobs[0]);
	sem_wait(&begun);
	workers_add(workers, &jobs[1].job, false);
	workers_add(workers, &jobs[2].job, true);
	sem_post(&may_end);
	take();
	cr_assert_eq(take(), &jobs[2]);
	cr_assert_eq(take(), &jobs[1]);
}

/* A job that waits for a file delays only itself. */
Test(workers, run_several_at_a_time)
{
	cr_assert_eq(workers_new(2, N_JOBS, &workers), 0);
	add_waiting(&jobs[0]);
	sem_wait(&begun);
	for (int i = 1; i < N_JOBS; i++)
		workers_add(workers, &jobs[i].job, false);
	for (int i = 1; i < N_JOBS; i++)
		cr_assert_eq(take(), &jobs[i]);
	cr_assert_null(look_and_take());
	sem_post(&may_end);
	cr_assert_eq(take(), &jobs[0]);
}

/* The descriptor wakes a loop while there is a job to take. */
Test(workers, tell_when_there_is_something_to_take)
{
	struct pollfd fd = { .events = POLLIN };

	cr_assert_eq(workers_new(1, N_JOBS, &workers), 0);
	fd.fd = workers_fd(workers);
	cr_assert_eq(poll(&fd, 1, 0), 0);
	workers_add(workers, &jobs[0].job, false);
	cr_assert_eq(poll(&fd, 1, 30000), 1);
	cr_assert_eq(take(), &jobs[0]);
	cr_assert_null(look_and_take());
	cr_assert_eq(poll(&fd, 1, 0), 0);
}

/* Running jobs are waited for, and none is lost. */
Test(workers, drop_what_was_not_taken)
{
	cr_assert_eq(workers_new(1, N_JOBS, &workers), 0);
	workers_add(workers, &jobs[0].job, false);
	add_waiting(&jobs[1]);
	sem_wait(&begun);
	for (int i = 2; i < N_JOBS; i++)
		workers_add(workers, &jobs[i].job, false);
	sem_post(&may_end);
	workers = workers_free(workers);
	for (int i = 0; i < N_JOBS; i++)
		cr_assert_eq(jobs[i].n_dropped, 1, "job %d", i);
	cr_assert(jobs[0].n_run == 1 && jobs[1].n_run == 1);
}

/* Takes finished jobs until n of those that wait have begun. */
static void wait_until_begun(int n)
{
	while (n > 0) {
		workers_wait(workers, 10);
		cr_assert_null(look_and_take());
		while (n > 0 && sem_trywait(&begun) == 0)
			n--;
	}
}

/* Even if one file system has more hanging jobs than there are threads, others get their turn. */
Test(workers, go_on_where_others_hang)
{
	const void *first, *second;

	cr_assert_eq(workers_new(2, N_JOBS, &workers), 0);
	for (int i = 0; i < 6; i++) {
		jobs[i].job.source = 1;
		add_waiting(&jobs[i]);
	}
	jobs[6].job.source = 2;
	workers_add(workers, &jobs[6].job, false);
	workers_add(workers, &jobs[7].job, false);
	/* From one thread, or from two at once. */
	first = take();
	second = take();
	cr_assert((first == &jobs[6] && second == &jobs[7]) ||
		  (first == &jobs[7] && second == &jobs[6]));
	/* No further jobs of the hanging source were begun. */
	cr_assert_eq(n_begun, WORKERS_MAX_HANGING + 2);
	/* Once the file system answers, all of them finish. */
	for (int i = 0; i < 6; i++)
		sem_post(&may_end);
	for (int i = 0; i < 6; i++)
		take();
}

/* Many hanging file systems use the maximum number of threads, but no more. */
Test(workers, are_not_more_than_may_be)
{
	cr_assert_eq(workers_new(2, N_JOBS, &workers), 0);
	for (int i = 0; i < N_JOBS; i++) {
		jobs[i].job.source = (uint64_t)i + 1;
		add_waiting(&jobs[i]);
	}
	wait_until_begun(WORKERS_MAX);
	for (int i = 0; i < 15; i++) {
		workers_wait(workers, 100);
		cr_assert_null(look_and_take());
	}
	cr_assert_eq(n_begun, WORKERS_MAX);
	for (int i = 0; i < N_JOBS; i++)
		sem_post(&may_end);
	for (int i = 0; i < N_JOBS; i++)
		take();
}

static void compute(struct job *job)
{
	const uint64_t end = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + 2 * WORKERS_HANG_NS;

	while (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
	run(job);
}

/* A job that computes for long, as for a large table, does not hang and needs no further thread. */
Test(workers, do_not_hang_where_they_compute)
{
	cr_assert_eq(workers_new(1, N_JOBS, &workers), 0);
	jobs[0].job.run = compute;
	workers_add(workers, &jobs[0].job, false);
	workers_add(workers, &jobs[1].job, false);
	cr_assert_eq(take(), &jobs[0]);
	cr_assert_eq(take(), &jobs[1]);
	cr_assert(pthread_equal(jobs[0].thread, jobs[1].thread));
}

/*
 * A hanging job does not delay the end. Its thread drops it later, when nobody else refers to it.
 */
Test(workers, leave_what_hangs)
{
	uint64_t start;

	sem_init(&dropped, 0, 0);
	cr_assert_eq(workers_new(2, N_JOBS, &workers), 0);
	for (int i = 0; i < 3; i++) {
		jobs[i].dropped = &dropped;
		add_waiting(&jobs[i]);
	}
	sem_wait(&begun);
	sem_wait(&begun);
	start = clock_now_ns();
	workers = workers_free(workers);
	cr_assert_geq(clock_now_ns() - start, WORKERS_END_NS);
	cr_assert_lt(clock_now_ns() - start, 10 * WORKERS_END_NS);
	sem_wait(&dropped); /* the third one, which was not begun */
	cr_assert(jobs[2].n_dropped == 1 && jobs[2].n_run == 0);
	cr_assert(sem_trywait(&dropped) < 0);
	sem_post(&may_end);
	sem_post(&may_end);
	sem_wait(&dropped);
	sem_wait(&dropped);
	cr_assert(jobs[0].n_dropped == 1 && jobs[1].n_dropped == 1);
}

static void run_until_nobody_waits(struct job *job)
{
	sem_post(&begun);
	while (!__atomic_load_n(job->ends, __ATOMIC_RELAXED))
		usleep(1000);
}

Test(workers, tell_jobs_when_nobody_waits_for_them)
{
	cr_assert_eq(workers_new(1, N_JOBS, &workers), 0);
	jobs[0].job.run = run_until_nobody_waits;
	workers_add(workers, &jobs[0].job, false);
	sem_wait(&begun);
	workers = workers_free(workers);
	cr_assert_eq(jobs[0].n_dropped, 1, "it has not been left to its thread");
	cr_assert_null(jobs[0].job.ends);
}

static const char *cut_off;

static void read_byte(struct job *job)
{
	((struct counted *)job)->number = cut_off[4096];
}

/* A file that is truncated while a worker reads it reads as zeros, as in other threads. */
Test(workers, read_what_is_cut_off)
{
	int fd = memfd_create("test", 0);

	cr_assert(bus_guard_install() == 0 && ftruncate(fd, 8192) == 0);
	cut_off = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
	cr_assert(cut_off != MAP_FAILED && ftruncate(fd, 0) == 0);
	jobs[0] = (struct counted){ .job = { .run = read_byte, .drop = drop }, .number = 1 };
	cr_assert_eq(workers_new(1, 1, &workers), 0);
	workers_add(workers, &jobs[0].job, false);
	cr_assert_eq(take(), &jobs[0]);
	cr_assert_eq(jobs[0].number, 0);
	close(fd);
}
