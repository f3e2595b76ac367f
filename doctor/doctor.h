/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DOCTOR_DOCTOR_H
#define DP_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds out what this process may do on this machine, and what would help: one finding per fact. Needs no permission
 * and changes nothing. Facts that cannot be determined without a permission are unknown.
 */

/*
 * The state of a fact, seen from profiling.
 *
 *    X(enumerator, word)
 */
#define FINDING_STATES(X)                                                                          \
	X(OK, "ok")                                                                                \
	X(LIMITED, "limited") /* all processes can be profiled, but something is missing */        \
	X(MISSING, "missing") /* they cannot be profiled */                                        \
	X(UNKNOWN, "unknown") /* could not be found out */

#define X(name, word) FINDING_##name,
enum finding_state { FINDING_STATES(X) FINDING_N_STATES };
#undef X

const char *finding_word(enum finding_state state);

struct finding {
	const char *group; /* "capabilities" */
	char *what;        /* "CAP_SYSLOG" */
	char *value;       /* "2", "Operation not permitted"; NULL: the state says it */
	enum finding_state state;
	char *need; /* what it is needed for */
	char *fix;  /* the command that helps; NULL: none is needed, or none helps */
};

struct doctor {
	struct finding *findings; /* ordered by group */
	size_t n, size;
	/* What can be profiled. */
	bool own_processes; /* of this user */
	bool all_processes;
	bool kernel; /* the kernel's functions, by name */
	bool uprobes;
};

/*
 * btf: a file with the kernel's types (kernel_types.h), or NULL. helper: the program for parsers_new(),
 * or NULL: they are not examined. 0 or -ENOMEM.
 */
int doctor_examine(struct doctor *ret, const char *btf, const char *helper);
void doctor_done(struct doctor *doctor);

#endif
