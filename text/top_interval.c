// SPDX-License-Identifier: Apache-2.0
#include "text/top_interval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sum.h"
#include "base/text.h"
#include "report/group.h"
#include "report/value.h"

struct top_interval *top_interval_free(struct top_interval *interval)
{
	struct hot_thread *thread, *next;

	if (!interval)
		return NULL;
	HASH_ITER(hh, interval->threads, thread, next) {
		HASH_DEL(interval->threads, thread);
		free(thread);
	}
	for (size_t i = 0; i < interval->n_stacks; i++)
		free(interval->stacks[i]);
	free(interval->stacks);
	hot_list_done(&interval->functions);
	free(interval->target);
	free(interval->last);
	free(interval->labels);
	free(interval->by);
	free(interval);
	return NULL;
}

/* Adds to the value of a thread, and takes its newest names. */
static struct hot_thread *count_thread(struct top_interval *interval, const struct sample *sample,
				       uint64_t value)
{
	const struct hot_thread_key key = { .pid = sample->pid, .tid = sample->tid };
	struct hot_thread *thread;

	HASH_FIND(hh, interval->threads, &key, sizeof(key), thread);
	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (!thread)
			return NULL;
		thread->key = key;
		HASH_ADD(hh, interval->threads, key, sizeof(key), thread);
		if (!HASH_IS_ADDED(hh, thread)) {
			free(thread);
			return NULL;
		}
	}
	strcpy(thread->comm, sample->comm);
	strcpy(thread->name, sample->thread_name);
	text_make_plain(thread->comm);
	text_make_plain(thread->name);
	sum_increase(&thread->value, value);
	return thread;
}

static int add_stack(const struct stack *stack, void *arg)
{
	struct top_interval *interval = arg;
	struct hot_list *functions = &interval->functions;
	const struct value measured = value_measured(&functions->report->context);
	uint64_t value = value_of_stack(&measured, stack);
	struct hot_thread *thread;
	struct hot_stack *own;
	int err = hot_list_add(functions, stack);

	if (err < 0 ||
	    array_reserve(interval->stacks, interval->n_stacks, interval->stacks_size) < 0)
		return -ENOMEM;
	thread = count_thread(interval, &stack->common, value);
	own = malloc(sizeof(*own) + functions->n_path * sizeof(own->functions[0]));
	if (!thread || !own) {
		free(own);
		return -ENOMEM;
	}
	*own = (struct hot_stack){
		.value = value, .thread = thread, .leaf = functions->leaf, .n = functions->n_path
	};
	for (size_t i = 0; i < own->n; i++)
		own->functions[i] = functions->path[i];
	interval->stacks[interval->n_stacks++] = own;
	return 0;
}

int top_interval_new(struct report *report, const struct profile *profile, uint64_t value,
		     const char *const lines[3], struct top_interval **ret)
{
	struct top_interval *interval = calloc(1, sizeof(*interval));
	int err;

	if (!interval)
		return -ENOMEM;
	interval->value = value;
	interval->target = strdup(lines[0]);
	interval->last = strdup(lines[1]);
	interval->labels = strdup(lines[2]);
	interval->by = strdup(report->context.by ? report->context.by->key : "");
	if (interval->by)
		text_make_plain(interval->by);
	interval->functions.report = report;
	interval->functions.has_labels = report->context.by != NULL;
	err = interval->target && interval->last && interval->labels && interval->by ?
		      profile_for_each(profile, add_stack, interval) :
		      -ENOMEM;
	interval->functions.report = NULL;
	*ret = err == 0 ? interval : top_interval_free(interval);
	return err;
}
