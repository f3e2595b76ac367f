/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_DOCTOR_COMMAND_H
#define DP_CLI_DOCTOR_COMMAND_H

/*
 * `dwarfprof doctor`: read the command line, whose first word is the name of
 * the command, and show on stdout what this process can profile here, what is
 * missing, and what helps. Returns the exit code: EXIT_CODE_OK if all processes
 * can be profiled.
 */
int doctor_command(int argc, char **argv);

#endif
