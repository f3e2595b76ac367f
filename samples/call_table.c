// SPDX-License-Identifier: Apache-2.0
#include "samples/call_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct call_table {
	pthread_mutex_t lock;
	struct call_period *of[CALL_TABLE_SIZE]; /* NULL: none yet */
	struct call_period *last;                /* that has not ended; NULL: none */
};

int call_table_new(struct call_table **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	pthread_mutex_init(&(*ret)->lock, NULL);
	return 0;
}

static void period_free(struct call_period *period)
{
	if (period)
		free(period->code.maybe);
	free(period);
}

struct call_table *call_table_free(struct call_table *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < CALL_TABLE_SIZE; i++)
		period_free(t->of[i]);
	pthread_mutex_destroy(&t->lock);
	free(t);
	return NULL;
}

/* Nothing has asked for what was never begun. */
static bool period_is_free(const struct call_period *period, uint64_t now_ns)
{
	return !period || period->end_ns == 0 || now_ns >= period->end_ns + CALL_TABLE_REST_NS;
}

static struct call_period *copy_of(const struct call_period *period)
{
	struct call_period *copy = malloc(sizeof(*copy));
	size_t size = period->code.n_maybe * sizeof(*period->code.maybe);

	if (!copy)
		return NULL;
	*copy = *period;
	copy->begin_ns = copy->end_ns = UINT64_MAX;
	copy->code.maybe = size > 0 ? malloc(size) : NULL;
	if (size > 0 && !copy->code.maybe) {
		free(copy);
		return NULL;
	}
	if (size > 0)
		memcpy(copy->code.maybe, period->code.maybe, size);
	for (size_t i = 0; i < copy->forms.n; i++) {
		copy->forms.of[i].names = NULL;
		copy->forms.of[i].n_names = 0;
	}
	return copy;
}

int call_table_prepare(struct call_table *t, const struct call_period *period, uint64_t now_ns)
{
	struct call_period *copy, *old;
	size_t i = 0;

	if (t->last)
		return -EBUSY;
	while (i < CALL_TABLE_SIZE && !period_is_free(t->of[i], now_ns))
		i++;
	if (i == CALL_TABLE_SIZE)
		return -E2BIG;
	copy = copy_of(period);
	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&t->lock);
	old = t->of[i];
	t->of[i] = copy;
	pthread_mutex_unlock(&t->lock);
	period_free(old);
	t->last = copy;
	return 0;
}

void call_table_begin(struct call_table *t, uint64_t now_ns)
{
	pthread_mutex_lock(&t->lock);
	t->last->begin_ns = now_ns;
	pthread_mutex_unlock(&t->lock);
}

void call_table_end(struct call_table *t, uint64_t now_ns)
{
	if (!t->last)
		return;
	pthread_mutex_lock(&t->lock);
	t->last->end_ns = t->last->begin_ns == UINT64_MAX ? 0 : now_ns;
	pthread_mutex_unlock(&t->lock);
	t->last = NULL;
}

static bool period_is_for(const struct call_period *period, uint32_t pid)
{
	for (size_t i = 0; i < period->n_pids; i++)
		if (period->pids[i] == pid)
			return true;
	return period->n_pids == 0;
}

const struct call_period *call_table_lock(struct call_table *t, uint64_t time_ns, uint32_t pid)
{
	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < CALL_TABLE_SIZE; i++) {
		const struct call_period *period = t->of[i];

		if (period && period->begin_ns <= time_ns && time_ns < period->end_ns &&
		    period_is_for(period, pid))
			return period;
	}
	return NULL;
}

void call_table_unlock(struct call_table *t)
{
	pthread_mutex_unlock(&t->lock);
}
