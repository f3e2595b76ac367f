// SPDX-License-Identifier: Apache-2.0
#include "samples/type_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/write_all.h"
#include "limits/limits.h"
#include "report/report_queue.h"
#include "samples/redaction.h"
#include "sandbox/parsers.h"

/* Of a value, each of whose bytes may have been escaped. */
#define TYPE_NAME_SIZE (4 * (DP_TEXT_CUT + 1))

struct type_name {
	UT_hash_handle hh;
	char *type; /* in the source, behind the key */
	char mangled[];
};

/* Only the thread that makes the reports uses it. */
struct type_names {
	struct label_finisher finisher;
	char class[TYPE_NAME_SIZE]; /* of the last sample, if that is Java's */
	struct parsers *parsers;
	const struct redaction *redaction;
	struct type_name *known;
};

/* *ret is NULL if it cannot be demangled. -EAGAIN: not now. */
static int ask(struct parsers *parsers, const char *mangled, char **ret)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int fd = memfd_create("type", MFD_CLOEXEC);
	const struct parse_request request = {
		.kind = PARSE_TYPE, .fd = fd, .other = -1, .cpu_ns = TYPE_NAMES_CPU_NS
	};
	clockid_t clock = 0;
	int err = fd < 0 ? -errno : write_all(fd, mangled, strlen(mangled));

	*ret = NULL;
	if (err == 0)
		err = parsers_ask(parsers, &request, &clock, &result);
	if (err < 0)
		return err == -ENOMEM || err == -EAGAIN || fd < 0 ? -EAGAIN : 0;
	*ret = strdup(result.type);
	return *ret ? 0 : -ENOMEM;
}

static struct type_name *add(struct type_names *names, const char *mangled, const char *type)
{
	size_t size = strlen(mangled) + 1;
	struct type_name *name = malloc(sizeof(*name) + size + strlen(type) + 1);

	if (!name)
		return NULL;
	memcpy(name->mangled, mangled, size);
	name->type = name->mangled + size;
	strcpy(name->type, type);
	HASH_ADD(hh, names->known, mangled, size - 1, name);
	if (HASH_IS_ADDED(hh, name))
		return name;
	free(name);
	return NULL;
}

/* The type in the source; NULL: it remains as it is. */
static const char *find(struct type_names *names, const char *mangled)
{
	_cleanup_free_ char *type = NULL;
	struct type_name *name;

	HASH_FIND(hh, names->known, mangled, strlen(mangled), name);
	if (name)
		return name->type;
	if (HASH_COUNT(names->known) >= TYPE_NAMES_MAX || ask(names->parsers, mangled, &type) < 0)
		return NULL;
	name = add(names, mangled, type ?: mangled);
	return name ? name->type : NULL;
}

static bool is_type(const struct label *label)
{
	return label->text && strcmp(label->key, TYPE_NAMES_KEY) == 0;
}

/* As Class.getName() has it. */
static const char *name_class(struct type_names *names, const char *class)
{
	snprintf(names->class, sizeof(names->class), "%s", class);
	for (char *c = names->class; *c; c++)
		if (*c == '/')
			*c = '.';
	return names->class;
}

/* language: NULL: C++. */
static const char *find_in_source(struct type_names *names, const char *language, const char *type)
{
	if (!language)
		return find(names, type);
	return strcmp(language, LABEL_LANGUAGE_JAVA) == 0 ? name_class(names, type) : NULL;
}

/* The type in the source, of labels that have one; NULL: they remain as they are. */
static const char *find_type(struct type_names *names, const struct label_set *labels)
{
	const char *type = NULL, *language = NULL;
	struct label label;
	size_t at = 0;

	/* They are in the order of their keys: the language comes first. `<unread>` and `<unknown>` are no names of types. */
	while (!type && label_set_next(labels, &at, &label)) {
		if (strcmp(label.key, LABEL_EXCEPTION_LANGUAGE) == 0)
			language = label.text ?: "";
		if (is_type(&label) && label.text[0] != '<')
			type = find_in_source(names, language, label.text);
	}
	return type && strcmp(type, label.text) != 0 ? type : NULL;
}

static int finish(struct label_finisher *finisher, const struct label_set *labels,
		  struct label_set **ret)
{
	struct type_names *names = (struct type_names *)finisher;
	const char *type = find_type(names, labels);
	_cleanup_(label_list_done) struct label_list list = { .is_cut = labels->is_cut };
	struct label label;
	size_t at = 0;
	int err = 0;

	*ret = NULL;
	if (!type && !names->redaction)
		return 0;
	while (err == 0 && label_set_next(labels, &at, &label)) {
		if (type && is_type(&label))
			label.text = type;
		err = label_list_add(&list, &label);
	}
	if (err == 0 && names->redaction)
		err = redaction_apply(names->redaction, &list);
	return err < 0 ? err : label_set_new(&list, ret);
}

static void free_names(struct label_finisher *finisher)
{
	struct type_names *names = (struct type_names *)finisher;
	struct type_name *name, *next;

	HASH_ITER(hh, names->known, name, next) {
		HASH_DEL(names->known, name);
		free(name);
	}
	parsers_drop(names->parsers);
	free(names);
}

int type_names_install(struct parsers *parsers, const struct redaction *redaction,
		       struct report_queue *queue)
{
	struct type_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	*names = (struct type_names){
		.finisher = { .finish = finish, .free = free_names },
		.parsers = parsers_hold(parsers),
		.redaction = redaction,
	};
	report_queue_set_finisher(queue, &names->finisher);
	return 0;
}
