// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_manager.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/json_value.h"
#include "limits/limits.h"
#include "log/log.h"
#include "sandbox/parsers.h"

struct probe_manager {
	struct added_means means;
	struct added_probe *probes[DP_MAX_PROBES]; /* by slot; NULL: free */
	unsigned int last_id;
};

int probe_manager_new(struct probe_slots *slots, struct parsers *parsers,
		      struct value_table *values, struct call_table *calls,
		      struct probe_manager **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->means = (struct added_means){ slots, values, calls, parsers_hold(parsers) };
	return 0;
}

struct probe_manager *probe_manager_free(struct probe_manager *m)
{
	if (!m)
		return NULL;
	for (size_t i = 0; i < DP_MAX_PROBES; i++)
		if (m->probes[i])
			added_probe_free(&m->means, m->probes[i]);
	parsers_drop(m->means.parsers);
	probe_slots_free(m->means.slots);
	free(m);
	return NULL;
}

bool probe_manager_is_idle(const struct probe_manager *m)
{
	for (size_t i = 0; i < DP_MAX_PROBES; i++)
		if (m->probes[i] && m->probes[i]->state == ADDED_ON)
			return false;
	return true;
}

void probe_manager_look(struct probe_manager *m)
{
	for (size_t i = 0; i < DP_MAX_PROBES; i++)
		if (m->probes[i])
			added_probe_look(&m->means, m->probes[i]);
}

static size_t count_own(const struct probe_manager *m, uid_t user)
{
	size_t n = 0;

	for (size_t i = 0; i < DP_MAX_PROBES; i++)
		n += m->probes[i] && m->probes[i]->user == user;
	return n;
}

/* Others than root cannot fill the log. */
static enum log_level level_for(uid_t user)
{
	return user == 0 ? LOG_INFO : LOG_DEBUG;
}

int probe_manager_add(struct probe_manager *m, struct probe_wish *wish, unsigned int *ret_id)
{
	uint32_t slot = 0;
	int err;

	if (wish->user != 0 && count_own(m, wish->user) >= PROBE_MAX_OWN) {
		log_error("you have %d probes already: remove one", PROBE_MAX_OWN);
		return -E2BIG;
	}
	while (slot < DP_MAX_PROBES && m->probes[slot])
		slot++;
	if (slot == DP_MAX_PROBES) {
		log_error("there are %d probes already: remove one", DP_MAX_PROBES);
		return -E2BIG;
	}
	err = added_probe_new(&m->means, wish, m->last_id + 1, slot, &m->probes[slot]);
	if (err < 0)
		return err;
	*ret_id = ++m->last_id;
	log_message(level_for(wish->user), "probe %u is added by user %u: %s", *ret_id,
		    (unsigned int)wish->user, m->probes[slot]->text);
	return 0;
}

static bool may_change(const struct added_probe *p, uid_t user)
{
	return p && (user == 0 || p->user == user);
}

static int change_one(struct probe_manager *m, enum probe_change change, size_t slot, uid_t user)
{
	struct added_probe *p = m->probes[slot];
	const unsigned int id = p->id;
	const char *what = NULL; /* has been done */
	int err = 0;

	added_probe_look(&m->means, p);
	switch (change) {
	case PROBE_REMOVE:
		m->probes[slot] = added_probe_free(&m->means, p);
		what = "removed";
		break;
	case PROBE_ENABLE:
		what = p->state != ADDED_ON ? "enabled" : NULL;
		err = added_probe_enable(&m->means, p);
		break;
	case PROBE_DISABLE:
		what = p->state == ADDED_ON ? "disabled" : NULL;
		added_probe_disable(&m->means, p, ADDED_OFF);
		break;
	}
	if (err == 0 && what)
		log_message(level_for(user), "probe %u is %s by user %u", id, what,
			    (unsigned int)user);
	return err;
}

int probe_manager_change(struct probe_manager *m, enum probe_change change, unsigned int id,
			 uid_t user)
{
	int err = 0, n = 0;

	/* One that cannot be enabled, perhaps another user's, does not keep the others from that. */
	for (size_t i = 0; i < DP_MAX_PROBES; i++) {
		int failed;

		if (!may_change(m->probes[i], user) || (id != 0 && m->probes[i]->id != id))
			continue;
		failed = change_one(m, change, i, user);
		err = err < 0 ? err : failed;
		n++;
	}
	if (err < 0)
		return err;
	if (id == 0 || n > 0)
		return n;
	log_error("there is no probe %u of yours: see `dwarfprof probe list'", id);
	return -ENOENT;
}

static const char *state_word(enum added_state state)
{
	switch (state) {
	case ADDED_ON:
		return "on";
	case ADDED_OFF:
		return "off";
	case ADDED_OVER:
		break;
	}
	return "over";
}

static json_t *describe_pids(const struct dp_probe *counts)
{
	json_t *pids = json_array();

	for (size_t i = 0; i < counts->n_pids; i++)
		json_array_append_new(pids, json_integer(counts->pids[i]));
	return pids;
}

static void set_count(json_t *json, const char *key, uint64_t count)
{
	json_object_set_new(json, key, json_integer((json_int_t)count));
}

static json_t *describe(const struct added_probe *p)
{
	const struct dp_probe *counts = &p->counts;
	json_t *json = json_object();
	char why[ADDED_WHY_SIZE];

	set_count(json, "id", p->id);
	json_object_set_new(json, "state", json_string(state_word(p->state)));
	if (added_probe_explain(p, why))
		json_object_set_new(json, "why", json_string(why));
	if (added_probe_explain_file(p, why))
		json_object_set_new(json, "changed", json_string(why));
	json_object_set_new(json, "name", json_text(p->name));
	json_object_set_new(json, "probe", json_text(p->text));
	set_count(json, "user", p->user);
	set_count(json, "places", p->places.n);
	json_object_set_new(json, "pids", describe_pids(counts));
	set_count(json, "max_rate", counts->max_rate);
	set_count(json, "max_hits", counts->max_hits);
	set_count(json, "traps", counts->n_hits);
	set_count(json, "hits", counts->n_wanted);
	set_count(json, "thinned", counts->n_thinned);
	return json;
}

json_t *probe_manager_list(struct probe_manager *m, uid_t user)
{
	json_t *list = json_array();

	probe_manager_look(m);
	for (size_t i = 0; i < DP_MAX_PROBES; i++)
		if (may_change(m->probes[i], user))
			json_array_append_new(list, describe(m->probes[i]));
	return list;
}

typedef bool explain_fn(const struct added_probe *p, char ret[ADDED_WHY_SIZE]);

/* Those of which there is something to explain. */
static json_t *list_explained(const struct probe_manager *m, uid_t user, explain_fn *explain)
{
	json_t *list = json_array();
	char why[ADDED_WHY_SIZE];

	for (size_t i = 0; i < DP_MAX_PROBES; i++)
		if (may_change(m->probes[i], user) && explain(m->probes[i], why))
			json_array_append_new(list, json_pack("{s:i, s:s}", "id",
							      (int)m->probes[i]->id, "why", why));
	return list;
}

json_t *probe_manager_list_ended(const struct probe_manager *m, uid_t user)
{
	return list_explained(m, user, added_probe_explain);
}

json_t *probe_manager_list_changed(const struct probe_manager *m, uid_t user)
{
	return list_explained(m, user, added_probe_explain_file);
}
