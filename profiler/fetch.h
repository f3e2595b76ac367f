/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_FETCH_H
#define DP_PROFILER_FETCH_H

struct names;

/* Progress messages while debug files are fetched from servers (symbols/debug_server.h). */

/* Call it after sampling: from now on servers may be queried, if the options of names allow it. */
void fetch_begin(struct names *names);
/* Call it after all names are looked up: logs the result, if servers were queried. */
void fetch_end(struct names *names);

#endif
