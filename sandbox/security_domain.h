/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_SECURITY_DOMAIN_H
#define DP_SANDBOX_SECURITY_DOMAIN_H

#include <stdint.h>

/*
 * Reads a process's domain in a security module such as SELinux or AppArmor, from /proc/PID/attr/current.
 * *ret is NULL if there is none, and "", which is no domain, if it may not be read. 0 or -ENOMEM; the caller
 * frees *ret.
 */
int security_domain_read(unsigned int pid, char **ret);

#define SECURITY_DOMAIN_DIGEST_SIZE 32

/* SHA-256 of one; zeros: there is none. */
void security_domain_digest(const char *domain, uint8_t ret[SECURITY_DOMAIN_DIGEST_SIZE]);

#endif
