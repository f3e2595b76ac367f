/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_DUMP_H
#define DP_PROFILER_DUMP_H

struct record_options;

/*
 * `dwarfprof dump`: takes the stacks of all threads of the given processes, or of the given
 * threads, once, without stopping them. Ignores the options that say when to sample. Returns the
 * exit code. All messages have been printed by then.
 */
int dump_run(const struct record_options *options);

#endif
