/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_PROCESS_USER_H
#define DP_SANDBOX_PROCESS_USER_H

#include <sys/types.h>

/*
 * The user who is charged for a process: its effective user by proc_pid_status(5). (A process can make its
 * /proc directory belong to root, prctl(PR_SET_DUMPABLE).) In a user namespace, which may have thousands of
 * users, it is the namespace's creator, unless that is root. 0, -ESRCH if there is no such process, or
 * another negative errno.
 */
int process_user(pid_t pid, uid_t *ret);

#endif
