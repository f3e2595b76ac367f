/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_FETCH_H
#define DP_PROFILER_FETCH_H

struct names;

/* What is said while debug files are fetched from servers (symbols/debug_server.h). */

/* Sampling is over: from now on servers may be asked, as the options of names say. */
void fetch_begin(struct names *names);
/* All names have been looked up: say what came of it, if any were. */
void fetch_end(struct names *names);

#endif
