// SPDX-License-Identifier: Apache-2.0
#include "dynamic_link.h"

void plugin_run(void (*fn)(void))
{
	volatile int n = 0;

#define X(i) lazy_##i(fn);
	LAZY_FUNCTIONS(X)
#undef X
	n++;
}
