/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_VERIFICATION_H
#define DP_REPORT_VERIFICATION_H

#include <stddef.h>

struct verified_stack;

/* The verification of one sample, by another thread than those that make and report the sample. */
struct verification {
	/* Waits for the result, which lives as long as the verification. */
	const struct verified_stack *(*wait)(struct verification *verification);
	/* Its user needs it no more. */
	void (*drop)(struct verification *verification);
	size_t size; /* approximate memory use */
};

/* NULL is allowed. */
static inline void verification_drop(struct verification *verification)
{
	if (verification)
		verification->drop(verification);
}

#endif
