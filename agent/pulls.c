// SPDX-License-Identifier: Apache-2.0
#include "agent/pulls.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "agent/cgroup_path.h"
#include "agent/process_labels.h"
#include "base/cleanup.h"
#include "formats/report_format.h"
#include "limits/limits.h"

enum pull_state {
	PULL_ASKED,
	PULL_BEGINS, /* at the boundary on its way */
	PULL_RUNS,
	PULL_ENDS, /* at the boundary on its way */
};

struct pull {
	LIST_ENTRY(pull) next;
	struct pull_request request;
	enum pull_state state;
	const struct pulls_report *by; /* from PULL_BEGINS on: whose samples it gets */
	bool is_busy;                  /* somebody works on it without the lock, and keeps it */
	uint64_t started_ns, started_real_ns, ended_ns;
	struct report *report;
	struct totals totals; /* of its own samples */
	char *text;
	size_t size;
	FILE *to;
	int err;
	void (*done)(void *arg);
	void *arg;
};

struct pulls {
	/* Protects the list and the states. Who reads the rings takes it: it is held only briefly. */
	pthread_mutex_t lock;
	pthread_cond_t rests; /* a pull is no longer busy */
	LIST_HEAD(pull_list, pull) list;
	size_t n;
	bool is_closed;
	void (*wake)(void *arg);
	void *arg;
};

struct pulls_report {
	struct report report;
	struct pulls *pulls;
	const struct window *window;
	struct process_labels *labels;
};

int pulls_new(void (*wake)(void *arg), void *arg, struct pulls **ret)
{
	struct pulls *p = calloc(1, sizeof(*p));

	*ret = p;
	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->rests, NULL);
	LIST_INIT(&p->list);
	p->wake = wake;
	p->arg = arg;
	return 0;
}

/* One that is busy, by who made it so. Takes the lock. */
static void complete(struct pulls *p, struct pull *pull, int err)
{
	pull->err = err;
	pull->report = report_free(pull->report);
	if (pull->to && fclose(pull->to) != 0 && err == 0)
		pull->err = -ENOMEM;
	pull->to = NULL;
	pthread_mutex_lock(&p->lock);
	LIST_REMOVE(pull, next);
	p->n--;
	pull->done(pull->arg);
	pthread_cond_broadcast(&p->rests);
	pthread_mutex_unlock(&p->lock);
}

/* Returns one that is to be failed, and is busy from now on. is_gone: NULL: any. */
static struct pull *claim_failed(struct pulls *p, bool (*is_gone)(void *arg))
{
	struct pull *pull;

	pthread_mutex_lock(&p->lock);
	LIST_FOREACH(pull, &p->list, next)
	if (!pull->is_busy && (!is_gone || is_gone(pull->arg)))
		break;
	if (pull)
		pull->is_busy = true;
	pthread_mutex_unlock(&p->lock);
	return pull;
}

bool pulls_try_close(struct pulls *p)
{
	struct pull *pull;
	bool is_empty;

	pthread_mutex_lock(&p->lock);
	p->is_closed = true;
	pthread_mutex_unlock(&p->lock);
	while ((pull = claim_failed(p, NULL)))
		complete(p, pull, -ESHUTDOWN);
	pthread_mutex_lock(&p->lock);
	is_empty = LIST_EMPTY(&p->list);
	pthread_mutex_unlock(&p->lock);
	return is_empty;
}

void pulls_close(struct pulls *p)
{
	while (!pulls_try_close(p)) {
		pthread_mutex_lock(&p->lock);
		if (!LIST_EMPTY(&p->list))
			pthread_cond_wait(&p->rests, &p->lock);
		pthread_mutex_unlock(&p->lock);
	}
}

void pulls_open(struct pulls *p)
{
	pthread_mutex_lock(&p->lock);
	p->is_closed = false;
	pthread_mutex_unlock(&p->lock);
}

struct pulls *pulls_free(struct pulls *p)
{
	if (!p)
		return NULL;
	pthread_cond_destroy(&p->rests);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return NULL;
}

