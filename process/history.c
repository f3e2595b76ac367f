// SPDX-License-Identifier: Apache-2.0
#include "process/history.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "limits/limits.h"

/* How far a mapping is moved to where it belongs by its end. */
#define MAX_SORTED 64

struct past_mapping {
	struct mapping mapping;           /* first: the tree has pointers to it */
	struct past_mapping *prev, *next; /* once it has ended */
};

/* Ranges that overlap are equal. Those in the tree do not. */
static int compare(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	return x->end <= y->start ? -1 : x->start >= y->end;
}

static struct mapping *find_living(const struct history *h, uint64_t start, uint64_t end)
{
	const struct mapping range = { .start = start, .end = end };
	struct mapping **node = tfind(&range, &h->living, compare);

	return node ? *node : NULL;
}

static struct past_mapping *new_item(const struct mapping *m)
{
	struct past_mapping *item = calloc(1, sizeof(*item));

	if (!item)
		return NULL;
	item->mapping = *m;
	mapping_hold(m);
	return item;
}

static void free_item(struct past_mapping *item)
{
	mapping_drop(&item->mapping);
	free(item);
}

static int add(struct history *h, const struct mapping *m)
{
	struct past_mapping *item = new_item(m);

	if (!item)
		return -ENOMEM;
	if (!tsearch(&item->mapping, &h->living, compare)) {
		free_item(item);
		return -ENOMEM;
	}
	h->n_living++;
	return 0;
}

/*
 * Times nearly always grow. In a list that is not quite in order, a mapping may not be found, but
 * never a wrong one.
 */
static void add_past(struct history *h, struct past_mapping *item)
{
	struct past_mapping *before = h->past ? h->past->prev : NULL;

	for (int i = 0; i < MAX_SORTED && before && before->mapping.died > item->mapping.died; i++)
		before = before == h->past ? NULL : before->prev;
	if (before)
		DL_APPEND_ELEM(h->past, before, item);
	else
		DL_PREPEND(h->past, item);
	h->n_past++;
	h->n_ended++;
}

int history_add_past(struct history *h, const struct mapping *m)
{
	struct past_mapping *item = new_item(m);

	if (!item)
		return -ENOMEM;
	add_past(h, item);
	return 0;
}

static void end(struct history *h, struct mapping *m, uint64_t time)
{
	tdelete(m, &h->living, compare);
	h->n_living--;
	m->died = time;
	add_past(h, (struct past_mapping *)m);
}

int history_add(struct history *h, const struct mapping *m)
{
	struct mapping *old;
	int err = 0;

	while (err == 0 && (old = find_living(h, m->start, m->end))) {
		struct mapping left = *old, right = *old;

		end(h, old, m->born);
		left.born = right.born = m->born;
		left.end = m->start;
		right.start = m->end;
		right.offset += right.start - old->start;
		if (left.start < left.end)
			err = add(h, &left);
		if (err == 0 && right.start < right.end)
			err = add(h, &right);
	}
	return err < 0 ? err : add(h, m);
}

void history_end(struct history *h, uint64_t time)
{
	while (h->living)
		end(h, *(struct mapping **)h->living, time);
}

void history_forget(struct history *h, uint64_t before)
{
	while (h->past && h->past->mapping.died < before) {
		struct past_mapping *first = h->past;

		DL_DELETE(h->past, first);
		h->n_past--;
		free_item(first);
	}
}

void history_done(struct history *h)
{
	history_end(h, 0);
	history_forget(h, UINT64_MAX);
}

static bool existed(const struct mapping *m, uint64_t time)
{
	return m->born <= time && time < m->died;
}

/* The last one that has ended after a time, or NULL. */
static struct past_mapping *last_after(const struct history *h, uint64_t time)
{
	struct past_mapping *last = h->past ? h->past->prev : NULL;

	return last && last->mapping.died > time ? last : NULL;
}

/* The one that ended before another one, but after a time; NULL: none. */
static struct past_mapping *earlier(const struct history *h, const struct past_mapping *item,
				    uint64_t time)
{
	return item != h->past && item->prev->mapping.died > time ? item->prev : NULL;
}

const struct mapping *history_find(const struct history *h, uint64_t address, uint64_t time)
{
	const struct mapping *m = find_living(h, address, address + 1);
	struct past_mapping *p = last_after(h, time);

	if (m && existed(m, time))
		return m;
	for (size_t i = 0; p && i < HISTORY_MAX_SEARCHED; p = earlier(h, p, time), i++) {
		m = &p->mapping;
		if (m->start <= address && address < m->end && existed(m, time))
			return m;
	}
	return NULL;
}

struct found {
	const struct mapping **mappings;
	size_t n;
	uint64_t time;
};

static void collect(const void *node, VISIT visit, void *arg)
{
	struct found *found = arg;
	const struct mapping *m = *(struct mapping *const *)node;

	if ((visit == postorder || visit == leaf) && existed(m, found->time))
		found->mappings[found->n++] = m;
}

static int compare_pointers(const void *a, const void *b)
{
	return compare(*(const struct mapping *const *)a, *(const struct mapping *const *)b);
}

int history_at(const struct history *h, uint64_t time, const struct mapping ***ret, size_t *ret_n)
{
	_cleanup_free_ const struct mapping **mappings = NULL;
	struct found found = { .time = time };
	size_t n = h->n_living + 1, n_living;

	for (struct past_mapping *p = last_after(h, time); p; p = earlier(h, p, time))
		n++;
	found.mappings = mappings = calloc(n, sizeof(*mappings));
	if (!mappings)
		return -ENOMEM;
	twalk_r(h->living, collect, &found);
	n_living = found.n;
	for (struct past_mapping *p = last_after(h, time); p; p = earlier(h, p, time))
		if (existed(&p->mapping, time))
			mappings[found.n++] = &p->mapping;
	if (found.n > n_living)
		qsort(mappings, found.n, sizeof(*mappings), compare_pointers);
	*ret_n = found.n;
	*ret = steal_ptr(mappings);
	return 0;
}

struct visitor {
	void (*fn)(void *arg, struct mapping *mapping);
	void *arg;
};

static void visit_living(const void *node, VISIT visit, void *arg)
{
	const struct visitor *visitor = arg;

	if (visit == postorder || visit == leaf)
		visitor->fn(visitor->arg, *(struct mapping *const *)node);
}

void history_each(const struct history *h, void (*fn)(void *arg, struct mapping *mapping),
		  void *arg)
{
	struct visitor visitor = { fn, arg };
	struct past_mapping *p;

	twalk_r(h->living, visit_living, &visitor);
	DL_FOREACH(h->past, p)
		fn(arg, &p->mapping);
}
