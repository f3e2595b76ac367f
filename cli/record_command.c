// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "cli/options.h"
#include "cli/sampling.h"

static int record_command(int argc, char **argv)
{
	struct options options;
	int code;

	options_parse(&options, argc, argv);
	code = sampling_run(&options, NULL, NULL);
	options_done(&options);
	return code;
}

const struct command command_record = {
	.name = "record",
	.summary = "the default: sample processes, a program, or the whole machine",
	.argp = &options_record,
	.flags = ARGP_IN_ORDER,
	.run = record_command,
};
