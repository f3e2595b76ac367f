// SPDX-License-Identifier: Apache-2.0
#include "dynamic_link.h"

void plugin_run(void (*fn)(void))
{
	volatile int n = 0;

	lazy_resolver_calls = fn;
	lazy_chosen(fn);
	n++;
}
