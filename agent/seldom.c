// SPDX-License-Identifier: Apache-2.0
#include "agent/seldom.h"

#include <stdatomic.h>

#include "log/clock.h"

bool seldom_may_say(struct seldom *s, uint64_t every_ns, uint64_t *ret_unsaid)
{
	uint64_t now = clock_now_ns(), last = atomic_load(&s->said_ns);

	if ((last && now < last + every_ns) ||
	    !atomic_compare_exchange_strong(&s->said_ns, &last, now)) {
		s->unsaid++;
		return false;
	}
	*ret_unsaid = atomic_exchange(&s->unsaid, 0);
	return true;
}
