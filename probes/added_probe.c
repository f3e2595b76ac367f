// SPDX-License-Identifier: Apache-2.0
#include "probes/added_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "elf/function_list.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "probes/added_label.h"
#include "probes/label_probe.h"
#include "probes/probe_catalog.h"
#include "probes/probe_file.h"
#include "probes/probe_lists.h"
#include "probes/probe_parts.h"
#include "probes/probe_places.h"
#include "probes/probe_server.h"
#include "samples/value_table.h"
#include "sandbox/parsers.h"

/* Of this key, a sample has the name of its probe alone (label_values.c). */
static int check_keys(const struct arguments *arguments)
{
	for (size_t i = 0; i < arguments->n; i++) {
		if (strcmp(arguments->of[i].form.name, VALUE_TABLE_PROBE) != 0)
			continue;
		log_error("the name " VALUE_TABLE_PROBE
			  " is reserved for the probe; give the value another one, NAME=VALUE");
		return -EINVAL;
	}
	return 0;
}

/* min_ns: of a span */
static int split_text(const struct probe_wish *wish, enum probe_kind kind, struct probe_parts *ret,
		      uint64_t *ret_min_ns, char ret_why[ARGUMENTS_WHY_SIZE])
{
	_cleanup_free_ char *probe = strdup(wish->probe);
	const bool is_span = strcmp(wish->kind, PROBE_SPAN) == 0;
	int err = probe ? 0 : -ENOMEM;

	ret_why[0] = '\0';
	if (err == 0 && is_span)
		err = label_probe_take_min(probe, ret_min_ns, ret_why);
	if (err == 0)
		err = probe_parts_make(wish->path, probe, kind, ret, ret_why);
	if (err == 0 && added_label_is_wanted(wish))
		err = label_probe_check_parts(ret, is_span, ret_why);
	return err;
}

static int split(const struct probe_wish *wish, struct probe_parts *ret, uint64_t *ret_min_ns)
{
	char why[ARGUMENTS_WHY_SIZE];
	enum probe_kind kind;
	int err;

	*ret = (struct probe_parts){ 0 };
	if (!probe_kind_find(wish->kind, strlen(wish->kind), &kind)) {
		log_error("%s: " PROBE_KINDS_ERROR, wish->kind);
		return -EINVAL;
	}
	/* Who has all of the few keeps others from theirs. */
	if (added_label_is_wanted(wish) && wish->user != 0) {
		log_error("only root may add label and span probes, as there are few");
		return -EPERM;
	}
	err = split_text(wish, kind, ret, ret_min_ns, why);
	if (err == 0 && arguments_have_time(&ret->arguments)) {
		log_error("only -e uretprobe: has `time'");
		return -EINVAL;
	}
	if (err == 0)
		return check_keys(&ret->arguments);
	log_error("%s:%s:%s: %s", wish->kind, wish->path, wish->probe,
		  why[0] ? why : strerror(-err));
	return err;
}

/* The file is the one that was given, whatever has its path now. */
struct source {
	struct parsers *parsers;
	int fd;
	uid_t user; /* who has given it */
};

static int open_given(void *arg, const char *path)
{
	const struct source *s = arg;

	(void)path;
	return probe_file_reopen(s->parsers, s->user, s->fd);
}

static int list_given(void *arg, int fd, const struct function_query *query,
		      struct function_list *ret)
{
	const struct source *s = arg;

	return probe_catalog_list_for(s->parsers, s->user, fd, query, ret);
}

static int find(const struct added_means *means, const struct probe_wish *wish,
		const struct probe_parts *parts, uint64_t min_ns, struct added_probe *p,
		struct probe_lists *lists)
{
	struct source source = { means->parsers, wish->fd, wish->user };
	const struct uprobe_reader reader = { open_given, list_given, parsers_explain, &source,
					      wish->user };

	if (added_label_is_wanted(wish))
		return added_label_new(means, &reader, wish, parts, min_ns, p, lists);
	return probe_places_find(means->parsers, &reader, parts, &p->places, lists);
}

static int add_list(const struct added_means *means, struct added_probe *p,
		    const struct dp_arguments *list, struct value_forms *forms)
{
	const char *probe = p->label ? added_label_name(p->label) : p->name;
	int number = value_table_add(means->values, forms, probe, p->user, clock_now_ns());
	int err;

	if (number == -E2BIG)
		log_error(
			"too many lists of values are, or were just now, in use; at most %d can be",
			DP_MAX_ARGUMENT_LISTS);
	if (number == -EDQUOT)
		log_error("you have, or had within a minute, %d lists of values; others than root "
			  "can have no more",
			  VALUE_TABLE_MAX_OWN);
	if (number < 0)
		return number;
	forms->n = 0; /* the table has them */
	p->lists[p->n_lists++] = (uint32_t)number;
	err = probe_slots_set_list(means->slots, (uint32_t)number, list);
	if (err < 0)
		log_error("cannot set what the probe reads: %s", strerror(-err));
	return err;
}

