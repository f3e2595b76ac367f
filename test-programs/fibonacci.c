// SPDX-License-Identifier: Apache-2.0
/* usage: fibonacci [SECONDS]: deep recursion and nothing else. */
#include <stdio.h>
#include <stdlib.h>

#include "seconds.h"

static unsigned long fibonacci(unsigned int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main(int argc, char **argv)
{
	double end = seconds_now() + (argc > 1 ? atoi(argv[1]) : 1);
	unsigned long sum = 0;

	while (seconds_now() < end)
		sum += fibonacci(27);
	printf("%lu\n", sum);
	return 0;
}
