/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_SAMPLING_H
#define DP_CLI_SAMPLING_H

struct options;

/*
 * Samples and reports as the command line says: calls record_run() with this program's signals and
 * names. Returns the exit code. All messages have been printed by then. Calls begin() before, if it
 * is not NULL, with a descriptor that becomes readable, and stays so, when sampling is to end; it is
 * closed before this returns. A negative errno of begin() ends the run.
 */
int sampling_run(struct options *options, int (*begin)(void *arg, int end_fd), void *arg);

#endif
