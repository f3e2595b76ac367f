// SPDX-License-Identifier: Apache-2.0
#include "samples/call_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct call_table {
	pthread_mutex_t lock;
	struct call_period *of[CALL_TABLE_SIZE]; /* NULL: none yet */
	/* That have not ended, by their numbers; NULL: none */
	struct call_period *open[DP_MAX_LABEL_PROBES];
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
	return !period || period->end_ns == 0 ||
	       (now_ns >= period->end_ns && now_ns - period->end_ns >= CALL_TABLE_REST_NS);
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

static bool has_name(const struct value_forms *forms, const char *name)
{
	for (size_t i = 0; i < forms->n; i++)
		if (!forms->of[i].is_length && strcmp(forms->of[i].name, name) == 0)
			return true;
	return false;
}

/* May both label samples at the same time? */
static int check_both(const struct call_period *a, const struct call_period *b)
{
	if (a->is_timed || b->is_timed)
		return -EBUSY;
	if (probed_code_is_shared(&a->code, &b->code))
		return -EEXIST;
	for (size_t i = 0; i < a->forms.n; i++)
		if (!a->forms.of[i].is_length && has_name(&b->forms, a->forms.of[i].name))
			return -ENOTUNIQ;
	return 0;
}

static int find_number(const struct call_table *t, const struct call_period *period,
		       unsigned int *ret)
{
	int err = 0;

	*ret = DP_MAX_LABEL_PROBES;
	for (unsigned int i = DP_MAX_LABEL_PROBES; err == 0 && i > 0; i--) {
		if (t->open[i - 1])
			err = check_both(t->open[i - 1], period);
		else
			*ret = i - 1;
	}
	return err == 0 && *ret == DP_MAX_LABEL_PROBES ? -EBUSY : err;
}

int call_table_prepare(struct call_table *t, const struct call_period *period, uint64_t now_ns,
		       unsigned int *ret_probe)
{
	struct call_period *copy, *old;
	int err = find_number(t, period, ret_probe);
	size_t i = 0;

	if (err < 0)
		return err;
	while (i < CALL_TABLE_SIZE && !period_is_free(t->of[i], now_ns))
		i++;
	if (i == CALL_TABLE_SIZE)
		return -E2BIG;
	copy = copy_of(period);
	if (!copy)
		return -ENOMEM;
	copy->probe = *ret_probe;
	pthread_mutex_lock(&t->lock);
	old = t->of[i];
	t->of[i] = copy;
	pthread_mutex_unlock(&t->lock);
	period_free(old);
	t->open[copy->probe] = copy;
	return 0;
}

void call_table_place(struct call_table *t, unsigned int probe, const struct dp_span_places *places)
{
	pthread_mutex_lock(&t->lock);
	t->open[probe]->code.places = *places;
	pthread_mutex_unlock(&t->lock);
}

void call_table_begin(struct call_table *t, unsigned int probe, uint64_t now_ns)
{
	pthread_mutex_lock(&t->lock);
	t->open[probe]->begin_ns = now_ns;
	pthread_mutex_unlock(&t->lock);
}

void call_table_end(struct call_table *t, unsigned int probe, uint64_t now_ns)
{
	struct call_period *period = t->open[probe];

	if (!period)
		return;
	pthread_mutex_lock(&t->lock);
	period->end_ns = period->begin_ns == UINT64_MAX ? 0 : now_ns;
	pthread_mutex_unlock(&t->lock);
	t->open[probe] = NULL;
}

static bool period_is_for(const struct call_period *period, uint32_t pid)
{
	for (size_t i = 0; i < period->n_pids; i++)
		if (period->pids[i] == pid)
			return true;
	return period->n_pids == 0;
}

const struct call_period *call_table_lock(struct call_table *t, uint64_t time_ns, uint32_t pid,
					  const struct call_period *ret[DP_MAX_LABEL_PROBES])
{
	const struct call_period *timed = NULL;

	memset(ret, 0, DP_MAX_LABEL_PROBES * sizeof(*ret));
	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < CALL_TABLE_SIZE; i++) {
		const struct call_period *period = t->of[i];

		if (!period || time_ns < period->begin_ns || time_ns >= period->end_ns ||
		    !period_is_for(period, pid))
			continue;
		ret[period->probe] = period;
		if (period->is_timed)
			timed = period;
	}
	return timed;
}

void call_table_unlock(struct call_table *t)
{
	pthread_mutex_unlock(&t->lock);
}
