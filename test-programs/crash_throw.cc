// SPDX-License-Identifier: Apache-2.0
/* Nobody catches what it throws. */
#include <stdexcept>

static volatile int after;

struct order {
	__attribute__((noinline)) void place(int n)
	{
		if (n > 0)
			throw std::runtime_error("no stock"); /* place */
		after++;
	}
};

__attribute__((noinline)) static void sell(int n)
{
	order o;

	o.place(n); /* sell */
	after++;
}

int main()
{
	sell(1); /* main */
}
