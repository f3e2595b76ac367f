/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_FILTER_H
#define DP_KERNEL_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"

/*
 * What narrows a target: CPUs, a user, a cgroup, a pattern for names. All conditions must hold. The
 * kernel filters samples (bpf/filter.bpf.h). User space applies the same filter to processes, to
 * know whose tables to build, and tells the kernel which names do not match.
 */
struct filter {
	char *cpus;                      /* as given; NULL: all */
	uint64_t mask[DP_MAX_CPUS / 64]; /* one bit per CPU */
	char *user;                      /* as given; NULL: any */
	uid_t uid;
	char *cgroup;      /* as given; NULL: any */
	char *cgroup_path; /* as in /proc/PID/cgroup, if the whole hierarchy is visible */
	int cgroup_fd;
	char *comm; /* POSIX extended regular expression; NULL: any */
	regex_t regex;
	/* If set, called with each name that does not match: all bytes of the kernel's. */
	void (*tell)(void *arg, const char comm[DP_COMM_SIZE]);
	void *arg;
};

/* Size of a buffer for an explanation. */
#define FILTER_WHY_SIZE 512

void filter_init(struct filter *filter);
void filter_done(struct filter *filter);

/*
 * Set one condition. Return 0, or a negative errno with a sentence for the user in `why`. CPUs are
 * a list such as "0-3,7", and all must be online. A user is a name or a number. A cgroup is a
 * directory of a cgroup v2 file system, or its path within that. The last call wins, except that
 * CPUs accumulate.
 */
int filter_set_cpus(struct filter *filter, const char *list, char why[FILTER_WHY_SIZE]);
int filter_set_user(struct filter *filter, const char *user, char why[FILTER_WHY_SIZE]);
int filter_set_cgroup(struct filter *filter, const char *path, char why[FILTER_WHY_SIZE]);
int filter_set_comm(struct filter *filter, const char *regex, char why[FILTER_WHY_SIZE]);

bool filter_has_cpu(const struct filter *filter, unsigned int cpu);

/*
 * filter_is_set(): is there any condition? filter_by_process(): any that excludes whole processes,
 * which CPUs do not?
 */
bool filter_is_set(const struct filter *filter);
bool filter_by_process(const struct filter *filter);

/* Does a process's name match? True if there is no pattern. */
bool filter_matches_comm(const struct filter *filter, const char comm[DP_COMM_SIZE]);

/*
 * Would the kernel sample this process in its present state? True for a process that is gone,
 * because it may have been sampled.
 */
bool filter_matches_process(const struct filter *filter, pid_t pid);

/* Appends the conditions to the buffer: " of user x named y in cgroup z on CPUs 0-3". */
void filter_describe(const struct filter *filter, char *buffer, size_t size);

#endif
