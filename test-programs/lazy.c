// SPDX-License-Identifier: Apache-2.0
#include "dynamic_link.h"

#define X(n)                                                                                       \
	void lazy_##n(void (*fn)(void))                                                            \
	{                                                                                          \
		volatile char space[n + 1];                                                        \
                                                                                                   \
		space[0] = n;                                                                      \
		fn();                                                                              \
		space[0]++;                                                                        \
	}
LAZY_FUNCTIONS(X)
#undef X

void (*lazy_resolver_calls)(void);

static void chosen(void (*fn)(void))
{
	volatile int n = 0;

	fn();
	n++;
}

/* Runs inside the dynamic linker's resolver, whose frame is found through rbx. */
__attribute__((used)) static void (*resolve(void))(void (*)(void))
{
	volatile int n = 0;

	if (lazy_resolver_calls)
		lazy_resolver_calls();
	n++;
	return chosen;
}

void lazy_chosen(void (*fn)(void)) __attribute__((ifunc("resolve")));
