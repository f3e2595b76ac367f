// SPDX-License-Identifier: Apache-2.0
/* Links that the kernel needs time to remove, which the test does in its place. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "kernel/removal.h"
#include "limits/limits.h"
#include "log/clock.h"

struct bpf_link;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static size_t n_begun, n_destroyed, n_wanted; /* the first ones wait until so many have begun */

int __wrap_bpf_link__destroy(struct bpf_link *link);
int __wrap_bpf_link__destroy(struct bpf_link *link)
{
	if (!link)
		return 0;
	pthread_mutex_lock(&lock);
	n_begun++;
	pthread_cond_broadcast(&changed);
	while (n_begun < n_wanted)
		pthread_cond_wait(&changed, &lock);
	n_destroyed++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return 0;
}

static struct removal_links some(size_t n_links, size_t n_fds)
{
	struct removal_links some = { .n_links = n_links, .n_fds = n_fds };

	some.links = calloc(n_links + 1, sizeof(*some.links));
	some.fds = calloc(n_fds + 1, sizeof(*some.fds));
	for (size_t i = 0; i < n_links; i++)
		some.links[i] = (struct bpf_link *)(some.links + i);
	for (size_t i = 0; i < n_fds; i++)
		some.fds[i] = eventfd(0, EFD_CLOEXEC);
	return some;
}

TestSuite(removal, .timeout = 60);

Test(removal, nothing)
{
	const struct removal_links nothing = { 0 };

	cr_expect(removal_run(&nothing));
}

Test(removal, all)
{
	struct removal_links all = some(100, 100);
	int first = all.fds[0], last = all.fds[99];

	cr_assert(removal_run(&all));
	cr_expect_eq(n_destroyed, 100);
	cr_expect_eq(fcntl(first, F_GETFD), -1);
	cr_expect_eq(fcntl(last, F_GETFD), -1);
}

/* One after the other, they would never end. */
Test(removal, at_the_same_time)
{
	struct removal_links all = some(20, 0);

	n_wanted = 20;
	cr_expect(removal_run(&all));
	cr_expect_eq(n_destroyed, 20);
}

Test(removal, some_that_take_long)
{
	struct removal_links all = some(10, 0);
	uint64_t began = clock_now_ns();

	n_wanted = 11;
	cr_expect_not(removal_run(&all));
	cr_expect_geq(clock_now_ns() - began, REMOVAL_PATIENCE_NS);
	pthread_mutex_lock(&lock);
	cr_expect_eq(n_destroyed, 0);
	n_wanted = 0;
	pthread_cond_broadcast(&changed);
	while (n_destroyed < 10)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}
