/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_DIFF_COMMAND_H
#define DP_CLI_DIFF_COMMAND_H

/* `dwarfprof diff A B': two recordings, function by function. Returns an exit code. */
int diff_command(int argc, char **argv);

#endif
