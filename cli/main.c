// SPDX-License-Identifier: Apache-2.0
#include "log.h"
#include "options.h"
#include "record.h"

int main(int argc, char **argv)
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
