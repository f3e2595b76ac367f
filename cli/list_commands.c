// SPDX-License-Identifier: Apache-2.0
/*
 * Writes all commands with their options as JSON, for complete.py. It runs when dwarfprof is built.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/diff_form.h"
#include "cli/name_options.h"
#include "cli/mode_options.h"
#include "cli/options.h"
#include "cli/sandbox_options.h"
#include "formats/report_format.h"
#include "profiler/event.h"
#include "report/group.h"
#include "report/report.h"

/* The words that the argument of an option may be, in messages: "text (.txt), uprobe:PATH". */
static const struct {
	const char *in; /* the command or option; NULL: any other */
	const char *arg;
	void (*list)(FILE *to);
} lists[] = {
	{ "diff", "FORMAT", diff_form_list },
	{ NULL, "FORMAT", report_format_list },
	{ NULL, "KEY", group_list },
	{ NULL, "EVENT", event_list },
	{ "sandbox", "MODE", sandbox_options_list },
	{ "native-frames", "MODE", mode_options_list_native },
	{ NULL, "MODE", mode_options_list_unwind },
	{ NULL, "STYLE", name_options_list_styles },
};

static json_t *list_words(const char *command, const char *option, const char *arg)
{
	_cleanup_free_ char *text = NULL;
	json_t *words = NULL;
	size_t size;
	FILE *to;

	for (size_t i = 0; arg && !words && i < ARRAY_SIZE(lists); i++) {
		if (strcmp(lists[i].arg, arg) != 0 ||
		    (lists[i].in && strcmp(lists[i].in, command) != 0 &&
		     (!option || strcmp(lists[i].in, option) != 0)))
			continue;
		to = open_memstream(&text, &size);
		if (!to)
			return NULL;
		lists[i].list(to);
		fclose(to);
		words = json_string(text);
	}
	return words ? words : json_null();
}

struct options_list {
	const char *command;
	json_t *json;
};

static void add_option(void *arg, const struct argp_option *o)
{
	struct options_list *list = arg;
	json_t *option = json_object();

	json_object_set_new(option, "name", o->name ? json_string(o->name) : json_null());
	if (o->key > ' ' && o->key <= '~')
		json_object_set_new(option, "letter", json_sprintf("%c", o->key));
	json_object_set_new(option, "argument", o->arg ? json_string(o->arg) : json_null());
	json_object_set_new(option, "optional", json_boolean(o->flags & OPTION_ARG_OPTIONAL));
	json_object_set_new(option, "doc", json_string(o->doc));
	json_object_set_new(option, "words", list_words(list->command, o->name, o->arg));
	json_array_append_new(list->json, option);
}

int main(void)
{
	json_t *all = json_array();
	int err;

	for (size_t i = 0; i < n_commands; i++) {
		const struct command *c = commands[i];
		struct options_list list = { c->name, json_array() };
		json_t *command = json_object();

		command_for_each_option(c->argp, add_option, &list);
		command_for_each_option(&command_standard, add_option, &list);
		json_object_set_new(command, "name", json_string(c->name));
		json_object_set_new(command, "summary", json_string(c->summary));
		json_object_set_new(command, "arguments",
				    json_string(c->argp->args_doc ? c->argp->args_doc : ""));
		json_object_set_new(command, "options", list.json);
		json_array_append_new(all, command);
	}
	err = json_dumpf(all, stdout, JSON_INDENT(1));
	json_decref(all);
	return err < 0 || fflush(stdout) == EOF ? EXIT_FAILURE : EXIT_SUCCESS;
}
