// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/array.h"
#include "cli/annotate_command.h"
#include "cli/diff_command.h"
#include "cli/doctor_command.h"
#include "cli/dump_command.h"
#include "cli/options.h"
#include "cli/report_command.h"
#include "cli/sampling.h"
#include "cli/tables.h"
#include "cli/top_command.h"
#include "log/log.h"

static int record_main(int argc, char **argv)
{
	struct options options;
	int code;

	options_parse(&options, argc, argv);
	code = sampling_run(&options);
	options_done(&options);
	return code;
}

static int tables_main(int argc, char **argv)
{
	struct tables_options options;

	tables_options_parse(&options, argc, argv);
	if (options.verbose)
		log_set_level(LOG_DEBUG);
	return tables_run(&options);
}

/* The first word selects the command; the default is record. */
static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "tables", tables_main },    { "doctor", doctor_command },
	{ "report", report_command }, { "convert", convert_command },
	{ "diff", diff_command },     { "dump", dump_command },
	{ "top", top_command },       { "annotate", annotate_command },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	return record_main(argc, argv);
}
