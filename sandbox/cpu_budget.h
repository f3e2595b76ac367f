/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_CPU_BUDGET_H
#define DP_SANDBOX_CPU_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A budget of CPU time, as a share of one CPU, for work that may wait: making tables and looking up
 * names. A step for a user's processes begins only when the budget has paid for that user's earlier
 * steps, so a long step is followed by a long pause. Users in debt get equal shares; a user without
 * debt does not wait for others. So the users together may be ahead by one step each. Time that
 * nobody uses is saved for up to CPU_BUDGET_SAVED_NS. Any thread may use it.
 */
struct cpu_budget;

#define CPU_BUDGET_SAVED_NS UINT64_C(10000000000)
/*
 * The user that is charged for requests for debug files, whatever process they are for. Hardly any real
 * user has this number.
 */
#define CPU_BUDGET_FETCHES ((uid_t)-2)

/* Sums, which may be those of several budgets one after the other. */
struct cpu_budget_counts {
	_Atomic uint64_t spent_ns;  /* CPU time */
	_Atomic uint64_t waited_ns; /* time that work has waited, summed over users */
	_Atomic uint64_t refused;   /* steps given up instead of waiting */
};

/* share: of a CPU, above 0. The caller keeps the counts. 0 or -ENOMEM. */
int cpu_budget_new(double share, struct cpu_budget_counts *counts, struct cpu_budget **ret);
/* Takes another reference, such as for the parsers of a job that hangs. Accepts NULL, and returns it then. */
struct cpu_budget *cpu_budget_hold(struct cpu_budget *budget);
/* If it was lifted before, it does not need the counts any more. Accepts NULL. Returns NULL. */
struct cpu_budget *cpu_budget_drop(struct cpu_budget *budget);

/* The limit applies from now on. */
void cpu_budget_begin(struct cpu_budget *budget);
/* There is no limit from now on; waiting work continues. */
void cpu_budget_lift(struct cpu_budget *budget);

/* The functions below accept NULL, for no limit. */

/* Returns the time after which to ask again; 0: a step for this user may begin. */
uint64_t cpu_budget_pause_ns(struct cpu_budget *budget, uid_t user);
/* The same for work that nobody waits for, which does not shorten the waits of other users. */
uint64_t cpu_budget_rest_ns(struct cpu_budget *budget, uid_t user);
/*
 * Waits until a step may begin, in a thread that serves all users. Returns false if it may not begin,
 * and other users should wait no longer for this one.
 */
bool cpu_budget_wait(struct cpu_budget *budget, uid_t user);
/* Charges a user for the CPU time of a step. */
void cpu_budget_spend(struct cpu_budget *budget, uid_t user, uint64_t cpu_ns);

#endif
