/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_SAMPLING_H
#define DP_CLI_SAMPLING_H

struct options;

/*
 * Samples and reports as the command line says: calls record_run() with this program's signals and
 * names. Returns the exit code. All messages have been printed by then.
 */
int sampling_run(struct options *options);

#endif
