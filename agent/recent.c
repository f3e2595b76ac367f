// SPDX-License-Identifier: Apache-2.0
#include "agent/recent.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "formats/svg.h"
#include "log/clock.h"
#include "report/packed_graph.h"
#include "report/value.h"

/* Of two runs that take turns, some are short. */
#define SLOTS 8
/* So long after somebody looked, names are looked up. */
#define LOOKED_AT_NS UINT64_C(600000000000)

/* What the head of a picture tells, apart from the run, which may have ended. */
struct head {
	struct report_context context; /* only what follows, and numbers */
	char target[256], event[128], counts[64];
};

struct slot {
	struct packed_graph *graph; /* NULL: none */
	struct head head;
	struct totals totals;
	uint64_t began_ns, ended_ns;
	bool lacks_names; /* as nobody had looked */
};

struct recent {
	pthread_mutex_t lock;
	struct slot slots[SLOTS];
	size_t last; /* the newest */
	uint64_t left_out;
	uint64_t looked_ns; /* when somebody last did; 0: nobody has */
};

struct recent_report {
	struct report report;
	struct recent *recent;
	struct flame_graph graph;
	struct report *graphed;
	struct totals totals; /* of its samples */
};

int recent_new(struct recent **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	pthread_mutex_init(&(*ret)->lock, NULL);
	return 0;
}

struct recent *recent_free(struct recent *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; i < SLOTS; i++)
		free(r->slots[i].graph);
	pthread_mutex_destroy(&r->lock);
	free(r);
	return NULL;
}

static int recent_add(struct report *report, const struct sample *sample,
		      const struct totals *totals)
{
	struct recent_report *r = (struct recent_report *)report;

	if (!(report->context.events & EVENT_BIT(sample->event)) ||
	    value_event_number(&report->context, sample) != 0)
		return 0;
	totals_count(&r->totals, sample);
	return report_add(r->graphed, sample, &r->totals);
}

/* As svg.c, of the first event alone. */
static void narrow(struct report_context *context)
{
	if (context->events != EVENT_BIT(DP_EVENT_OFF_CPU))
		context->events &= ~EVENT_BIT(DP_EVENT_OFF_CPU);
	if (context->n_several == 0)
		return;
	context->event = context->several[0].name;
	context->counts = context->several[0].counts;
	context->n_several = 0;
}

static void make_head(const struct report_context *from, struct head *ret)
{
	struct report_context context = *from;

	narrow(&context);
	ret->context = (struct report_context){ .hz = context.hz,
						.period = context.period,
						.events = context.events };
	snprintf(ret->target, sizeof(ret->target), "%s", context.target ? context.target : "");
	snprintf(ret->event, sizeof(ret->event), "%s", context.event ? context.event : "");
	snprintf(ret->counts, sizeof(ret->counts), "%s", context.counts ? context.counts : "");
}

static int recent_finish(struct report *report, const struct totals *totals)
{
	struct recent_report *r = (struct recent_report *)report;
	struct recent *recent = r->recent;
	struct packed_graph *graph = NULL;
	struct slot *slot;
	int err = r->graphed->finish(r->graphed, &r->totals);

	if (err == 0)
		err = packed_graph_new(&r->graph, RECENT_SIZE / SLOTS, &graph);
	if (err < 0)
		return err;
	pthread_mutex_lock(&recent->lock);
	recent->last = (recent->last + 1) % SLOTS;
	slot = &recent->slots[recent->last];
	free(slot->graph);
	*slot = (struct slot){ .graph = graph,
			       .totals = r->totals,
			       .began_ns = report->context.started_ns,
			       .ended_ns = report->context.started_ns + totals->duration_ns };
	slot->totals.lost = totals->lost;
	slot->totals.lost_ns = totals->lost_ns;
	slot->totals.duration_ns = totals->duration_ns;
	make_head(&r->report.context, &slot->head);
	slot->lacks_names = report->context.symbols && !r->graphed->context.symbols;
	recent->left_out += graph->n_left_out;
	pthread_mutex_unlock(&recent->lock);
	return 0;
}

