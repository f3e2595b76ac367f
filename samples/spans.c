// SPDX-License-Identifier: Apache-2.0
#include "samples/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "limits/limits.h"
#include "samples/call_table.h"
#include "samples/label_values.h"
#include "samples/redaction.h"
#include "samples/value_table.h"

#define UNKNOWN "<unknown>"

struct span_id {
	uint64_t begin_ns, tid;
};

struct span_call {
	struct span_id id;
	struct span_call *next;   /* of its thread's that are not known to be over */
	uint64_t seen_ns;         /* when a sample has last met it; 0: none has been seen */
	uint64_t root;            /* its stack; 0: not known */
	uint64_t over_ns;         /* by when it was over; 0: not known to be */
	enum dp_span_how how;     /* that was found */
	struct label_set *labels; /* NULL: its values are not known */
	uint64_t min_ns;          /* of an added probe: the least time */
	size_t n_waiting;         /* samples */
	UT_hash_handle hh;
};

struct span_thread {
	pid_t tid;
	struct span_call *open;
	UT_hash_handle hh;
};

enum span_state {
	SPAN_OPEN, /* not known yet */
	SPAN_LONG,
	SPAN_SHORT,
	SPAN_LOST, /* will not be known */
};

static uint64_t seen_time(const struct span_call *c)
{
	return c->seen_ns > c->id.begin_ns ? c->seen_ns - c->id.begin_ns : 0;
}

static enum span_state state_of(const struct spans *s, const struct span_call *c,
				uint64_t settled_ns)
{
	const uint64_t most = c->over_ns - c->id.begin_ns;
	const uint64_t min_ns = s->are_added ? c->min_ns : s->min_ns;

	/* First: a sample may meet it while it returns. */
	if (c->over_ns && c->how == DP_SPAN_RETURNED)
		return most >= min_ns ? SPAN_LONG : SPAN_SHORT;
	if (seen_time(c) >= min_ns)
		return SPAN_LONG;
	if (c->over_ns == 0)
		return SPAN_OPEN;
	if (c->how == DP_SPAN_REPLACED && most < min_ns)
		return SPAN_SHORT;
	/* Samples of it may still come. */
	return c->over_ns < settled_ns ? SPAN_LOST : SPAN_OPEN;
}

static struct span_call *find(const struct spans *s, pid_t tid, uint64_t begin_ns)
{
	const struct span_id id = { begin_ns, (uint64_t)tid };
	struct span_call *c;

	HASH_FIND(hh, s->calls, &id, sizeof(id), c);
	return c;
}

static struct span_thread *find_thread(const struct spans *s, pid_t tid)
{
	struct span_thread *t;

	HASH_FIND(hh, s->threads, &tid, sizeof(tid), t);
	return t;
}

static int meet_thread(struct spans *s, pid_t tid, struct span_thread **ret)
{
	struct span_thread *t = find_thread(s, tid);

	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t)
			return -ENOMEM;
		t->tid = tid;
		HASH_ADD(hh, s->threads, tid, sizeof(t->tid), t);
		if (!HASH_IS_ADDED(hh, t)) {
			free(t);
			return -ENOMEM;
		}
	}
	*ret = t;
	return 0;
}

static void drop_thread(struct spans *s, struct span_thread *t)
{
	if (!t || t->open)
		return;
	HASH_DEL(s->threads, t);
	free(t);
}

/* Finds a call, or notes a new one. */
static int meet(struct spans *s, pid_t tid, uint64_t begin_ns, struct span_call **ret)
{
	struct span_call *c = find(s, tid, begin_ns);
	struct span_thread *t;
	int err = 0;

	*ret = c;
	if (c)
		return 0;
	err = meet_thread(s, tid, &t);
	if (err < 0)
		return err;
	c = calloc(1, sizeof(*c));
	if (c) {
		c->id = (struct span_id){ begin_ns, (uint64_t)tid };
		HASH_ADD(hh, s->calls, id, sizeof(c->id), c);
	}
	if (!c || !HASH_IS_ADDED(hh, c)) {
		free(c);
		drop_thread(s, t);
		return -ENOMEM;
	}
	c->next = t->open;
	t->open = c;
	*ret = c;
	return 0;
}

static void unlink_call(struct spans *s, const struct span_call *c)
{
	struct span_thread *t = find_thread(s, (pid_t)c->id.tid);
	struct span_call **at = t ? &t->open : NULL;

	while (at && *at && *at != c)
		at = &(*at)->next;
	if (at && *at)
		*at = c->next;
	drop_thread(s, t);
}

