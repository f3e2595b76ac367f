/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_FILE_LIMIT_H
#define DP_PROFILER_FILE_LIMIT_H

/*
 * Raises the limit of open files to the hard limit: each binary needs a descriptor, and each CPU
 * several, so the usual soft limit is too low to profile a whole machine. Child processes inherit
 * it.
 */
void file_limit_raise(void);

#endif