/* Without values, too: the list tells whose the sample is. */
static int add_empty(const struct added_means *means, struct added_probe *p)
{
	const struct dp_arguments list = { 0 };
	struct value_forms forms = { 0 };

	if (!p->places.cookies)
		p->places.cookies = calloc(p->places.n, sizeof(*p->places.cookies));
	return p->places.cookies ? add_list(means, p, &list, &forms) : -ENOMEM;
}

/* The places' cookies become those of the slot. */
static int take_lists(const struct added_means *means, struct added_probe *p,
		      struct probe_lists *lists)
{
	int err = lists->n == 0 ? add_empty(means, p) : 0;

	for (size_t i = 0; err == 0 && i < lists->n; i++)
		err = add_list(means, p, &lists->lists[i], &lists->forms[i]);
	for (size_t i = 0; err == 0 && i < p->places.n; i++)
		p->places.cookies[i] = DP_PROBE_COOKIE(p->lists[p->places.cookies[i]], p->slot);
	return err;
}

/* Everybody who asks for the list gets them, in one piece. */
static int check_text(const char *what, const char *text, size_t max_size, const char *advice)
{
	_cleanup_free_ char *plain = strdup(text);

	if (!plain)
		return -ENOMEM;
	text_make_plain(plain);
	if (strlen(text) > max_size)
		log_error("%s is longer than %zu bytes%s", what, max_size, advice);
	else if (strcmp(plain, text) != 0)
		log_error("%s has control characters%s", what, advice);
	else
		return 0;
	return -EINVAL;
}

static int write_text(const struct probe_wish *wish, struct added_probe *p)
{
	if (asprintf(&p->text, "%s:%s:%s", wish->kind, wish->path, wish->probe) < 0) {
		p->text = NULL;
		return -ENOMEM;
	}
	return check_text("the probe KIND:PATH:NAME(VALUES)", p->text, PROBE_MAX_TEXT, "");
}

/* Is it one as others than root give? */
static bool has_owner(const char *name)
{
	const size_t digits = strspn(name, "0123456789");

	return digits > 0 && name[digits] == ':';
}

static char *make_name(const struct probe_wish *wish, const struct probe_parts *parts)
{
	char owner[sizeof("4294967295:")] = "", *name;
	int size;

	if (wish->user != 0)
		snprintf(owner, sizeof(owner), "%u:", (unsigned int)wish->user);
	if (wish->name)
		size = asprintf(&name, "%s%s", owner, wish->name);
	else
		size = asprintf(&name, "%s%s:%s:%s", owner, wish->kind, wish->path, parts->name);
	return size < 0 ? NULL : name;
}

static int name(const struct probe_wish *wish, const struct probe_parts *parts,
		struct added_probe *p)
{
	if (wish->user == 0 && wish->name && has_owner(wish->name)) {
		log_error(
			"a number and a colon begin the names of other users' probes: give another "
			"name with --name");
		return -EINVAL;
	}
	p->name = make_name(wish, parts);
	if (!p->name)
		return -ENOMEM;
	return check_text("the probe's name", p->name, PROBE_MAX_NAME, ": give another by --name");
}

static void set_counts(const struct probe_wish *wish, struct dp_probe *ret)
{
	*ret = (struct dp_probe){
		.max_rate = wish->max_rate,
		.max_hits = wish->max_hits,
		.n_pids = wish->n_targets,
		.is_of_user = wish->user != 0,
		.user = wish->user,
		.group = wish->group,
	};
	for (unsigned int i = 0; i < wish->n_targets; i++)
		ret->pids[i] = wish->targets[i].pid;
}

void probe_wish_done(struct probe_wish *wish)
{
	while (wish->n_targets > 0)
		probe_target_close(&wish->targets[--wish->n_targets]);
}

static void take_targets(struct added_probe *p, struct probe_wish *wish)
{
	memcpy(p->targets, wish->targets, wish->n_targets * sizeof(*p->targets));
	wish->n_targets = 0;
}

/* Each may take a descriptor of this process. */
static int check_number(const struct probe_wish *wish, const struct added_probe *p)
{
	const size_t n = p->places.n * p->counts.n_pids;

	if (wish->user == 0 || n <= PROBE_PLACES_OF_USER)
		return 0;
	log_error(
		"%s:%s:%s is at %zu places in all its processes; of others than root, a probe has "
		"at most %d",
		wish->kind, wish->path, wish->probe, n, PROBE_PLACES_OF_USER);
	log_detail("try:  a name that fewer functions have");
	return -E2BIG;
}

