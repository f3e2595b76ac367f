/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_FILE_LIMIT_H
#define DP_PROFILER_FILE_LIMIT_H

/*
 * Allow as many open files as the hard limit does: each binary has a descriptor, and each
 * CPU several, for which the usual soft limit is too low on a whole machine. What is
 * started afterwards inherits it.
 */
void file_limit_raise(void);

#endif
