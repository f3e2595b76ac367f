/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_SECURITY_DOMAIN_H
#define DP_PROFILER_SECURITY_DOMAIN_H

/*
 * By which rules of a security module, such as SELinux or AppArmor, a process is bound: as the kernel names them
 * in /proc/PID/attr/current. *ret NULL: by none; "": that may not be read, and is no domain. 0 or -ENOMEM; the caller frees *ret.
 */
int security_domain_read(unsigned int pid, char **ret);

#endif