static void recent_report_free(struct report *report)
{
	struct recent_report *r = (struct recent_report *)report;

	report_free(r->graphed);
	flame_graph_done(&r->graph);
	free(r);
}

static bool is_looked_at(struct recent *recent)
{
	bool is;

	pthread_mutex_lock(&recent->lock);
	is = recent->looked_ns && clock_now_ns() < recent->looked_ns + LOOKED_AT_NS;
	pthread_mutex_unlock(&recent->lock);
	return is;
}

int recent_report_new(struct recent *recent, bool named, const struct report_context *context,
		      struct report **ret)
{
	struct recent_report *r = calloc(1, sizeof(*r));
	struct report_context graphed = *context;

	if (!r)
		return -ENOMEM;
	narrow(&graphed);
	graphed.symbols = context->symbols && (named || is_looked_at(recent));
	if (report_flame_graph_new(&r->graph, 0, &graphed, &r->graphed) < 0) {
		free(r);
		return -ENOMEM;
	}
	r->report = (struct report){ .context = *context,
				     .add = recent_add,
				     .finish = recent_finish,
				     .free = recent_report_free };
	r->report.context.events = graphed.events;
	r->recent = recent;
	*ret = &r->report;
	return 0;
}

/* The values of other events are not added to those of the newest one. */
static bool is_wanted(const struct slot *slot, const struct slot *last)
{
	return slot->graph &&
	       slot->began_ns + RECENT_TIME_NS + RECENT_INTERVAL_NS / 2 >= last->ended_ns &&
	       strcmp(slot->head.event, last->head.event) == 0 &&
	       slot->head.context.events == last->head.context.events &&
	       !slot->head.context.hz == !last->head.context.hz;
}

/* With the lock: what the picture needs. */
static int merge(struct recent *r, const char *process, struct flame_graph *graph,
		 struct head *ret_head, struct totals *ret_totals, bool *ret_lacks_names)
{
	const struct slot *last = &r->slots[r->last];
	int err = last->graph ? 0 : -ENODATA;

	*ret_head = last->head;
	for (size_t i = 0; err == 0 && i < SLOTS; i++) {
		const struct slot *slot = &r->slots[i];

		if (!is_wanted(slot, last))
			continue;
		*ret_lacks_names |= slot->lacks_names;
		*ret_totals = totals_sum(ret_totals, &slot->totals);
		err = packed_graph_add_to(slot->graph, *process ? process : NULL, graph);
	}
	r->looked_ns = clock_now_ns();
	return err;
}

int recent_write(struct recent *r, const char *process, FILE *to)
{
	struct flame_graph graph = { 0 };
	struct totals totals = { 0 };
	struct head head;
	struct value value;
	bool lacks_names = false;
	uint64_t lost;
	int err;

	pthread_mutex_lock(&r->lock);
	err = merge(r, process, &graph, &head, &totals, &lacks_names);
	pthread_mutex_unlock(&r->lock);
	if (err == 0) {
		head.context.target = head.target;
		head.context.event = head.event;
		head.context.counts = *head.counts ? head.counts : NULL;
		value = value_measured(&head.context);
		lost = value_of_lost(&value, &totals);
		if (lost > 0 && !*process)
			err = flame_graph_add_mark(&graph, 0, "[lost samples]", lost);
	}
	if (err == 0)
		err = svg_write(
			&head.context, &graph, &totals,
			lacks_names ? "names: of the time from now on, while somebody looks" : "",
			to);
	flame_graph_done(&graph);
	return err;
}

struct recent_counts recent_counts(struct recent *r)
{
	struct recent_counts counts;

	pthread_mutex_lock(&r->lock);
	counts = (struct recent_counts){ .left_out = r->left_out };
	for (size_t i = 0; i < SLOTS; i++)
		counts.size += r->slots[i].graph ? r->slots[i].graph->size : 0;
	pthread_mutex_unlock(&r->lock);
	return counts;
}
