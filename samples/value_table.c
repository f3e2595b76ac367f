// SPDX-License-Identifier: Apache-2.0
#include "samples/value_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "limits/limits.h"

struct entry {
	struct value_forms *forms; /* NULL: never used */
	char *probe;
	uid_t user;
	bool is_dropped;
	uint64_t dropped_ns;
};

struct value_table {
	pthread_mutex_t lock;
	struct entry of[DP_MAX_ARGUMENT_LISTS];
};

int value_table_new(struct value_table **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	pthread_mutex_init(&(*ret)->lock, NULL);
	return 0;
}

static void entry_done(struct entry *e)
{
	value_forms_free(e->forms, 1);
	free(e->probe);
}

struct value_table *value_table_free(struct value_table *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < DP_MAX_ARGUMENT_LISTS; i++)
		entry_done(&t->of[i]);
	pthread_mutex_destroy(&t->lock);
	free(t);
	return NULL;
}

static bool is_free(const struct entry *e, uint64_t now_ns)
{
	return !e->forms || (e->is_dropped && now_ns >= e->dropped_ns + VALUE_TABLE_REST_NS);
}

/* The number to use, or a negative errno. */
static int choose(const struct value_table *t, uid_t user, uint64_t now_ns)
{
	size_t n_own = 0;
	int found = -E2BIG;

	for (size_t i = 0; i < DP_MAX_ARGUMENT_LISTS; i++) {
		if (!is_free(&t->of[i], now_ns))
			n_own += t->of[i].user == user;
		else if (found < 0)
			found = (int)i;
	}
	return user != 0 && n_own >= VALUE_TABLE_MAX_OWN ? -EDQUOT : found;
}

int value_table_add(struct value_table *t, const struct value_forms *forms, const char *probe,
		    uid_t user, uint64_t now_ns)
{
	struct entry made = { .user = user };
	struct entry old;
	int i = choose(t, user, now_ns);

	if (i < 0)
		return i;
	made.forms = malloc(sizeof(*forms));
	made.probe = strdup(probe);
	if (!made.forms || !made.probe) {
		free(made.forms);
		free(made.probe);
		return -ENOMEM;
	}
	*made.forms = *forms;
	pthread_mutex_lock(&t->lock);
	old = t->of[i];
	t->of[i] = made;
	pthread_mutex_unlock(&t->lock);
	entry_done(&old);
	return i;
}

void value_table_drop(struct value_table *t, uint32_t number, uint64_t now_ns)
{
	t->of[number].is_dropped = true;
	t->of[number].dropped_ns = now_ns;
}

const struct value_forms *value_table_lock(struct value_table *t, uint32_t number,
					   const char **ret_probe)
{
	const struct value_forms *forms = NULL;

	pthread_mutex_lock(&t->lock);
	*ret_probe = "";
	if (number < DP_MAX_ARGUMENT_LISTS)
		forms = t->of[number].forms;
	if (forms)
		*ret_probe = t->of[number].probe;
	return forms;
}

void value_table_unlock(struct value_table *t)
{
	pthread_mutex_unlock(&t->lock);
}
