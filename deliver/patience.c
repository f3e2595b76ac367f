// SPDX-License-Identifier: Apache-2.0
#include "deliver/patience.h"

size_t patience_choose(struct patience *p, uint64_t oldest, uint64_t limit_ns, uint64_t now_ns)
{
	if (oldest != p->number || p->since_ns == 0)
		*p = (struct patience){ .number = oldest, .since_ns = now_ns };
	if (p->takes_others || p->n < PATIENCE_ATTEMPTS || now_ns - p->since_ns < limit_ns)
		return 0;
	return 1 + p->n_others;
}

bool patience_fail(struct patience *p, size_t chosen, bool blamed)
{
	if (chosen > 0) {
		p->n_others++;
		return false;
	}
	p->n += blamed;
	if (p->takes_others && blamed && ++p->n_proofs == PATIENCE_PROOFS)
		return true;
	/* All others were tried, or the backend is away. */
	p->takes_others = false;
	p->n_others = 0;
	return false;
}

void patience_succeed(struct patience *p, size_t chosen)
{
	p->takes_others |= chosen > 0;
}