/* What a return says is exact; else, the first news count. */
static void end(struct spans *s, struct span_call *c, enum dp_span_how how, uint64_t over_ns)
{
	if (c->over_ns == 0)
		unlink_call(s, c);
	else if (how != DP_SPAN_RETURNED)
		return;
	c->how = how;
	c->over_ns = over_ns;
}

static void drop_call(struct spans *s, struct span_call *c)
{
	if (c->over_ns == 0)
		unlink_call(s, c);
	HASH_DEL(s->calls, c);
	label_set_free(c->labels);
	free(c);
}

void spans_done(struct spans *s)
{
	struct span_call *c, *next;

	while (s->first) {
		struct owned_sample *kept = s->first;

		s->first = kept->next;
		owned_sample_free(kept);
	}
	HASH_ITER(hh, s->calls, c, next)
		drop_call(s, c);
	s->unknown = label_set_free(s->unknown);
}

static int add_name(struct label_list *list, const char *name)
{
	return label_list_add(list, &(struct label){ .key = SPANS_LABEL, .text = name });
}

/* Of the probe that has read the values. */
static int add_name_of(const struct spans *s, const struct dp_values *values,
		       struct label_list *list)
{
	const char *probe;
	int err;

	if (!s->are_added)
		return add_name(list, s->name);
	err = value_table_lock(s->values->added, values->list, &probe) ? add_name(list, probe) : 0;
	value_table_unlock(s->values->added);
	return err;
}

/* The labels of samples in a call; values NULL: in one that is not known. */
static int make_labels(const struct spans *s, const struct dp_values *values,
		       struct label_set **ret)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	int err = value_labels_add_call(s->values, values, &list);

	if (err == 0 && s->redaction)
		err = redaction_apply(s->redaction, &list);
	if (err == 0)
		err = values ? add_name_of(s, values, &list) : add_name(&list, UNKNOWN);
	return err < 0 ? err : label_set_new(&list, ret);
}

static const struct call_period *lock_period(const struct spans *s, const struct sample *sample)
{
	const struct call_period *all[DP_MAX_LABEL_PROBES];

	return call_table_lock(s->values->calls, sample->time_ns, (uint32_t)sample->pid, all);
}

/* Of a sample in a call of an added probe that is not known. */
static int make_unknown(const struct spans *s, const struct sample *sample, struct label_set **ret)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	const struct call_period *period = lock_period(s, sample);
	int err = period ? value_labels_add_unknown(&period->forms, &list) : 0;

	call_table_unlock(s->values->calls);
	if (err == 0)
		err = add_name(&list, UNKNOWN);
	return err < 0 ? err : label_set_new(&list, ret);
}

int spans_on_begin(struct spans *s, const struct dp_span_begin *begin)
{
	const struct dp_values *values = (const void *)(begin + 1);
	struct span_call *c;
	int err;

	if (begin->part.size < sizeof(*begin) + sizeof(*values) ||
	    values->part.size < sizeof(*values) ||
	    values->part.size > begin->part.size - sizeof(*begin) || begin->begin_ns == 0)
		return -EBADMSG;
	err = meet(s, (pid_t)begin->tid, begin->begin_ns, &c);
	if (err == 0 && !c->labels)
		err = make_labels(s, values, &c->labels);
	return err;
}

int spans_on_end(struct spans *s, const struct dp_span_end *record)
{
	struct span_call *c;
	int err;

	if (record->part.size < sizeof(*record) || record->how >= DP_N_SPAN_HOWS ||
	    record->begin_ns == 0 || record->end_ns < record->begin_ns)
		return -EBADMSG;
	err = meet(s, (pid_t)record->tid, record->begin_ns, &c);
	if (err == 0)
		end(s, c, (enum dp_span_how)record->how, record->end_ns);
	return err;
}

static bool has(const struct span_list *calls, uint64_t begin_ns)
{
	for (size_t i = 0; i < calls->n; i++)
		if (calls->begins[i] == begin_ns)
			return true;
	return false;
}

