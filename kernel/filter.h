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
 * What narrows a target: only on some CPUs, only of a user, in a cgroup, or with
 * certain names. All that was asked for must hold. The kernel does the choosing
 * (bpf/filter.bpf.h); user space asks the same of a process to know whose tables
 * to make, and tells the kernel which names match.
 */
struct filter {
	char *cpus;                      /* as they were given; NULL: all */
	uint64_t mask[DP_MAX_CPUS / 64]; /* a bit for each of them */
	char *user;                      /* as given; NULL: any */
	uid_t uid;
	char *cgroup;      /* as given; NULL: any */
	char *cgroup_path; /* as /proc/PID/cgroup would show it, if we see all of the hierarchy */
	int cgroup_fd;
	char *comm; /* POSIX extended regular expression; NULL: any */
	regex_t regex;
	/* If set, told each name that did not match: all bytes, as the kernel has it. */
	void (*tell)(void *arg, const char comm[DP_COMM_SIZE]);
	void *arg;
};

/* Room for why something cannot be filtered by. */
#define FILTER_WHY_SIZE 512

void filter_init(struct filter *filter);
void filter_done(struct filter *filter);

/*
 * Ask for something. 0, or a negative errno with a sentence for the user in why.
 * CPUs are a list such as "0-3,7"; all must be online. A user is a name or a
 * number. A cgroup is a directory of a cgroup v2 file system, or its path in
 * there. The last one wins, but CPUs are added up.
 */
int filter_set_cpus(struct filter *filter, const char *list, char why[FILTER_WHY_SIZE]);
int filter_set_user(struct filter *filter, const char *user, char why[FILTER_WHY_SIZE]);
int filter_set_cgroup(struct filter *filter, const char *path, char why[FILTER_WHY_SIZE]);
int filter_set_comm(struct filter *filter, const char *regex, char why[FILTER_WHY_SIZE]);

bool filter_has_cpu(const struct filter *filter, unsigned int cpu);

/* Was anything asked for? And does it leave out whole processes, as CPUs do not? */
bool filter_is_set(const struct filter *filter);
bool filter_by_process(const struct filter *filter);

/* Does the name of a process match? True if names do not matter. */
bool filter_matches_comm(const struct filter *filter, const char comm[DP_COMM_SIZE]);

/*
 * Would the kernel sample a process as it is now? One that is gone may have been
 * sampled, and is taken to match.
 */
bool filter_matches_process(const struct filter *filter, pid_t pid);

/* " of user x named y in cgroup z on CPUs 0-3", as far as asked for, behind what the buffer holds. */
void filter_describe(const struct filter *filter, char *buffer, size_t size);

#endif