int pulls_ask(struct pulls *p, const struct pull_request *request, void (*done)(void *arg),
	      void *arg, struct pull **ret)
{
	struct pull *pull = calloc(1, sizeof(*pull));
	int err = 0;

	if (!pull)
		return -ENOMEM;
	pull->request = *request;
	pull->done = done;
	pull->arg = arg;
	*ret = pull;
	pthread_mutex_lock(&p->lock);
	if (p->is_closed) {
		err = -ESHUTDOWN;
	} else if (p->n < PULLS_MAX) {
		LIST_INSERT_HEAD(&p->list, pull, next);
		p->n++;
	} else {
		err = -EBUSY;
	}
	pthread_mutex_unlock(&p->lock);
	if (err == 0)
		p->wake(p->arg);
	else
		pull_free(pull);
	return err;
}

void pulls_drop(struct pulls *p, bool (*is_gone)(void *arg))
{
	struct pull *pull;

	while ((pull = claim_failed(p, is_gone)))
		complete(p, pull, -ECANCELED);
}

int pull_result(const struct pull *pull, const char **ret, size_t *ret_size)
{
	*ret = pull->text;
	*ret_size = pull->size;
	return pull->err;
}

void pull_free(struct pull *pull)
{
	free(pull->text);
	free(pull);
}

uint64_t pulls_due(struct pulls *p)
{
	uint64_t due = UINT64_MAX;
	struct pull *pull;

	pthread_mutex_lock(&p->lock);
	LIST_FOREACH(pull, &p->list, next)
	{
		uint64_t end = pull->started_ns + pull->request.duration_ns;

		if (pull->state == PULL_ASKED)
			due = 0;
		else if (pull->state == PULL_RUNS && end < due)
			due = end;
	}
	pthread_mutex_unlock(&p->lock);
	return due;
}

void pulls_plan(struct report *report, uint64_t now_ns, uint64_t now_real_ns)
{
	struct pulls_report *r = (struct pulls_report *)report;
	struct pulls *p = r->pulls;
	struct pull *pull;

	pthread_mutex_lock(&p->lock);
	LIST_FOREACH(pull, &p->list, next)
	{
		if (pull->state == PULL_ASKED) {
			pull->state = PULL_BEGINS;
			pull->by = r;
			pull->started_ns = now_ns;
			pull->started_real_ns = now_real_ns;
		} else if (pull->by == r && pull->state == PULL_RUNS &&
			   now_ns >= pull->started_ns + pull->request.duration_ns) {
			pull->state = PULL_ENDS;
			pull->ended_ns = now_ns;
		}
	}
	pthread_mutex_unlock(&p->lock);
}

static int begin(struct pull *pull, const struct report_context *context)
{
	struct report_context own = *context;

	own.started_ns = pull->started_ns;
	own.started_real_ns = pull->started_real_ns;
	if (!pull->request.blocked)
		own.events &= ~EVENT_BIT(DP_EVENT_OFF_CPU);
	if (own.events == 0)
		return -ENODATA;
	pull->to = open_memstream(&pull->text, &pull->size);
	if (!pull->to)
		return -ENOMEM;
	return report_new(report_format_by_name(pull->request.format), &own, pull->to,
			  &pull->report);
}

/* Looks up the names of what was sampled. Without the lock. */
static int finish(struct pull *pull, uint64_t ended_ns)
{
	if (!pull->report)
		return -ECANCELED; /* the run ended before it began */
	if (pull->err < 0)
		return pull->err;
	pull->totals.duration_ns = ended_ns - pull->started_ns;
	return report_finish(pull->report, &pull->totals);
}

/* With the lock. One that is busy is being failed. */
static struct pull *find(const struct pulls_report *r, enum pull_state state)
{
	struct pull *pull;

	LIST_FOREACH(pull, &r->pulls->list, next)
	if (pull->by == r && pull->state == state && !pull->is_busy)
		break;
	return pull;
}

/* Returns one in that state, which nobody else completes from now on. */
static struct pull *claim(const struct pulls_report *r, enum pull_state state)
{
	struct pull *pull;

	pthread_mutex_lock(&r->pulls->lock);
	pull = find(r, state);
	if (pull)
		pull->is_busy = true;
	pthread_mutex_unlock(&r->pulls->lock);
	return pull;
}

static void add_lost(const struct pulls_report *r, const struct totals *totals)
{
	struct pull *pull;

	pthread_mutex_lock(&r->pulls->lock);
	LIST_FOREACH(pull, &r->pulls->list, next)
	{
		if (pull->by != r || pull->state == PULL_BEGINS)
			continue;
		pull->totals.lost += totals->lost;
		pull->totals.lost_ns += totals->lost_ns;
	}
	pthread_mutex_unlock(&r->pulls->lock);
}