/* Calls that would be on this stack are not. */
static void end_others(struct spans *s, pid_t tid, const struct span_list *calls, uint64_t time_ns)
{
	struct span_thread *t = find_thread(s, tid);
	struct span_call *c = t ? t->open : NULL, *next;

	/* One that is not known may be any of them. */
	if (calls->root == 0 || has(calls, 0))
		return;
	for (; c; c = next) {
		next = c->next;
		if (c->root == calls->root && c->seen_ns < time_ns && !has(calls, c->id.begin_ns))
			end(s, c, DP_SPAN_REPLACED, time_ns);
	}
}

int spans_see(struct spans *s, pid_t tid, const struct span_list *calls, uint64_t time_ns)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < calls->n; i++) {
		struct span_call *c;

		if (calls->begins[i] == 0)
			continue;
		err = meet(s, tid, calls->begins[i], &c);
		if (err < 0)
			break;
		if (c->seen_ns < time_ns)
			c->seen_ns = time_ns;
		if (calls->root)
			c->root = calls->root;
	}
	if (err == 0)
		end_others(s, tid, calls, time_ns);
	return err;
}

/* Of the probe of the sample's time, if there is one. */
static int find_added(struct spans *s, const struct dp_spans *raw, const struct snapshot *snapshot,
		      const struct sample *sample, struct span_list *ret)
{
	const struct call_period *period = lock_period(s, sample);
	uint64_t min_ns = period ? period->min_ns : 0;
	int err;

	*ret = (struct span_list){ 0 };
	if (period)
		span_list_take(&period->code, raw, snapshot, sample, ret);
	call_table_unlock(s->values->calls);
	err = spans_see(s, sample->tid, ret, sample->time_ns);
	for (size_t i = 0; err == 0 && i < ret->n; i++) {
		struct span_call *c = find(s, sample->tid, ret->begins[i]);

		if (c)
			c->min_ns = min_ns;
	}
	return err;
}

int spans_find(struct spans *s, const struct dp_spans *raw, const struct snapshot *snapshot,
	       const struct sample *sample, struct span_list *ret)
{
	if (s->are_added)
		return find_added(s, raw, snapshot, sample, ret);
	span_list_take(s->code, raw, snapshot, sample, ret);
	return spans_see(s, sample->tid, ret, sample->time_ns);
}

static void count_waiting(struct spans *s, const struct owned_sample *kept, bool waits)
{
	for (size_t i = 0; i < kept->calls.n; i++) {
		struct span_call *c = find(s, kept->sample.tid, kept->calls.begins[i]);

		if (c && waits)
			c->n_waiting++;
		else if (c)
			c->n_waiting--;
		if (c && c->min_ns > s->min_ns)
			s->min_ns = c->min_ns;
	}
}

int spans_keep(struct spans *s, struct owned_sample *kept)
{
	if (kept->calls.n == 0 && !s->are_added) {
		s->n_outside++;
		owned_sample_free(kept);
		return 0;
	}
	/* What has waited long ago does not make others wait. */
	if (s->are_added && !s->first)
		s->min_ns = 0;
	kept->next = NULL;
	if (s->first)
		s->last->next = kept;
	else
		s->first = kept;
	s->last = kept;
	s->n_bytes += kept->size;
	count_waiting(s, kept, true);
	return 0;
}

enum verdict {
	VERDICT_WAIT,
	VERDICT_INSIDE,
	VERDICT_UNKNOWN,
	VERDICT_OUTSIDE,
};

/*
 * Of the calls that took long enough, the innermost counts: *ret, number *ret_i. A call within a short one was
 * short, whatever is known of it.
 */
static enum verdict judge(const struct spans *s, const struct owned_sample *kept,
			  uint64_t settled_ns, bool may_wait, const struct span_call **ret,
			  size_t *ret_i)
{
	enum verdict verdict = VERDICT_OUTSIDE;

	for (size_t i = 0; i < kept->calls.n; i++) {
		uint64_t begin_ns = kept->calls.begins[i];
		const struct span_call *c = begin_ns ? find(s, kept->sample.tid, begin_ns) : NULL;
		enum span_state state = c ? state_of(s, c, settled_ns) : SPAN_LOST;

		if (state == SPAN_SHORT) {
			verdict = VERDICT_OUTSIDE;
			continue;
		}
		if (state == SPAN_LONG && verdict != VERDICT_OUTSIDE)
			return verdict;
		if (state == SPAN_LONG) {
			*ret = c->labels ? c : NULL;
			*ret_i = i;
			return c->labels ? VERDICT_INSIDE : VERDICT_UNKNOWN;
		}
		if (state == SPAN_OPEN && may_wait)
			verdict = VERDICT_WAIT;
		else if (verdict == VERDICT_OUTSIDE)
			verdict = VERDICT_UNKNOWN;
	}
	return verdict;
}

