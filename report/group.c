// SPDX-License-Identifier: Apache-2.0
#include "report/group.h"

#include <errno.h>
#include <string.h>

#define LABEL "label:"

int group_parse(const char *text, struct group *ret)
{
	const struct own_label *own;

	if (strncmp(text, LABEL, strlen(LABEL)) == 0 && text[strlen(LABEL)] != '\0') {
		*ret = (struct group){ .key = text + strlen(LABEL) };
		return 0;
	}
	for (size_t i = 0; (own = own_label(i)); i++) {
		if (strcmp(own->key, text) == 0) {
			*ret = (struct group){ own, own->key };
			return 0;
		}
	}
	return -EINVAL;
}

void group_list(FILE *to)
{
	const struct own_label *own;

	for (size_t i = 0; (own = own_label(i)); i++)
		fprintf(to, "%s, ", own->key);
	fputs(LABEL "KEY", to);
}

/* A set may have a key several times: all of them count. */
static int add_labels(const char *key, const struct label_set *set, struct label_list *list)
{
	struct label label;
	size_t at = 0;
	int err = 0;

	while (err == 0 && label_set_next(set, &at, &label))
		if (strcmp(label.key, key) == 0)
			err = label_list_add(list, &label);
	return err;
}

int group_labels_new(const struct group *group, const char *other, const struct sample *sample,
		     struct label_set **ret)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	struct label label;
	int err = 0;

	*ret = NULL;
	if (!group->own)
		err = add_labels(group->key, sample->labels, &list);
	else if (own_label_get(group->own, sample, &label))
		err = label_list_add(&list, &label);
	if (err == 0 && other && (group->own || strcmp(group->key, other) != 0))
		err = add_labels(other, sample->labels, &list);
	return err < 0 || list.n == 0 ? err : label_set_new(&list, ret);
}
