// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_catalog.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "kernel/uprobe_places.h"
#include "log/log.h"
#include "probes/parameter_source.h"
#include "probes/usdt_places.h"
#include "sandbox/parsers.h"

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_types(const struct usdt_place *a, const struct usdt_place *b)
{
	int order = compare_numbers(a->n_arguments, b->n_arguments);

	for (size_t i = 0; order == 0 && i < a->n_arguments; i++)
		order = compare_numbers(a->arguments[i].type, b->arguments[i].type);
	return order;
}

static int compare_names(const struct usdt_place *a, const struct usdt_place *b)
{
	int order = strcmp(a->provider, b->provider) ?: strcmp(a->name, b->name);

	return order ?: compare_types(a, b);
}

static int compare_usdt(const void *a, const void *b)
{
	const struct usdt_place *x = a, *y = b;

	return compare_names(x, y) ?: compare_numbers(x->offset, y->offset);
}

bool catalog_usdt_is_same(const struct usdt_place *a, const struct usdt_place *b)
{
	return compare_names(a, b) == 0;
}

static int read_usdt(struct parsers *parsers, int fd, const char *file, const char *pattern,
		     struct probe_catalog *c)
{
	size_t n = 0;
	int err = usdt_places_list(parsers, 0, fd, file, &c->usdt, &n);

	for (size_t i = 0; i < n; i++) {
		char name[2 * USDT_NAME_SIZE];

		snprintf(name, sizeof(name), "%s:%s", c->usdt[i].provider, c->usdt[i].name);
		if (fnmatch(pattern, name, 0) == 0)
			c->usdt[c->n_usdt++] = c->usdt[i];
	}
	if (c->n_usdt > 0)
		qsort(c->usdt, c->n_usdt, sizeof(*c->usdt), compare_usdt);
	return err;
}

static int add_function(struct probe_catalog *c, const struct listed_function *of)
{
	if (array_reserve(c->functions, c->n_functions, c->functions_size) < 0)
		return -ENOMEM;
	c->functions[c->n_functions++] = *of;
	return 0;
}

static int compare_functions(const void *a, const void *b)
{
	const struct listed_function *x = a, *y = b;

	return strcmp(x->name, y->name) ?: compare_numbers(x->offset, y->offset);
}

/* A function may be in both symbol tables, and its name have several versions. */
static void join_functions(struct probe_catalog *c)
{
	size_t n = 0;

	if (c->n_functions > 0)
		qsort(c->functions, c->n_functions, sizeof(*c->functions), compare_functions);
	for (size_t i = 0; i < c->n_functions; i++) {
		if (n == 0 || compare_functions(&c->functions[n - 1], &c->functions[i]) != 0)
			c->functions[n++] = c->functions[i];
	}
	c->n_functions = n;
}

int probe_catalog_list(void *parsers, int fd, const struct function_query *query,
		       struct function_list *ret)
{
	return probe_catalog_list_for(parsers, 0, fd, query, ret);
}

int probe_catalog_list_for(struct parsers *parsers, uid_t user, int fd,
			   const struct function_query *query, struct function_list *ret)
{
	const struct parse_request request = {
		.kind = PARSE_FUNCTIONS,
		.fd = fd,
		.other = -1,
		.user = user,
		.functions = *query,
		.cpu_ns = probe_cpu_ns(user),
	};
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	clockid_t clock = 0;
	int err = parsers_ask(parsers, &request, &clock, &result);

	*ret = result.functions;
	result.functions = (struct function_list){ 0 };
	return err;
}

static int read_functions(struct parsers *parsers, int fd, const char *file, const char *text,
			  struct probe_catalog *c)
{
	const struct function_query query = { .pattern = text };
	int err = probe_catalog_list(parsers, fd, &query, &c->list);
	struct listed_function f;

	if (err < 0) {
		log_error("cannot look for functions in %s: %s", file, parsers_explain(err));
		return err;
	}
	for (size_t at = 0; err == 0 && function_list_next(&c->list, &at, &f);)
		err = add_function(c, &f);
	if (err == 0)
		join_functions(c);
	return err;
}

/* Functions without debug information have none that are known. */
static int read_parameters(struct parsers *parsers, int fd, const char *file,
			   struct probe_catalog *c)
{
	struct parameter_source source = {
		.parsers = parsers, .path = file, .fd = fd, .debug_fd = -1
	};
	int err = 0;

	if (c->n_functions == 0 || c->n_functions > CATALOG_MAX_DESCRIBED)
		return 0;
	c->parameters = calloc(c->n_functions, sizeof(*c->parameters));
	if (!c->parameters)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_functions && (err == 0 || err == -ENODATA); i++) {
		_cleanup_(parse_result_done) struct parse_result result = { 0 };

		err = parameter_source_ask(&source, NULL, 0, c->functions[i].offset, &result);
		c->parameters[i] = result.names;
		result.names = (struct enumerators){ 0 };
	}
	parameter_source_done(&source);
	return err == -ENOMEM ? err : 0;
}

int probe_catalog_read(struct parsers *parsers, const char *file, const char *pattern,
		       struct probe_catalog *ret)
{
	_cleanup_uprobe_places_ struct uprobe_places at;
	int err = uprobe_places_open(file, NULL, &at);

	*ret = (struct probe_catalog){ 0 };
	memcpy(ret->path, at.path, sizeof(ret->path));
	if (err == 0)
		err = read_usdt(parsers, at.fd, file, pattern, ret);
	if (err == 0)
		err = read_functions(parsers, at.fd, file, pattern, ret);
	if (err == 0)
		err = read_parameters(parsers, at.fd, file, ret);
	if (err == -ENOMEM)
		log_error("cannot list the probes of %s: %s", file, strerror(-err));
	if (err < 0)
		probe_catalog_done(ret);
	return err;
}

void probe_catalog_done(struct probe_catalog *c)
{
	for (size_t i = 0; c->parameters && i < c->n_functions; i++)
		enumerators_done(&c->parameters[i]);
	free(c->parameters);
	free(c->functions);
	free(c->usdt);
	function_list_done(&c->list);
	c->parameters = NULL;
	c->functions = NULL;
	c->usdt = NULL;
	c->n_functions = c->n_usdt = 0;
}

void catalog_usdt_arguments(const struct usdt_place *place, char ret[CATALOG_ARGUMENTS_SIZE])
{
	size_t n = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < place->n_arguments && n < CATALOG_ARGUMENTS_SIZE; i++) {
		const char *word = value_type_word(place->arguments[i].type);

		n += (size_t)snprintf(ret + n, CATALOG_ARGUMENTS_SIZE - n, "%sarg%zu:%s",
				      i > 0 ? ", " : "", i + 1, word ?: "?");
	}
}

void catalog_print_parameters(const struct probe_catalog *c, size_t function, FILE *to)
{
	const struct enumerators *list = c->parameters ? &c->parameters[function] : NULL;

	for (size_t i = 0; list && i < list->n; i++) {
		fputs(i > 0 ? ", " : "(", to);
		text_print_plain(to, list->of[i].name);
		fprintf(to, ":%s", value_type_word((enum value_type)list->of[i].value) ?: "?");
	}
	if (list && list->n > 0)
		fputc(')', to);
}

bool catalog_parameters_are_same(const struct probe_catalog *c, size_t a, size_t b)
{
	const struct enumerators *x, *y;

	if (!c->parameters)
		return true;
	x = &c->parameters[a];
	y = &c->parameters[b];
	return x->n == y->n && (x->n == 0 || memcmp(x->of, y->of, x->n * sizeof(*x->of)) == 0);
}
