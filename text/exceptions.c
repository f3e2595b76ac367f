// SPDX-License-Identifier: Apache-2.0
#include "text/exceptions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "limits/limits.h"
#include "text/hottest.h"

/* What is shown: types, messages of each, and functions of a stack. */
#define SHOWN_TYPES 20
#define SHOWN_MESSAGES 5
#define SHOWN_FUNCTIONS 20

struct exception_type {
	UT_hash_handle hh; /* by the name */
	uint64_t count;
	struct label_counts messages;
	struct hottest stacks;
	char name[];
};

void exceptions_done(struct exceptions *exceptions)
{
	struct exception_type *type, *next;

	HASH_ITER(hh, exceptions->types, type, next) {
		HASH_DEL(exceptions->types, type);
		label_counts_done(&type->messages);
		hottest_done(&type->stacks);
		free(type);
	}
}

static const char *find_text(const struct label_set *labels, const char *key)
{
	struct label label;
	size_t at = 0;

	while (label_set_next(labels, &at, &label))
		if (label.text && strcmp(label.key, key) == 0)
			return label.text;
	return NULL;
}

static struct exception_type *find_type(const struct exceptions *exceptions, const char *name)
{
	struct exception_type *type;

	HASH_FIND_STR(exceptions->types, name, type);
	return type;
}

static int find_or_add(struct exceptions *exceptions, const char *name, struct exception_type **ret)
{
	size_t size = strlen(name) + 1;
	struct exception_type *type = find_type(exceptions, name);

	*ret = type;
	if (type || HASH_COUNT(exceptions->types) >= LABEL_COUNTS_MAX)
		return 0;
	type = calloc(1, sizeof(*type) + size);
	if (!type)
		return -ENOMEM;
	memcpy(type->name, name, size);
	HASH_ADD_STR(exceptions->types, name, type);
	if (!HASH_IS_ADDED(hh, type)) {
		free(type);
		return -ENOMEM;
	}
	*ret = type;
	return 0;
}

static int add_message(struct exceptions *exceptions, struct exception_type *type,
		       const char *message, uint64_t count)
{
	_cleanup_free_ char *plain = strdup(message);
	size_t n = label_counts_n(&type->messages);
	int err;

	if (!plain)
		return -ENOMEM;
	text_make_plain(plain);
	if (exceptions->n_messages >= LABEL_COUNTS_MAX &&
	    !label_counts_have_text(&type->messages, plain))
		return 0;
	err = label_counts_add_text(&type->messages, plain, count);
	exceptions->n_messages += label_counts_n(&type->messages) - n;
	return err;
}

int exceptions_add(struct exceptions *exceptions, const struct sample *sample)
{
	const char *name = find_text(sample->labels, LABEL_EXCEPTION_TYPE);
	const char *message = find_text(sample->labels, LABEL_EXCEPTION_MESSAGE);
	struct exception_type *type = NULL;
	int err = name ? find_or_add(exceptions, name, &type) : 0;

	if (!type)
		return err;
	type->count += sample->weight;
	return message ? add_message(exceptions, type, message, sample->weight) : 0;
}

int exceptions_add_stack(struct exceptions *exceptions, struct report *report,
			 const struct stack *stack, const struct symbolized_stack *symbolized,
			 const struct value *value, const struct frame_values *values)
{
	const char *name = find_text(stack->common.labels, LABEL_EXCEPTION_TYPE);
	struct exception_type *type = name ? find_type(exceptions, name) : NULL;

	return type ? hottest_add(&type->stacks, report, stack, symbolized, value, values) : 0;
}

static void put_plain(const char *text, FILE *to)
{
	_cleanup_free_ char *copy = strdup(text);

	if (!copy)
		return;
	text_make_plain(copy);
	fputs(copy, to);
}

static int put_message(void *arg, const struct label_count *count, size_t rest)
{
	FILE *to = arg;

	fprintf(to, "%16" PRIu64 "  %s\n", count->value, count->text);
	if (rest > 0)
		fprintf(to, "%16s  ... and %zu more messages\n", "", rest);
	return 0;
}

/* Innermost first, as are the values of calls: what has thrown comes before what it was called for. */
static void put_stack(struct exception_type *type, FILE *to)
{
	const struct hottest_function *functions;
	uint64_t value;
	size_t n = hottest_find(&type->stacks, &functions, &value), n_put = 0;
	char values[VALUE_TEXTS_SIZE];

	if (n > 1)
		fprintf(to, "%16" PRIu64 "  in this stack, innermost first:\n", value);
	for (size_t i = n; i-- > 1 && n_put < SHOWN_FUNCTIONS; n_put++) {
		fprintf(to, "%20s", "");
		put_plain(functions[i].name, to);
		if (functions[i].is_inlined)
			fputs(" (inlined)", to);
		if (functions[i].texts) {
			value_texts_describe(functions[i].texts, values);
			fprintf(to, "  %s", values);
		}
		fputc('\n', to);
	}
	if (n > 1 && n_put < n - 1)
		fprintf(to, "%20s... %zu more\n", "", n - 1 - n_put);
}

static int compare(const struct exception_type *a, const struct exception_type *b)
{
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return strcmp(a->name, b->name);
}

void exceptions_print(struct exceptions *exceptions, FILE *to)
{
	size_t n = 0;

	HASH_SORT(exceptions->types, compare);
	for (struct exception_type *type = exceptions->types; type && n < SHOWN_TYPES;
	     type = type->hh.next, n++) {
		fputs("\nException ", to);
		put_plain(type->name, to);
		fprintf(to, ": %" PRIu64 "\n", type->count);
		(void)label_counts_for_each(&type->messages, 1, SHOWN_MESSAGES, put_message, to);
		put_stack(type, to);
	}
	if (HASH_COUNT(exceptions->types) > n)
		fprintf(to, "\n... and %zu more types of exceptions\n",
			HASH_COUNT(exceptions->types) - n);
}
