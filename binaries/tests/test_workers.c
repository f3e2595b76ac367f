// SPDX-License-Identifier: Apache-2.0
/* Jobs are run by threads: in order, no more than there may be, and each is given back once. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include "binaries/workers.h"
#include "elf/bus_guard.h"

#define N_JOBS 8

struct counted {
	struct job job;
	int number;
	pthread_t thread;
	sem_t *begun, *may_end; /* NULL: it does not wait */
	int n_run, n_dropped;
};

static struct counted jobs[N_JOBS];
static struct workers *workers;
static sem_t begun, may_end;
static int n_begun;

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
	((struct counted *)job)->n_dropped++;
}

static void begin(void)
{
	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	for (int i = 0; i < N_JOBS; i++)
		jobs[i] = (struct counted){ .job.run = run };
}

static void end(void)
{
	workers = workers_free(workers, drop);
}

TestSuite(workers, .init = begin, .fini = end, .timeout = 60);

static struct counted *take(void)
{
	struct job *job;

	while (!(job = workers_take(workers)))
		workers_wait(workers, 1000);
	return (struct counted *)job;
}

/* One that runs until it may end. */
static void add_waiting(struct counted *c)
{
	c->begun = &begun;
	c->may_end = &may_end;
	cr_assert_eq(workers_add(workers, &c->job), 0);
}

Test(workers, begin_in_the_order_of_adding)
{
	cr_assert_eq(workers_new(1, N_JOBS, &workers), 0);
	for (int i = 0; i < N_JOBS; i++)
		cr_assert_eq(workers_add(workers, &jobs[i].job), 0);
	for (int i = 0; i < N_JOBS; i++) {
		struct counted *c = take();

		cr_assert(c == &jobs[i] && c->number == i && c->n_run == 1);
		cr_assert(!pthread_equal(c->thread, pthread_self()));
	}
	cr_assert_null(workers_take(workers));
}

/* What was not taken counts, as it takes up memory. */
Test(workers, take_no_more_than_they_may)
{
	cr_assert_eq(workers_new(2, 2, &workers), 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(workers_add(workers, &jobs[i].job), 0);
	cr_assert_eq(workers_add(workers, &jobs[2].job), -EAGAIN);
	take();
	cr_assert_eq(workers_add(workers, &jobs[2].job), 0);
	cr_assert_eq(workers_add(workers, &jobs[3].job), -EAGAIN);
	cr_assert(jobs[3].n_run == 0);
	take();
	take();
}

/* One that waits for a file holds up only itself. */
Test(workers, run_several_at_a_time)
{
	cr_assert_eq(workers_new(2, N_JOBS, &workers), 0);
	add_waiting(&jobs[0]);
	sem_wait(&begun);
	for (int i = 1; i < N_JOBS; i++)
		cr_assert_eq(workers_add(workers, &jobs[i].job), 0);
	for (int i = 1; i < N_JOBS; i++)
		cr_assert_eq(take(), &jobs[i]);
	cr_assert_null(workers_take(workers));
	sem_post(&may_end);
	cr_assert_eq(take(), &jobs[0]);
}

/* A loop is woken by the descriptor, as long as there is something to take. */
Test(workers, tell_when_there_is_something_to_take)
{
	struct pollfd fd = { .events = POLLIN };

	cr_assert_eq(workers_new(1, N_JOBS, &workers), 0);
	fd.fd = workers_fd(workers);
	cr_assert_eq(poll(&fd, 1, 0), 0);
	cr_assert_eq(workers_add(workers, &jobs[0].job), 0);
	cr_assert_eq(poll(&fd, 1, 30000), 1);
	cr_assert_eq(take(), &jobs[0]);
	cr_assert_null(workers_take(workers));
	cr_assert_eq(poll(&fd, 1, 0), 0);
}

/* What runs is waited for, and nothing is forgotten. */
Test(workers, drop_what_was_not_taken)
{
	cr_assert_eq(workers_new(1, N_JOBS, &workers), 0);
	cr_assert_eq(workers_add(workers, &jobs[0].job), 0);
	add_waiting(&jobs[1]);
	sem_wait(&begun);
	for (int i = 2; i < N_JOBS; i++)
		cr_assert_eq(workers_add(workers, &jobs[i].job), 0);
	sem_post(&may_end);
	workers = workers_free(workers, drop);
	for (int i = 0; i < N_JOBS; i++)
		cr_assert_eq(jobs[i].n_dropped, 1, "job %d", i);
	cr_assert(jobs[0].n_run == 1 && jobs[1].n_run == 1);
}

static const char *cut_off;

static void read_byte(struct job *job)
{
	((struct counted *)job)->number = cut_off[4096];
}

/* A file that is cut off while a worker reads it is all zeros there, as elsewhere. */
Test(workers, read_what_is_cut_off)
{
	int fd = memfd_create("test", 0);

	cr_assert(bus_guard_install() == 0 && ftruncate(fd, 8192) == 0);
	cut_off = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
	cr_assert(cut_off != MAP_FAILED && ftruncate(fd, 0) == 0);
	jobs[0] = (struct counted){ .job.run = read_byte, .number = 1 };
	cr_assert_eq(workers_new(1, 1, &workers), 0);
	cr_assert_eq(workers_add(workers, &jobs[0].job), 0);
	cr_assert_eq(take(), &jobs[0]);
	cr_assert_eq(jobs[0].number, 0);
	close(fd);
}
