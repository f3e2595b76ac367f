/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_PROCESS_USER_H
#define DP_SANDBOX_PROCESS_USER_H

#include <sys/types.h>

/*
 * Whose a process is: its effective user, as proc_pid_status(5) has it (the owner of its directory is
 * root if the process wants that, prctl(PR_SET_DUMPABLE)). In a user namespace, which may have thousands
 * of users, whoever made that, unless it was root. 0, -ESRCH if there is no such process, or another
 * negative errno.
 */
int process_user(pid_t pid, uid_t *ret);

#endif
