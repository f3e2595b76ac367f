/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_CPU_BUDGET_H
#define DP_SANDBOX_CPU_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * CPU time for what may wait, the making of tables and the look-up of names: a share of one CPU. A
 * step of such work begins only if earlier ones for the same user's processes were paid for, so a long
 * one is followed by a long pause. All who are in debt are paid for alike, and who is not does not wait
 * for others; together they may be ahead by a step each. What is not used is saved for
 * CPU_BUDGET_SAVED_NS. Any thread may use it.
 */
struct cpu_budget;

#define CPU_BUDGET_SAVED_NS UINT64_C(10000000000)
/* Who pays for requests for debug files, whoever's processes they are for. Hardly any user has this number. */
#define CPU_BUDGET_FETCHES ((uid_t)-2)

/* Sums, which may be those of several budgets one after the other. */
struct cpu_budget_counts {
	_Atomic uint64_t spent_ns;  /* CPU time */
	_Atomic uint64_t waited_ns; /* time in which work has waited, for each user */
	_Atomic uint64_t refused;   /* steps that were not to be waited for */
};

/* share: of a CPU, above 0. The caller keeps the counts. 0 or -ENOMEM. */
int cpu_budget_new(double share, struct cpu_budget_counts *counts, struct cpu_budget **ret);
/* For another user, such as parsers of a job that hangs. Accepts NULL, and returns it then. */
struct cpu_budget *cpu_budget_hold(struct cpu_budget *budget);
/* Lifted before that, it needs the counts no more. Accepts NULL. Returns NULL. */
struct cpu_budget *cpu_budget_drop(struct cpu_budget *budget);

/* Until this, there is no limit. */
void cpu_budget_begin(struct cpu_budget *budget);
/* There is no limit from now on, and who waits goes on. */
void cpu_budget_lift(struct cpu_budget *budget);

/* All that follows accept NULL, for no limit. */

/* A time after which to ask again; 0: a step for this user may begin. */
uint64_t cpu_budget_pause_ns(struct cpu_budget *budget, uid_t user);
/* The same for work that nobody waits for: that it waits is no reason for others to wait less. */
uint64_t cpu_budget_rest_ns(struct cpu_budget *budget, uid_t user);
/*
 * Waits until a step may begin, for one who serves all users. False: it may not, and others are not to
 * wait any longer for this user.
 */
bool cpu_budget_wait(struct cpu_budget *budget, uid_t user);
/* A step has used so much CPU time. */
void cpu_budget_spend(struct cpu_budget *budget, uid_t user, uint64_t cpu_ns);

#endif
