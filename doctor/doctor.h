/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DOCTOR_DOCTOR_H
#define DP_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What this process may do on this machine, fact by fact, and what would help.
 * Nothing is changed, and nothing needs a permission: without one it is found
 * out less, and that is said.
 */

/*
 * What a fact means for profiling.
 *
 *   X(enumerator, word)
 */
#define FINDING_STATES(X)                                                                          \
	X(OK, "ok")                                                                                \
	X(LIMITED, "limited") /* profiles of all processes can be had, but lack something */       \
	X(MISSING, "missing") /* they cannot */                                                    \
	X(UNKNOWN, "unknown") /* it could not be found out */

#define X(name, word) FINDING_##name,
enum finding_state { FINDING_STATES(X) FINDING_N_STATES };
#undef X

const char *finding_word(enum finding_state state);

struct finding {
	const char *group; /* "capabilities" */
	char *what;        /* "CAP_SYSLOG" */
	char *value; /* what was found: "2", "Operation not permitted"; NULL: the state says it */
	enum finding_state state;
	char *need; /* what it is needed for */
	char *fix;  /* the command that helps; NULL: nothing is to be done, or nothing can be */
};

struct doctor {
	struct finding *findings; /* those of a group follow each other */
	size_t n, size;
	/* What can be profiled */
	bool own_processes; /* of this user */
	bool all_processes;
	bool kernel; /* the kernel's functions, by name */
	bool uprobes;
};

/* btf: a file with the kernel's types (kernel_types.h), or NULL. 0 or -ENOMEM. */
int doctor_examine(struct doctor *ret, const char *btf);
void doctor_done(struct doctor *doctor);

#endif
