// SPDX-License-Identifier: Apache-2.0
#include "formats/timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/sum.h"
#include "report/value.h"

int timeline_init(struct timeline *timeline)
{
	*timeline = (struct timeline){ 0 };
	return profile_new(PROFILE_LINES | PROFILE_LABELS, &timeline->profile);
}

void timeline_done(struct timeline *timeline)
{
	struct timeline_thread *t, *next;

	HASH_ITER(hh, timeline->threads, t, next) {
		HASH_DEL(timeline->threads, t);
		free(t->moments);
		free(t);
	}
	frame_values_done(&timeline->values);
	timeline->profile = profile_free(timeline->profile);
}

static struct timeline_thread *find_thread(struct timeline *timeline,
					   const struct report_context *context,
					   const struct sample *sample)
{
	struct thread_id id = { sample->pid, sample->tid,
				(uint32_t)value_event_number(context, sample) };
	struct timeline_thread *t;

	HASH_FIND(hh, timeline->threads, &id, sizeof(id), t);
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->id = id;
	t->event = context->n_several > 0 ? context->several[id.event].name : NULL;
	HASH_ADD(hh, timeline->threads, id, sizeof(id), t);
	if (!HASH_IS_ADDED(hh, t)) {
		free(t);
		return NULL;
	}
	return t;
}

/* Stacks with different values are one, unless the values were asked for. */
static int add_to_profile(struct timeline *timeline, const struct report_context *context,
			  const struct sample *sample, uint32_t *ret)
{
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	struct sample alike = *sample;
	int err;

	if (!timeline->has_values || context->by || !label_set_is_marked(sample->labels))
		return profile_add_numbered(timeline->profile, sample, ret);
	err = frame_values_take_away(sample, &labels);
	alike.labels = labels;
	if (err == 0)
		err = profile_add_numbered(timeline->profile, &alike, ret);
	return err == 0 ? frame_values_add(&timeline->values, sample, *ret) : err;
}

int timeline_add(struct timeline *timeline, const struct report_context *context,
		 const struct sample *sample)
{
	struct timeline_thread *t = find_thread(timeline, context, sample);
	const struct value value = value_main(context);
	struct moment moment = {
		.time_ns = sample->time_ns,
		.value = value_of_sample(&value, sample),
		.cpu = sample->cpu,
	};

	if (!t || array_reserve(t->moments, t->n, t->size) < 0)
		return -ENOMEM;
	if (add_to_profile(timeline, context, sample, &moment.stack) < 0)
		return -ENOMEM;
	strcpy(t->comm, sample->comm);
	strcpy(t->name, sample->thread_name[0] ? sample->thread_name : sample->comm);
	sum_increase(&t->value, moment.value);
	t->moments[t->n++] = moment;
	return 0;
}

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int compare_threads(const struct timeline_thread *a, const struct timeline_thread *b)
{
	if (a->id.event != b->id.event)
		return a->id.event < b->id.event ? -1 : 1;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->id.tid < b->id.tid ? -1 : a->id.tid > b->id.tid;
}

void timeline_sort(struct timeline *timeline)
{
	struct timeline_thread *t;

	/* They usually are sorted, but a block is reported when it is over. */
	for (t = timeline->threads; t; t = t->hh.next)
		qsort(t->moments, t->n, sizeof(*t->moments), compare_moments);
	HASH_SORT(timeline->threads, compare_threads);
}

void timeline_thread_name(const struct timeline_thread *thread, char buffer[TIMELINE_NAME_SIZE])
{
	const char *event = thread->event ? thread->event : "", *comma = thread->event ? ", " : "";

	if (thread->id.pid == thread->id.tid)
		snprintf(buffer, TIMELINE_NAME_SIZE, "%s%s%.31s (PID %d)", thread->name, comma,
			 event, thread->id.pid);
	else
		snprintf(buffer, TIMELINE_NAME_SIZE, "%s%s%.31s (PID %d, TID %d)", thread->name,
			 comma, event, thread->id.pid, thread->id.tid);
}