/* Others than root say which path theirs has, and are not told what is there. */
static int note_file(const struct probe_wish *wish, struct added_probe *p)
{
	int err = probed_files_add(&p->file, &p->places, wish->user == 0);

	if (err < 0 && err != -ENOMEM)
		log_error("cannot keep %s open: %s", wish->path, strerror(-err));
	return err;
}

static int set(const struct added_means *means, const struct probe_wish *wish,
	       struct added_probe *p)
{
	_cleanup_(probe_parts_done) struct probe_parts parts = { 0 };
	_cleanup_(probe_lists_done) struct probe_lists lists = { 0 };
	uint64_t min_ns = 0;
	int err = write_text(wish, p);

	if (err == 0)
		err = split(wish, &parts, &min_ns);
	if (err == 0)
		err = name(wish, &parts, p);
	if (err == 0)
		err = find(means, wish, &parts, min_ns, p, &lists);
	/* Only calls need it later; whoever has made the file chooses its size. */
	if (!p->label)
		function_list_done(&p->places.functions);
	if (err == 0)
		err = check_number(wish, p);
	if (err == 0)
		err = note_file(wish, p);
	if (err == 0)
		err = take_lists(means, p, &lists);
	if (err == -ENOMEM)
		log_error("%s", strerror(ENOMEM));
	return err < 0 ? err : added_probe_enable(means, p);
}

int added_probe_new(const struct added_means *means, struct probe_wish *wish, unsigned int id,
		    uint32_t slot, struct added_probe **ret)
{
	struct added_probe *p = calloc(1, sizeof(*p));
	int err;

	*ret = NULL;
	if (!p)
		return -ENOMEM;
	p->id = id;
	p->slot = slot;
	p->user = wish->user;
	p->places = UPROBE_PLACES_NONE;
	p->state = ADDED_OFF;
	set_counts(wish, &p->counts);
	take_targets(p, wish);
	err = set(means, wish, p);
	if (err < 0)
		added_probe_free(means, p);
	else
		*ret = p;
	return err;
}

struct added_probe *added_probe_free(const struct added_means *means, struct added_probe *p)
{
	added_probe_disable(means, p, ADDED_OFF);
	while (p->n_lists > 0)
		value_table_drop(means->values, p->lists[--p->n_lists], clock_now_ns());
	uprobe_places_done(&p->places);
	probed_files_done(&p->file);
	for (unsigned int i = 0; i < p->counts.n_pids; i++)
		probe_target_close(&p->targets[i]);
	p->label = added_label_free(p->label);
	free(p->text);
	free(p->name);
	free(p);
	return NULL;
}

static bool has(const unsigned int *pids, unsigned int n, unsigned int pid)
{
	while (n > 0)
		if (pids[--n] == pid)
			return true;
	return false;
}

/* Each once: who is named twice has one breakpoint. */
static unsigned int list_living(const struct added_probe *p, unsigned int ret[DP_MAX_PROBE_PIDS])
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < p->counts.n_pids; i++)
		if (!has(ret, n, p->targets[i].pid) && !probe_target_has_ended(&p->targets[i]))
			ret[n++] = p->targets[i].pid;
	return n;
}

static void detach(const struct added_means *means, struct added_probe *p)
{
	if (p->label)
		added_label_end(means, p);
	else
		probe_links_close(&p->links);
}

static int attach(const struct added_means *means, struct added_probe *p)
{
	unsigned int pids[DP_MAX_PROBE_PIDS];
	const unsigned int n = list_living(p, pids);
	int err = p->counts.n_pids == 0 || n > 0 ? 0 : -ESRCH;

	if (err < 0)
		log_error("the processes that the probe is for have ended");
	else if (p->label)
		err = added_label_begin(means, p, pids, n);
	else
		err = probe_slots_attach(means->slots, PROBE_IS_SAMPLE, &p->places, pids, n,
					 &p->links);
	/* The number of one that has ended meanwhile may already be that of another. */
	if (err == 0 && list_living(p, pids) < n) {
		detach(means, p);
		log_error("a process that the probe is for has just ended");
		err = -ESRCH;
	}
	return err;
}

/* One that lives, but has got rights that its user does not have; NULL: none has. */
static const struct probe_target *find_foreign(const struct added_probe *p)
{
	for (unsigned int i = 0; p->user != 0 && i < p->counts.n_pids; i++)
		if (!probe_target_is_of(&p->targets[i], p->counts.user, p->counts.group) &&
		    !probe_target_has_ended(&p->targets[i]))
			return &p->targets[i];
	return NULL;
}

static int refuse_foreign(const struct added_probe *p)
{
	const struct probe_target *foreign = find_foreign(p);

	if (!foreign)
		return 0;
	log_error("you may not trace process %u", foreign->pid);
	return -EPERM;
}

