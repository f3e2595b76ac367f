// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "profiler/record.h"
#include "sandbox/helper.h"

/* The first word selects the command; without one, it is record. */
int main(int argc, char **argv)
{
	const struct command *command = argc > 1 ? command_find(argv[1]) : NULL;

	if (helper_is_one(argv[0]))
		return helper_main(argc, argv);
	if (argc < 2) {
		command_list(stderr);
		return EXIT_CODE_USAGE;
	}
	if (command && command != &command_record)
		return command->run(argc - 1, argv + 1);
	return command_record.run(argc, argv);
}
