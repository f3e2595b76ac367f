/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_SAMPLING_H
#define DP_CLI_SAMPLING_H

struct options;

/*
 * Sample, and report, as the command line says: record_run() in a process that is this program's, with
 * its signals and the names that were asked for. Returns the exit code. Everything there is to
 * say has been said.
 */
int sampling_run(struct options *options);

#endif
