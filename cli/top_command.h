/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TOP_COMMAND_H
#define DP_CLI_TOP_COMMAND_H

/* `dwarfprof top`: argv[0] is "top". Returns the exit code. */
int top_command(int argc, char **argv);

#endif
