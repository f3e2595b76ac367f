/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_DUMP_H
#define DP_PROFILER_DUMP_H

struct record_options;

/*
 * `dwarfprof dump`: the stacks of all threads of the processes, or of the threads, that
 * the options name, once, without stopping any. Of the options, those that say when to
 * take a sample do not matter. Returns the exit code. Everything there is to say has been
 * said.
 */
int dump_run(const struct record_options *options);

#endif
