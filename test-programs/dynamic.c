// SPDX-License-Identifier: Apache-2.0
#include <alloca.h>
#include <string.h>

#include "oracle.h"
#include "scenario.h"

__attribute__((noinline)) static int with_alloca(int n)
{
	char *space = alloca((size_t)n * 17 + 1);

	memset(space, n, (size_t)n * 17 + 1);
	if (n > 0)
		space[0] = (char)with_alloca(n - 1);
	else
		oracle_check();
	return space[n];
}

__attribute__((noinline)) static int with_array(int n)
{
	int space[n + 3];

	memset(space, 0, sizeof(space));
	if (n > 0)
		space[n] = with_array(n - 1);
	else
		oracle_check();
	return space[n] + n;
}

void scenario_dynamic(void)
{
	for (int i = 0; i < 10; i++) {
		with_alloca(12);
		with_array(12);
	}
}
