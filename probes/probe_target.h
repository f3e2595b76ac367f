/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_PROBE_TARGET_H
#define DP_PROBES_PROBE_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

/* A process that a probe is set in; a later process with its PID is not taken for it. */
struct probe_target {
	unsigned int pid;
	int pidfd;    /* -1: none */
	char *domain; /* when it was opened: security_domain_read() */
};

/* 0; -ESRCH: there is no such process; or another negative errno. */
int probe_target_open(unsigned int pid, struct probe_target *ret);
void probe_target_close(struct probe_target *target);

bool probe_target_has_ended(const struct probe_target *target);

/*
 * May the user trace it? Checks what the BPF program checks at each hit (probe_may_trace(), bpf/probe_slots.bpf.h): it
 * must not have, or have had since its exec, other privileges than the user. Also checks what BPF cannot: that its
 * security domain is the same as when it was opened. False also if it has ended.
 */
bool probe_target_is_of(const struct probe_target *target, uid_t user, gid_t group);

#endif