/*
 * Leaves the mark of a call's frame alone, of all that may be of calls (value_labels_mark()). Some calls may have
 * no such frame: the first in code that is not known to be of the function, the last behind the end of the walk.
 */
static void mark_call(struct owned_sample *kept, const struct span_call *call, size_t i)
{
	const struct span_list *calls = &kept->calls;
	size_t n = 0, number = SIZE_MAX, is_hidden;

	for (size_t j = 0; j < kept->sample.n_user; j++)
		n += kept->frames[j].probe == VALUE_LABELS_SPAN;
	is_hidden = calls->n == n + 1 && calls->begins[0] == 0;
	if (call && (calls->n == n || is_hidden || (calls->n == n + 1 && calls->begins[n] == 0)))
		number = i - is_hidden;
	for (size_t j = 0, at = 0; j < kept->sample.n_user; j++)
		if (kept->frames[j].probe == VALUE_LABELS_SPAN && at++ != number)
			kept->frames[j].probe = 0;
}

/* Reports a sample with the labels of its call; NULL: which one is not known. */
static int pass_on(struct spans *s, const struct owned_sample *kept, const struct span_call *call,
		   int (*report)(void *arg, const struct sample *sample), void *arg)
{
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	struct sample sample = kept->sample;
	int err = 0;

	if (!call && s->are_added)
		s->unknown = label_set_free(s->unknown);
	if (!call && s->are_added)
		err = make_unknown(s, &sample, &s->unknown);
	else if (!call && !s->unknown)
		err = make_labels(s, NULL, &s->unknown);
	if (err == 0)
		err = label_set_join(sample.labels, call ? call->labels : s->unknown, &labels);
	if (err < 0)
		return err;
	sample.labels = labels;
	s->n_unknown += !call && !s->are_added;
	return report(arg, &sample);
}

/* When all of it had been measured. */
static uint64_t time_of(const struct sample *sample)
{
	return sample->time_ns + (sample->event == DP_EVENT_OFF_CPU ? sample->value_ns : 0);
}

int spans_release(struct spans *s, uint64_t settled_ns, uint64_t before_ns,
		  int (*report)(void *arg, const struct sample *sample), void *arg)
{
	int err = 0;

	while (err == 0 && s->first) {
		_cleanup_(owned_sample_freep) struct owned_sample *kept = NULL;
		const struct span_call *call = NULL;
		size_t i = 0;
		bool may_wait =
			time_of(&s->first->sample) >= before_ns && s->n_bytes <= SPANS_MAX_BYTES;
		enum verdict verdict = judge(s, s->first, settled_ns, may_wait, &call, &i);

		if (verdict == VERDICT_WAIT)
			break;
		kept = s->first;
		s->first = kept->next;
		s->n_bytes -= kept->size;
		mark_call(kept, call, i);
		if (verdict == VERDICT_OUTSIDE && s->are_added)
			err = report(arg, &kept->sample);
		else if (verdict == VERDICT_OUTSIDE)
			s->n_outside++;
		else
			err = pass_on(s, kept, call, report, arg);
		count_waiting(s, kept, false);
	}
	return err;
}

/*
 * The kernel has counted those that have returned. The end of one that no sample has met is news of one that was
 * known to be over, and counted.
 */
static void count_left(struct spans *s, const struct span_call *c)
{
	if ((c->over_ns && c->how == DP_SPAN_RETURNED) || c->seen_ns == 0)
		return;
	s->times.n_left[dp_span_step(seen_time(c))]++;
	s->times.n_long += seen_time(c) >= s->min_ns;
}

void spans_forget(struct spans *s, uint64_t settled_ns)
{
	bool is_final = settled_ns == UINT64_MAX;
	bool are_many = HASH_COUNT(s->calls) > SPANS_MAX_CALLS;
	struct span_call *c, *next;

	HASH_ITER(hh, s->calls, c, next) {
		bool is_over = c->over_ns && c->over_ns < settled_ns;
		bool is_old = are_many && c->seen_ns + SPANS_WAIT_NS < settled_ns;

		if (c->n_waiting > 0 || !(is_over || is_old || is_final))
			continue;
		count_left(s, c);
		drop_call(s, c);
	}
}
