/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_REPORT_COMMAND_H
#define DP_CLI_REPORT_COMMAND_H

/* `dwarfprof report FILE' and `dwarfprof convert FILE -o OUT'. Return exit codes. */
int report_command(int argc, char **argv);
int convert_command(int argc, char **argv);

#endif
