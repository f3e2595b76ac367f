/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_ANNOTATE_COMMAND_H
#define DP_CLI_ANNOTATE_COMMAND_H

/* `dwarfprof annotate FUNCTION FILE': where inside a function time went. Returns an exit code. */
int annotate_command(int argc, char **argv);

#endif