/* Without a pull that runs, the report keeps nothing. */
static void note_streams(struct pulls_report *r)
{
	pthread_mutex_lock(&r->pulls->lock);
	r->report.streams = !find(r, PULL_RUNS);
	pthread_mutex_unlock(&r->pulls->lock);
}

int pulls_taken(void *arg, struct report *report, const struct totals *totals)
{
	struct pulls_report *r = (struct pulls_report *)report;
	struct pulls *p = r->pulls;
	struct pull *pull;
	int err;

	add_lost(r, totals);
	while ((pull = claim(r, PULL_ENDS)))
		complete(p, pull, finish(pull, pull->ended_ns));
	while ((pull = claim(r, PULL_BEGINS))) {
		err = begin(pull, &report->context);
		if (err < 0) {
			complete(p, pull, err);
			continue;
		}
		pthread_mutex_lock(&p->lock);
		pull->state = PULL_RUNS;
		pull->is_busy = false;
		pthread_cond_broadcast(&p->rests);
		pthread_mutex_unlock(&p->lock);
	}
	note_streams(r);
	return 0;
}

static bool is_in_cgroup(struct process_labels *labels, const struct sample *s, const char *cgroup)
{
	const char *path = process_labels_cgroup(labels, s);

	return path && cgroup_path_is_below(path, cgroup);
}

static bool is_wanted(const struct pull_request *q, struct process_labels *labels,
		      const struct sample *s)
{
	if ((!q->blocked && s->event == DP_EVENT_OFF_CPU) || (q->pid && s->pid != q->pid))
		return false;
	return (!q->comm[0] || strcmp(s->comm, q->comm) == 0) &&
	       (!q->cgroup[0] || is_in_cgroup(labels, s, q->cgroup));
}

/* May read /proc. own: the part of the sample in the run's time. */
static void add_to(struct pull *pull, struct process_labels *labels, const struct sample *s,
		   const struct sample *own)
{
	if (pull->err < 0 || !is_wanted(&pull->request, labels, s))
		return;
	totals_count(&pull->totals, own);
	pull->err = report_add(pull->report, own, &pull->totals);
}

/* Returns the next one that gets samples, which is busy until the call after this; NULL: there is none. */
static struct pull *next_running(const struct pulls_report *r, struct pull *pull)
{
	struct pulls *p = r->pulls;

	pthread_mutex_lock(&p->lock);
	if (pull) {
		pull->is_busy = false;
		pthread_cond_broadcast(&p->rests);
	}
	pull = pull ? LIST_NEXT(pull, next) : LIST_FIRST(&p->list);
	while (pull && (pull->by != r || pull->is_busy ||
			(pull->state != PULL_RUNS && pull->state != PULL_ENDS)))
		pull = LIST_NEXT(pull, next);
	if (pull)
		pull->is_busy = true;
	pthread_mutex_unlock(&p->lock);
	return pull;
}

static int pulls_add(struct report *report, const struct sample *sample,
		     const struct totals *totals)
{
	struct pulls_report *r = (struct pulls_report *)report;
	struct sample own = *sample;
	struct totals out = { 0 };
	struct pull *pull = NULL;

	if (report->streams || !window_cut(r->window, &own, &out))
		return 0;
	while ((pull = next_running(r, pull)))
		add_to(pull, r->labels, sample, &own);
	return 0;
}

int pulls_report_new(struct pulls *p, const struct report_context *context,
		     const struct window *window, struct process_labels *labels,
		     struct report **ret)
{
	struct pulls_report *r = calloc(1, sizeof(*r));

	*ret = r ? &r->report : NULL;
	if (!r)
		return -ENOMEM;
	r->report.context = *context;
	r->report.streams = true;
	r->report.add = pulls_add;
	r->pulls = p;
	r->window = window;
	r->labels = labels;
	return 0;
}

void pulls_report_free(struct report *report, const struct totals *totals)
{
	struct pulls_report *r = (struct pulls_report *)report;
	uint64_t ended = report->context.started_ns + totals->duration_ns;
	struct pull *pull;

	add_lost(r, totals);
	for (enum pull_state state = PULL_BEGINS; state <= PULL_ENDS; state++)
		while ((pull = claim(r, state)))
			complete(r->pulls, pull,
				 finish(pull, ended > pull->started_ns ? ended : pull->started_ns));
	free(r);
}
