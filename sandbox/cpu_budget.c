// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cpu_budget.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cond.h"
#include "base/hash.h"
#include "limits/limits.h"
#include "log/clock.h"

/* Who has to wait asks again after this time at most. */
#define ASK_NS UINT64_C(100000000)

/* Users that are not told apart (CPU_BUDGET_MAX_USERS). */
#define OTHERS ((uid_t)-1)

struct payer {
	UT_hash_handle hh; /* by user */
	uid_t user;
	uint64_t debt_ns;
	uint64_t asked_ns;   /* when it last did; 0: never */
	uint64_t refused_ns; /* when it last had to wait; 0: it has not to */
};

struct cpu_budget {
	double share;
	struct cpu_budget_counts *counts;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t lifted;
	size_t n_users;
	bool is_on;
	uint64_t saved_ns;
	uint64_t filled_ns; /* when something was last added, CLOCK_MONOTONIC */
	struct payer *payers;
	uint64_t waited_ns, waits_since_ns; /* of cpu_budget_wait(), for whomever */
};

int cpu_budget_new(double share, struct cpu_budget_counts *counts, struct cpu_budget **ret)
{
	struct cpu_budget *b = calloc(1, sizeof(*b));

	*ret = b;
	if (!b)
		return -ENOMEM;
	b->share = share;
	b->n_users = 1;
	b->counts = counts;
	pthread_mutex_init(&b->lock, NULL);
	cond_init_monotonic(&b->lifted);
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
	struct payer *p, *next;
	bool is_last;

	if (!b)
		return NULL;
	pthread_mutex_lock(&b->lock);
	is_last = --b->n_users == 0;
	pthread_mutex_unlock(&b->lock);
	if (!is_last)
		return NULL;
	HASH_ITER(hh, b->payers, p, next) {
		HASH_DEL(b->payers, p);
		free(p);
	}
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
	b->saved_ns = (uint64_t)(b->share * (double)CPU_BUDGET_SAVED_NS);
	pthread_mutex_unlock(&b->lock);
}

void cpu_budget_lift(struct cpu_budget *b)
{
	pthread_mutex_lock(&b->lock);
	b->is_on = false;
	pthread_cond_broadcast(&b->lifted);
	pthread_mutex_unlock(&b->lock);
}

/* All that follows, up to the functions for others, is called with the lock. */

static bool is_idle(const struct payer *p, uint64_t now)
{
	return p->debt_ns == 0 && now > p->asked_ns + CPU_BUDGET_OTHERS_NS;
}

static void forget_idle(struct cpu_budget *b, uint64_t now)
{
	struct payer *p, *next;

	HASH_ITER(hh, b->payers, p, next) {
		if (!is_idle(p, now))
			continue;
		HASH_DEL(b->payers, p);
		free(p);
	}
}

/* NULL: memory is short. */
static struct payer *find_payer(struct cpu_budget *b, uid_t user, uint64_t now)
{
	struct payer *p;

	HASH_FIND(hh, b->payers, &user, sizeof(user), p);
	if (p)
		return p;
	forget_idle(b, now);
	if (user != OTHERS && HASH_COUNT(b->payers) + 1 >= CPU_BUDGET_MAX_USERS)
		return find_payer(b, OTHERS, now);
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->user = user;
	HASH_ADD(hh, b->payers, user, sizeof(p->user), p);
	if (HASH_IS_ADDED(hh, p))
		return p;
	free(p);
	return NULL;
}

static size_t count_debtors(const struct cpu_budget *b)
{
	size_t n = 0;

	for (const struct payer *p = b->payers; p; p = p->hh.next)
		n += p->debt_ns > 0;
	return n;
}

/* Pays all debts alike, as far as it goes. Returns what is left. */
static uint64_t pay(struct cpu_budget *b, uint64_t ns)
{
	size_t n;

	while (ns > 0 && (n = count_debtors(b)) > 0) {
		uint64_t part = ns / n + 1;

		for (struct payer *p = b->payers; p; p = p->hh.next) {
			uint64_t paid = p->debt_ns < part ? p->debt_ns : part;

			paid = paid < ns ? paid : ns;
			p->debt_ns -= paid;
			ns -= paid;
		}
	}
	return ns;
}

