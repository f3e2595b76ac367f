// SPDX-License-Identifier: Apache-2.0
#include "chain.h"

void chain_second(void (*fn)(int), int depth)
{
	volatile char space[24];

	space[0] = (char)depth;
	if (depth == 0)
		fn(depth);
	else
		chain_first(fn, depth - 1);
	space[1] = space[0];
}
