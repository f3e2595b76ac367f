/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DOCTOR_EXAMINATION_H
#define DP_DOCTOR_EXAMINATION_H

#include "doctor/doctor.h"
#include "kernel/capability.h"

/* Collects the doctor's findings. */
struct examination {
	struct doctor *doctor;
	struct capability_sets caps;
	uint64_t advised;       /* capabilities advised so far for the program's file */
	const char *group;      /* of the next findings */
	const char *btf;        /* a file with the kernel's types, or NULL */
	bool users;             /* in the initial user namespace: capabilities count */
	bool multi;             /* uprobes need only CAP_BPF and CAP_PERFMON */
	int err;                /* -ENOMEM: later findings are dropped */
	struct finding nowhere; /* a dummy to write to after that */
};

/* Adds a finding. The caller may fill it in; the pointer is valid until the next one is added. */
struct finding *examination_add(struct examination *e, const char *what, enum finding_state state,
				const char *need);

/* Sets a finding's value or fix. */
void examination_set(struct examination *e, char **to, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * May this process use the capability? CAP_SYS_ADMIN includes those split off from it. Capabilities
 * in another user namespace than the initial one do not count: capable(), kernel/capability.c.
 */
bool examination_has(const struct examination *e, int capability);

/*
 * Says how to get a capability. File capabilities can provide what is in the bounding set; a
 * container that lacks others must be started with them.
 */
void examination_advise(struct examination *e, struct finding *f, int capability);

/*
 * Adds the result of an attempt: 0 or a negative errno, for which the state is `without`. If the
 * attempt itself needs a capability that is missing, the state is unknown.
 */
struct finding *examination_try(struct examination *e, const char *what, int err,
				enum finding_state without, const char *need);

#endif
