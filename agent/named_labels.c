// SPDX-License-Identifier: Apache-2.0
#include "agent/named_labels.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

/* Names that are not made of their key. */
static const struct {
	const char *key, *name;
} special[] = {
	{ "host.name", "host" },
	{ "process.linux.cgroup", "__meta_process_cgroup" },
	{ "process.executable.path", "__meta_process_exe" },
};

/* Keys that a name stands for, if it is made of one. */
static const char *const conventions[] = {
	"service.name",
	"service.namespace",
	"service.version",
	"service.instance.id",
	"container.id",
	"container.name",
	"container.image.name",
	"k8s.pod.uid",
	"k8s.pod.name",
	"k8s.namespace.name",
	"k8s.node.name",
	"k8s.container.name",
	"k8s.deployment.name",
	"k8s.cluster.name",
	"deployment.environment.name",
	"cloud.region",
	"cloud.availability_zone",
};

void named_labels_done(struct named_labels *l)
{
	while (l->n > 0)
		named_labels_remove(l, l->n - 1);
	free(l->items);
	*l = (struct named_labels){ 0 };
}

char *named_label_name(const char *key)
{
	char *name;

	for (size_t i = 0; i < ARRAY_SIZE(special); i++)
		if (strcmp(special[i].key, key) == 0)
			return strdup(special[i].name);
	name = strdup(key);
	for (char *at = name; at && *at; at++)
		if (!isascii(*at) || (!isalpha(*at) && *at != '_' && (at == name || !isdigit(*at))))
			*at = '_';
	return name;
}

static bool is_named(const char *key, const char *name)
{
	_cleanup_free_ char *made = named_label_name(key);

	return made && strcmp(made, name) == 0;
}

/* The key that a name is short for, or itself. */
static const char *find_key(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(special); i++)
		if (strcmp(special[i].name, name) == 0)
			return special[i].key;
	for (size_t i = 0; i < ARRAY_SIZE(conventions); i++)
		if (is_named(conventions[i], name))
			return conventions[i];
	return name;
}

/* *ret: l->n: there is none. 0 or -ENOMEM. */
static int find(const struct named_labels *l, const char *name, size_t *ret)
{
	_cleanup_free_ char *made = named_label_name(name);
	size_t i = 0;

	*ret = l->n;
	if (!made)
		return -ENOMEM;
	while (i < l->n && strcmp(l->items[i].name, made) != 0)
		i++;
	*ret = i;
	return 0;
}

const char *named_labels_get(const struct named_labels *l, const char *name)
{
	size_t i;

	(void)find(l, name, &i);
	return i < l->n ? l->items[i].value : "";
}

void named_labels_remove(struct named_labels *l, size_t i)
{
	free(l->items[i].key);
	free(l->items[i].name);
	free(l->items[i].value);
	memmove(&l->items[i], &l->items[i + 1], (l->n - i - 1) * sizeof(*l->items));
	l->n--;
}

static int add(struct named_labels *l, const char *name, const char *value)
{
	struct named_label label = { .key = strdup(find_key(name)),
				     .name = named_label_name(name),
				     .value = strdup(value) };

	if (!label.key || !label.name || !label.value ||
	    array_reserve(l->items, l->n, l->size) < 0) {
		free(label.key);
		free(label.name);
		free(label.value);
		return -ENOMEM;
	}
	l->items[l->n++] = label;
	return 0;
}

/* The last one that a program has set goes. */
static void make_room(struct named_labels *l)
{
	for (size_t i = l->n; i-- > 0;) {
		if (!l->items[i].is_programs)
			continue;
		named_labels_remove(l, i);
		return;
	}
}

/* Unless there is no room. */
static int add_new(struct named_labels *l, const char *name, const char *value)
{
	if (l->n == NAMED_LABELS_MAX)
		make_room(l);
	return l->n < NAMED_LABELS_MAX ? add(l, name, value) : 0;
}

int named_labels_set(struct named_labels *l, const char *name, const char *value)
{
	size_t i;
	char *copy;
	int err = find(l, name, &i);

	if (err < 0)
		return err;
	if (i == l->n)
		return *value ? add_new(l, name, value) : 0;
	if (!*value) {
		named_labels_remove(l, i);
		return 0;
	}
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	free(l->items[i].value);
	l->items[i].value = copy;
	l->items[i].is_programs = false;
	return 0;
}

int named_labels_set_programs(struct named_labels *l, const char *name, const char *value)
{
	size_t i, n = l->n;
	int err = find(l, name, &i);
	/* Other names of the same label remain the program's. */
	bool is_theirs = i == n || l->items[i].is_programs;

	if (err == 0 && (i < n || n < NAMED_LABELS_MAX))
		err = named_labels_set(l, name, value);
	if (err == 0 && *value && is_theirs && i < l->n)
		l->items[i].is_programs = true;
	return err;
}

bool named_label_is_internal(const struct named_label *label)
{
	return strncmp(label->name, "__", 2) == 0;
}

bool named_label_is_fact(const char *key)
{
	return strncmp(key, "process.", strlen("process.")) == 0;
}
