// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "chain.h"
#include "oracle.h"
#include "scenario.h"

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	oracle_check();
	return (x > y) - (x < y);
}

static void innermost(int depth)
{
	int numbers[] = { 3, 1, 2, depth };

	qsort(numbers, 4, sizeof(numbers[0]), compare);
}

void scenario_callback(void)
{
	for (int i = 0; i < 4; i++)
		chain_first(innermost, 5);
}
