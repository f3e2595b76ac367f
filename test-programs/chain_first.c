// SPDX-License-Identifier: Apache-2.0
#include "chain.h"

void chain_first(void (*fn)(int), int depth)
{
	volatile char space[72];

	space[0] = (char)depth;
	if (depth == 0)
		fn(depth);
	else
		chain_second(fn, depth - 1);
	space[1] = space[0];
}
