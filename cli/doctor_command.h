/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_DOCTOR_COMMAND_H
#define DP_CLI_DOCTOR_COMMAND_H

/*
 * `dwarfprof doctor`: shows on stdout what this process can profile here, what is missing, and what
 * helps. argv[0] is the command's name. Returns the exit code: EXIT_CODE_OK if all processes can be
 * profiled.
 */
int doctor_command(int argc, char **argv);

#endif
