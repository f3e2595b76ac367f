// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "log.h"
#include "options.h"
#include "record.h"
#include "tables.h"

static int record_main(int argc, char **argv)
{
	struct options options;
	int code;

	options_parse(&options, argc, argv);
	if (options.verbose)
		log_set_level(LOG_DEBUG);
	code = record_run(&options.record);
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

/* The first word picks the command; without one, it is record. */
int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "tables") == 0)
		return tables_main(argc - 1, argv + 1);
	return record_main(argc, argv);
}
