/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_DUMP_COMMAND_H
#define DP_CLI_DUMP_COMMAND_H

/* `dwarfprof dump`: argv[0] is "dump". Returns the exit code. */
int dump_command(int argc, char **argv);

#endif
