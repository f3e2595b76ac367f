// SPDX-License-Identifier: Apache-2.0

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/sandbox_options.h"
#include "formats/json_value.h"
#include "log/log.h"
#include "probes/probe_catalog.h"
#include "profiler/confined.h"
#include "profiler/record.h"
#include "sandbox/helper.h"

struct probes_options {
	const char *file, *pattern;
	enum sandbox_mode sandbox;
	bool json;
};

enum {
	OPTION_JSON = 256,
	OPTION_SANDBOX,
};

static const struct argp_option argp_options[] = {
	{ "json", OPTION_JSON, NULL, 0, "JSON: an object" },
	{ "sandbox", OPTION_SANDBOX, "MODE", 0, SANDBOX_OPTIONS_HELP },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct probes_options *o = state->input;

	switch (key) {
	case OPTION_JSON:
		o->json = true;
		return 0;
	case OPTION_SANDBOX:
		if (sandbox_options_parse(arg, &o->sandbox) < 0)
			argp_error(state, SANDBOX_OPTIONS_ERROR, arg);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_error(state, "one FILE and one NAME can be given");
		*(state->arg_num == 0 ? &o->file : &o->pattern) = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "nothing to show: give a FILE");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "FILE [NAME]",
	.doc = "Show what can be probed in a program or library: USDT probes with their arguments, "
	       "and functions. NAME is a name or glob for functions, or for PROVIDER:NAME.\v"
	       "Exit codes: 0 done; 1 nothing was found; 2 wrong usage.",
};

static void end_line(size_t n_places)
{
	if (n_places > 1)
		printf("  # %zu places", n_places);
	putchar('\n');
}

static void write_usdt(const struct probe_catalog *c, const char *file)
{
	for (size_t i = 0, n; i < c->n_usdt; i += n) {
		const struct usdt_place *p = &c->usdt[i];
		char arguments[CATALOG_ARGUMENTS_SIZE];

		for (n = 1; i + n < c->n_usdt && catalog_usdt_is_same(p, &c->usdt[i + n]);)
			n++;
		catalog_usdt_arguments(p, arguments);
		printf("usdt:%s:%s:%s", file, p->provider, p->name);
		if (arguments[0])
			printf("(%s)", arguments);
		end_line(n);
	}
}

static bool is_same_function(const struct probe_catalog *c, size_t a, size_t b)
{
	return strcmp(c->functions[a].name, c->functions[b].name) == 0 &&
	       catalog_parameters_are_same(c, a, b);
}

static void write_functions(const struct probe_catalog *c, const char *file)
{
	for (size_t i = 0, n; i < c->n_functions; i += n) {
		for (n = 1; i + n < c->n_functions && is_same_function(c, i, i + n);)
			n++;
		printf("uprobe:%s:", file);
		text_print_plain(stdout, c->functions[i].name);
		catalog_print_parameters(c, i, stdout);
		end_line(n);
	}
}

static json_t *json_usdt(const struct usdt_place *p)
{
	json_t *json = json_object(), *types = json_array();

	json_object_set_new(json, "provider", json_text(p->provider));
	json_object_set_new(json, "name", json_text(p->name));
	json_object_set_new(json, "offset", json_hex(p->offset));
	json_object_set_new(json, "semaphore", p->semaphore ? json_hex(p->semaphore) : json_null());
	for (size_t i = 0; i < p->n_arguments; i++) {
		const char *word = value_type_word(p->arguments[i].type);

		json_array_append_new(types, word ? json_string(word) : json_null());
	}
	json_object_set_new(json, "arguments", types);
	return json;
}

/* null: none are known. */
static json_t *json_parameters(const struct probe_catalog *c, size_t function)
{
	const struct enumerators *list = c->parameters ? &c->parameters[function] : NULL;
	json_t *json = list && list->n > 0 ? json_array() : json_null();

	for (size_t i = 0; list && i < list->n; i++) {
		const char *word = value_type_word((enum value_type)list->of[i].value);
		json_t *parameter = json_object();

		json_object_set_new(parameter, "name", json_text(list->of[i].name));
		json_object_set_new(parameter, "type", word ? json_string(word) : json_null());
		json_array_append_new(json, parameter);
	}
	return json;
}

static json_t *json_function(const struct probe_catalog *c, size_t function)
{
	const struct listed_function *f = &c->functions[function];
	json_t *json = json_object();

	json_object_set_new(json, "name", json_text(f->name));
	json_object_set_new(json, "symbol", json_text(f->symbol));
	json_object_set_new(json, "offset", json_hex(f->offset));
	json_object_set_new(json, "size", json_integer((json_int_t)f->size));
	json_object_set_new(json, "parameters", json_parameters(c, function));
	return json;
}

static int write_json(const struct probe_catalog *c)
{
	json_t *json = json_object(), *usdt = json_array(), *functions = json_array();

	for (size_t i = 0; i < c->n_usdt; i++)
		json_array_append_new(usdt, json_usdt(&c->usdt[i]));
	for (size_t i = 0; i < c->n_functions; i++)
		json_array_append_new(functions, json_function(c, i));
	json_object_set_new(json, "path", json_text(c->path));
	json_object_set_new(json, "usdt", usdt);
	json_object_set_new(json, "functions", functions);
	return json_write(json, JSON_INDENT(1), stdout) ?: (putchar('\n') == EOF ? -EIO : 0);
}

static int write_all(const struct probe_catalog *c, const struct probes_options *o)
{
	_cleanup_free_ char *file = strdup(o->file);
	int err = file ? 0 : -ENOMEM;

	if (err == 0 && o->json)
		err = write_json(c);
	if (err == 0 && !o->json) {
		text_make_plain(file);
		write_usdt(c, file);
		write_functions(c, file);
	}
	errno = 0;
	if (err == 0 && (fflush(stdout) == EOF || ferror(stdout)))
		err = errno ? -errno : -EIO;
	if (err < 0)
		log_error("cannot write: %s", strerror(-err));
	return err;
}

static int run(const struct probes_options *o, struct parsers *parsers)
{
	_cleanup_(probe_catalog_done) struct probe_catalog c = { 0 };
	int err = probe_catalog_read(parsers, o->file, o->pattern, &c);

	if (err == 0)
		err = write_all(&c, o);
	if (err == 0 && c.n_usdt + c.n_functions == 0) {
		log_error("%s has no function or USDT probe %s", o->file, o->pattern);
		err = -ENOENT;
	}
	return err;
}

static int probes_command(int argc, char **argv)
{
	struct probes_options options = { .pattern = "*" };
	struct parsers *parsers;
	int err;

	command_parse(&command_probes, argc, argv, &options);
	err = confined_begin(options.sandbox, HELPER_SELF, NULL, &parsers);
	if (err == 0)
		err = confined_check(options.sandbox, parsers);
	if (err == 0)
		err = run(&options, parsers);
	parsers_drop(parsers);
	return err < 0 ? EXIT_CODE_FAILED : EXIT_CODE_OK;
}

const struct command command_probes = {
	.name = "probes",
	.summary = "show what can be probed in a program or library",
	.argp = &argp,
	.run = probes_command,
};
