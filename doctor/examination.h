/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DOCTOR_EXAMINATION_H
#define DP_DOCTOR_EXAMINATION_H

#include "doctor/doctor.h"
#include "kernel/capability.h"

/* The doctor's notebook: findings in the making. */
struct examination {
	struct doctor *doctor;
	struct capability_sets caps;
	uint64_t advised;       /* what the program's file should get, as far as was said */
	const char *group;      /* of the findings to come */
	const char *btf;        /* a file with the kernel's types, or NULL */
	bool users;             /* capabilities are those of the whole machine */
	bool multi;             /* uprobes need no more than CAP_BPF and CAP_PERFMON */
	int err;                /* -ENOMEM: the rest is in vain */
	struct finding nowhere; /* what is added to then */
};

/* Note a fact. What is returned may be added to; it stays until the next one. */
struct finding *examination_add(struct examination *e, const char *what, enum finding_state state,
				const char *need);

/* Set a finding's value or fix. */
void examination_set(struct examination *e, char **to, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * May this process use the capability? CAP_SYS_ADMIN is as good as those that
 * were split off from it. None counts that is one of another user namespace than
 * the first: capable(), kernel/capability.c.
 */
bool examination_has(const struct examination *e, int capability);

/*
 * Say how to get a capability. A file can give what the bounding set has; in a
 * container, which lacks others, they are given at its start.
 */
void examination_advise(struct examination *e, struct finding *f, int capability);

/*
 * Note something that was tried, and came back with 0 or a negative errno: then
 * its state is `without`. What a missing capability forbids to try is not known.
 */
struct finding *examination_try(struct examination *e, const char *what, int err,
				enum finding_state without, const char *need);

#endif
