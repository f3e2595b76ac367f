// SPDX-License-Identifier: Apache-2.0
/* A function that exceptions pass through, in a library of its own; or two, of a program. */
#include "thrown.h"

static volatile int n_passed;

struct Guard {
	~Guard()
	{
		n_passed = n_passed + 1;
	}
};

void PASS(void (*fn)(unsigned long), unsigned long i)
{
	Guard guard;

	fn(i);
}

#ifdef PASS_TOO
void PASS_TOO(void (*fn)(unsigned long), unsigned long i)
{
	Guard guard;

	fn(i);
}
#endif
