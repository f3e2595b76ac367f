// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cpu_budget.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "log/clock.h"

/* Who has to wait asks again after this time at most. */
#define ASK_NS UINT64_C(100000000)

struct cpu_budget {
	double share;
	struct cpu_budget_counts *counts;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t lifted;
	size_t n_users;
	bool is_on;
	int64_t left_ns;
	uint64_t filled_ns;  /* when something was last added, CLOCK_MONOTONIC */
	uint64_t refused_ns; /* when somebody last had to wait; 0: nobody has to */
};

int cpu_budget_new(double share, struct cpu_budget_counts *counts, struct cpu_budget **ret)
{
	struct cpu_budget *b = calloc(1, sizeof(*b));
	pthread_condattr_t monotonic;

	*ret = b;
	if (!b)
		return -ENOMEM;
	b->share = share;
	b->n_users = 1;
	b->counts = counts;
	pthread_mutex_init(&b->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&b->lifted, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return 0;
}

struct cpu_budget *cpu_budget_hold(struct cpu_budget *b)
{
	if (!b)
		return NULL;
	pthread_mutex_lock(&b->lock);
	b->n_users++;
	pthread_mutex_unlock(&b->lock);
	return b;
}

struct cpu_budget *cpu_budget_drop(struct cpu_budget *b)
{
	bool is_last;

	if (!b)
		return NULL;
	pthread_mutex_lock(&b->lock);
	is_last = --b->n_users == 0;
	pthread_mutex_unlock(&b->lock);
	if (!is_last)
		return NULL;
	pthread_cond_destroy(&b->lifted);
	pthread_mutex_destroy(&b->lock);
	free(b);
	return NULL;
}

void cpu_budget_begin(struct cpu_budget *b)
{
	pthread_mutex_lock(&b->lock);
	b->is_on = true;
	b->filled_ns = clock_now_ns();
	b->left_ns = (int64_t)(b->share * (double)CPU_BUDGET_SAVED_NS);
	pthread_mutex_unlock(&b->lock);
}

void cpu_budget_lift(struct cpu_budget *b)
{
	pthread_mutex_lock(&b->lock);
	b->is_on = false;
	pthread_cond_broadcast(&b->lifted);
	pthread_mutex_unlock(&b->lock);
}

/* The lock is held. */
static void fill(struct cpu_budget *b, uint64_t now)
{
	int64_t most = (int64_t)(b->share * (double)CPU_BUDGET_SAVED_NS);

	b->left_ns += (int64_t)(b->share * (double)(now - b->filled_ns));
	if (b->left_ns > most)
		b->left_ns = most;
	b->filled_ns = now;
}

/* The lock is held. */
static uint64_t pause_ns(struct cpu_budget *b)
{
	uint64_t now = clock_now_ns(), waited = b->refused_ns ? now - b->refused_ns : 0, pause;

	if (!b->is_on)
		return 0;
	fill(b, now);
	/* Who does not ask again has no work left. */
	atomic_fetch_add(&b->counts->waited_ns, waited < 2 * ASK_NS ? waited : 2 * ASK_NS);
	b->refused_ns = b->left_ns < 0 ? now : 0;
	if (b->left_ns >= 0)
		return 0;
	pause = (uint64_t)((double)-b->left_ns / b->share) + 1;
	return pause < ASK_NS ? pause : ASK_NS;
}

uint64_t cpu_budget_pause_ns(struct cpu_budget *b)
{
	uint64_t pause;

	if (!b)
		return 0;
	pthread_mutex_lock(&b->lock);
	pause = pause_ns(b);
	pthread_mutex_unlock(&b->lock);
	return pause;
}

void cpu_budget_wait(struct cpu_budget *b)
{
	uint64_t pause;

	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	while ((pause = pause_ns(b)) > 0) {
		uint64_t end_ns = clock_now_ns() + pause;
		const struct timespec end = { (time_t)(end_ns / 1000000000),
					      (long)(end_ns % 1000000000) };

		(void)pthread_cond_timedwait(&b->lifted, &b->lock, &end);
	}
	pthread_mutex_unlock(&b->lock);
}

void cpu_budget_spend(struct cpu_budget *b, uint64_t cpu_ns)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	if (b->is_on) {
		b->left_ns -= (int64_t)cpu_ns;
		atomic_fetch_add(&b->counts->spent_ns, cpu_ns);
	}
	pthread_mutex_unlock(&b->lock);
}
