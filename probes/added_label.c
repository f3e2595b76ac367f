// SPDX-License-Identifier: Apache-2.0
#include "probes/added_label.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "log/clock.h"
#include "log/log.h"
#include "probes/added_probe.h"
#include "probes/call_places.h"
#include "probes/probe_lists.h"
#include "probes/probe_parts.h"
#include "samples/call_table.h"

struct added_label {
	struct probed_code code;
	struct value_forms forms; /* of the first list: what calls are called that are not known */
	char *name;               /* of a span; NULL: it is none */
	char *path, *function;    /* for messages */
	uint64_t min_ns;
	unsigned int number;     /* among those that are on (call_table.h) */
	struct probe_links ends; /* where calls of a span end */
};

static bool is_span(const struct probe_wish *wish)
{
	return strcmp(wish->kind, PROBE_SPAN) == 0;
}

bool added_label_is_wanted(const struct probe_wish *wish)
{
	return is_span(wish) || strcmp(wish->kind, PROBE_LABEL) == 0;
}

static int set_names(const struct probe_wish *wish, const struct probe_parts *parts,
		     struct added_label *l)
{
	l->path = strdup(parts->path);
	l->function = strdup(parts->name);
	if (is_span(wish))
		l->name = strdup(wish->name ?: parts->name);
	return l->path && l->function && (l->name || !is_span(wish)) ? 0 : -ENOMEM;
}

int added_label_new(const struct added_means *means, const struct uprobe_reader *reader,
		    const struct probe_wish *wish, const struct probe_parts *parts, uint64_t min_ns,
		    struct added_probe *p, struct probe_lists *ret_lists)
{
	int err;

	p->label = calloc(1, sizeof(*p->label));
	if (!p->label)
		return -ENOMEM;
	p->label->min_ns = min_ns;
	err = set_names(wish, parts, p->label);
	if (err == 0)
		err = call_places_find(means->parsers, reader, parts, is_span(wish), &p->places,
				       ret_lists, &p->label->code);
	p->label->code.places.are_timed = is_span(wish);
	if (err == 0 && ret_lists->n > 0)
		p->label->forms = ret_lists->forms[0];
	return err;
}

const char *added_label_name(const struct added_label *label)
{
	return label->name ?: "";
}

struct added_label *added_label_free(struct added_label *label)
{
	if (!label)
		return NULL;
	free(label->code.maybe);
	free(label->name);
	free(label->path);
	free(label->function);
	free(label);
	return NULL;
}

static void explain(int err)
{
	if (err == -EBUSY)
		log_error(
			"too many probes label samples (%d can, or one span:): remove or disable one",
			DP_MAX_LABEL_PROBES);
	else if (err == -EEXIST)
		log_error(
			"another probe labels samples by calls of this function: remove it, and add "
			"one with the values of both");
	else if (err == -ENOTUNIQ)
		log_error(
			"a value of another probe that labels samples has the same name: give one "
			"another name, NAME=VALUE");
	else if (err == -E2BIG)
		log_error("probes that label samples were set %d times in the last minute: wait",
			  CALL_TABLE_SIZE);
	else if (err < 0)
		log_error("%s", strerror(-err));
}

/* Only a probe that is on has a period. */
static int prepare(const struct added_means *means, const struct added_probe *p)
{
	struct call_period period = {
		.code = p->label->code,
		.forms = p->label->forms,
		.is_timed = p->label->name != NULL,
		.min_ns = p->label->min_ns,
		.n_pids = p->counts.n_pids,
	};
	unsigned int number;
	int err;

	memcpy(period.pids, p->counts.pids, sizeof(period.pids));
	err = call_table_prepare(means->calls, &period, clock_now_ns(), &number);
	if (err == 0)
		p->label->number = number;
	explain(err);
	return err;
}

/* Before the calls' own places: a call whose begin is seen is to be seen to end. */
static int attach_ends(const struct added_means *means, struct added_probe *p,
		       const struct uprobe_places *places, const unsigned int *pids, size_t n_pids)
{
	const struct probe_parts parts = { .path = p->label->path, .name = p->label->function };
	_cleanup_(call_ends_done) struct call_ends ends;
	int err = call_ends_find(&parts, places, &ends);

	return err < 0 ? err :
			 probe_slots_attach(means->slots, PROBE_ENDS_CALL, &ends.places, pids,
					    n_pids, &p->label->ends);
}

/* Of the calls' places, with the ids that they have now. */
static int attach(const struct added_means *means, struct added_probe *p, const unsigned int *pids,
		  size_t n_pids)
{
	struct uprobe_places places = p->places;
	_cleanup_free_ uint64_t *cookies = malloc((places.n + places.n_more) * sizeof(*cookies));
	int err;

	if (!cookies)
		return -ENOMEM;
	for (size_t i = 0; i < places.n; i++) {
		uint64_t list = p->places.cookies[i] & UINT16_MAX;

		cookies[i] = DP_PROBE_COOKIE(DP_SPAN_COOKIE(list, p->label->code.places.of[i].id),
					     p->slot);
	}
	for (size_t i = places.n; i < places.n + places.n_more; i++)
		cookies[i] = p->places.cookies[i];
	places.cookies = cookies;
	err = p->label->name ? attach_ends(means, p, &places, pids, n_pids) : 0;
	return err < 0 ? err :
			 probe_slots_attach(means->slots, PROBE_LABELS_SAMPLES, &places, pids,
					    n_pids, &p->links);
}

int added_label_begin(const struct added_means *means, struct added_probe *p,
		      const unsigned int *pids, size_t n_pids)
{
	int err = prepare(means, p);

	if (err < 0)
		return err;
	err = probe_slots_set_code(means->slots, p->slot, p->label->number, p->places.n,
				   &p->label->code.places);
	if (err == -ENOSPC)
		log_error(
			"all probes together can label samples by calls of at most %d functions: remove or "
			"disable one",
			DP_MAX_SPAN_PLACES);
	else if (err < 0)
		log_error("cannot set the probe: %s", strerror(-err));
	else
		err = attach(means, p, pids, n_pids);
	if (err < 0) {
		added_label_end(means, p);
		return err;
	}
	call_table_place(means->calls, p->label->number, &p->label->code.places);
	call_table_begin(means->calls, p->label->number, clock_now_ns());
	return 0;
}

void added_label_end(const struct added_means *means, struct added_probe *p)
{
	call_table_end(means->calls, p->label->number, clock_now_ns());
	probe_slots_drop_code(means->slots, p->slot);
	/* In this order: the end of a call that has begun unseen would seem to be that of an earlier one. */
	probe_links_close(&p->label->ends);
	probe_links_close(&p->links);
}