/* What was an instruction's place may be within one now. */
static int refuse_written(const struct added_probe *p)
{
	if (p->change != PROBED_WRITTEN)
		return 0;
	log_error("probe %u: its file was written to: remove the probe, and add it again", p->id);
	return -ESTALE;
}

int added_probe_enable(const struct added_means *means, struct added_probe *p)
{
	struct dp_probe again = p->counts;
	int err;

	if (p->state == ADDED_ON)
		return 0;
	err = refuse_written(p);
	if (err == 0)
		err = refuse_foreign(p);
	if (err < 0)
		return err;
	again.is_over = 0;
	again.n_second = 0;
	err = probe_slots_set(means->slots, p->slot, &again);
	if (err < 0) {
		log_error("cannot set the probe: %s", strerror(-err));
		return err;
	}
	err = attach(means, p);
	if (err < 0)
		return err;
	p->state = ADDED_ON;
	p->foreign = 0;
	/* It may have executed another program meanwhile. */
	err = refuse_foreign(p);
	if (err < 0)
		added_probe_disable(means, p, ADDED_OFF);
	return err;
}

void added_probe_disable(const struct added_means *means, struct added_probe *p,
			 enum added_state state)
{
	if (p->state == ADDED_ON)
		detach(means, p);
	else if (state != ADDED_OFF)
		return;
	/* Who disables one that had ended knows why. */
	p->foreign = 0;
	p->state = state;
}

/*
 * Not what was set: the end of sampling may write to a slot what was in it just before
 * (probe_slots_silence()).
 */
static void take_counts(struct added_probe *p, const struct dp_probe *now)
{
	p->counts.is_over = now->is_over;
	p->counts.n_hits = now->n_hits;
	p->counts.n_wanted = now->n_wanted;
	p->counts.n_thinned = now->n_thinned;
}

bool added_probe_explain(const struct added_probe *p, char ret[ADDED_WHY_SIZE])
{
	if (p->state == ADDED_OVER)
		snprintf(ret, ADDED_WHY_SIZE, "it had more than %u hits in a second",
			 p->counts.max_hits);
	else if (p->foreign)
		snprintf(ret, ADDED_WHY_SIZE,
			 "process %u has other rights than its user, or another security domain "
			 "than when it was added, or these cannot be read",
			 p->foreign);
	return p->state == ADDED_OVER || p->foreign;
}

bool added_probe_explain_file(const struct added_probe *p, char ret[ADDED_WHY_SIZE])
{
	const char *text = probed_change_explain(p->change);

	if (text)
		snprintf(ret, ADDED_WHY_SIZE, "its file %s", text);
	return text;
}

/* Others than root cannot fill the log: they see it in the list. */
static enum log_level warning_for(const struct added_probe *p)
{
	return p->user == 0 ? LOG_WARNING : LOG_DEBUG;
}

/* A change is told once, and stays, as a path may lead to several files in turn; but a file can still be written to. */
static void look_at_file(struct added_probe *p)
{
	const enum probed_change change = probed_file_change(&p->file.of[0]);
	char why[ADDED_WHY_SIZE];

	if (change == p->change || (p->change != PROBED_SAME && change != PROBED_WRITTEN))
		return;
	p->change = change;
	if (added_probe_explain_file(p, why))
		log_message(warning_for(p), "probe %u (%s): %s", p->id, p->name, why);
}

/* Only other users' probes have such; their users see it in the list. */
static void end_foreign(const struct added_means *means, struct added_probe *p,
			const struct probe_target *target)
{
	char why[ADDED_WHY_SIZE];

	added_probe_disable(means, p, ADDED_OFF);
	p->foreign = target->pid;
	if (added_probe_explain(p, why))
		log_debug("probe %u (%s) is disabled: %s", p->id, p->name, why);
}

void added_probe_look(const struct added_means *means, struct added_probe *p)
{
	const struct probe_target *foreign;
	const bool was_thinned = p->counts.n_thinned > 0;
	struct dp_probe now;

	look_at_file(p);
	if (p->state != ADDED_ON || probe_slots_read(means->slots, p->slot, &now) < 0)
		return;
	take_counts(p, &now);
	if (p->counts.n_thinned > 0 && !was_thinned)
		log_message(warning_for(p),
			    "probe %u (%s) has more than %u hits in a second: some are chosen at "
			    "random, and their weights scaled",
			    p->id, p->name, p->counts.max_rate);
	if (p->counts.is_over == DP_PROBE_ENDED)
		return;
	if (!p->counts.is_over) {
		foreign = find_foreign(p);
		if (foreign)
			end_foreign(means, p, foreign);
		return;
	}
	added_probe_disable(means, p, ADDED_OVER);
	log_message(warning_for(p),
		    "probe %u (%s) had more than %u hits in a second, and is disabled", p->id,
		    p->name, p->counts.max_hits);
}