static void fill(struct cpu_budget *b, uint64_t now)
{
	uint64_t most = (uint64_t)(b->share * (double)CPU_BUDGET_SAVED_NS);
	uint64_t more;

	if (now <= b->filled_ns)
		return;
	more = (uint64_t)(b->share * (double)(now - b->filled_ns));
	if (more == 0)
		return;
	b->filled_ns = now;
	b->saved_ns += pay(b, more);
	if (b->saved_ns > most)
		b->saved_ns = most;
}

/* Who does not ask again has no work left. */
static void note_pause(struct cpu_budget *b, struct payer *p, uint64_t now)
{
	uint64_t waited = p->refused_ns ? now - p->refused_ns : 0;

	atomic_fetch_add(&b->counts->waited_ns, waited < 2 * ASK_NS ? waited : 2 * ASK_NS);
	p->refused_ns = p->debt_ns > 0 ? now : 0;
	p->asked_ns = now;
}

static uint64_t time_to_pay(const struct cpu_budget *b, const struct payer *p)
{
	double pause;

	if (p->debt_ns == 0)
		return 0;
	pause = (double)p->debt_ns * (double)count_debtors(b) / b->share;
	return pause < (double)ASK_NS ? (uint64_t)pause + 1 : ASK_NS;
}

static uint64_t pause_ns(struct cpu_budget *b, struct payer *p, uint64_t now)
{
	if (!b->is_on || !p)
		return 0;
	fill(b, now);
	note_pause(b, p, now);
	return time_to_pay(b, p);
}

static bool has_others(const struct cpu_budget *b, const struct payer *than, uint64_t now)
{
	for (const struct payer *p = b->payers; p; p = p->hh.next)
		if (p != than && p->asked_ns && now < p->asked_ns + CPU_BUDGET_OTHERS_NS)
			return true;
	return false;
}

/* Whether it is worth to wait for it. */
static bool may_wait(struct cpu_budget *b, const struct payer *p, uint64_t now)
{
	if (now > b->waits_since_ns + CPU_BUDGET_WAITED_IN_NS) {
		b->waits_since_ns = now;
		b->waited_ns = 0;
	}
	return b->waited_ns < CPU_BUDGET_WAITED_NS || !has_others(b, p, now);
}

uint64_t cpu_budget_pause_ns(struct cpu_budget *b, uid_t user)
{
	uint64_t pause, now;

	if (!b)
		return 0;
	pthread_mutex_lock(&b->lock);
	now = clock_now_ns();
	pause = pause_ns(b, find_payer(b, user, now), now);
	pthread_mutex_unlock(&b->lock);
	return pause;
}

uint64_t cpu_budget_rest_ns(struct cpu_budget *b, uid_t user)
{
	const struct payer *p;
	uint64_t rest = 0, now;

	if (!b)
		return 0;
	pthread_mutex_lock(&b->lock);
	now = clock_now_ns();
	p = b->is_on ? find_payer(b, user, now) : NULL;
	if (p) {
		fill(b, now);
		rest = time_to_pay(b, p);
	}
	pthread_mutex_unlock(&b->lock);
	return rest;
}

bool cpu_budget_wait(struct cpu_budget *b, uid_t user)
{
	uint64_t pause, now, began;
	struct payer *p;
	bool may = true;

	if (!b)
		return true;
	pthread_mutex_lock(&b->lock);
	now = clock_now_ns();
	while ((p = find_payer(b, user, now)) && (pause = pause_ns(b, p, now)) > 0) {
		may = may_wait(b, p, now);
		if (!may) {
			atomic_fetch_add(&b->counts->refused, 1);
			break;
		}
		began = now;
		(void)cond_wait_until(&b->lifted, &b->lock, now + pause);
		now = clock_now_ns();
		b->waited_ns += now - began;
	}
	pthread_mutex_unlock(&b->lock);
	return may;
}

void cpu_budget_spend(struct cpu_budget *b, uid_t user, uint64_t cpu_ns)
{
	uint64_t saved, now;
	struct payer *p;

	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	now = clock_now_ns();
	p = b->is_on ? find_payer(b, user, now) : NULL;
	if (p) {
		fill(b, now);
		saved = cpu_ns < b->saved_ns ? cpu_ns : b->saved_ns;
		b->saved_ns -= saved;
		p->debt_ns += cpu_ns - saved;
	}
	if (b->is_on)
		atomic_fetch_add(&b->counts->spent_ns, cpu_ns);
	pthread_mutex_unlock(&b->lock);
}
