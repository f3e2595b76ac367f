// SPDX-License-Identifier: Apache-2.0
/*
 * usage: calls N
 *
 * Once there is a line on stdin, calls functions whose names C++ mangles, each as many times as its
 * own multiple of N, and then waits for the end of stdin. Its functions are exported.
 */
#include <cstdio>
#include <cstdlib>

#define NOINLINE __attribute__((noinline, noclone))

static volatile long sum;

namespace shapes
{
struct Circle {
	NOINLINE void grow(int by)
	{
		sum = sum + by;
	}
	NOINLINE void grow(double by, const char *why)
	{
		sum = sum + (long)by + *why;
	}
	NOINLINE void shrink() const
	{
		sum = sum - 1;
	}
	NOINLINE long operator[](int i) const
	{
		sum = sum + 2;
		return sum + i;
	}
};

template <typename T> NOINLINE T twice(T value)
{
	sum = sum + 1;
	return value + value;
}

namespace detail
{
NOINLINE void draw()
{
	sum = sum + 3;
}
}
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	shapes::Circle circle;

	getchar();
	for (int i = 0; i < n; i++)
		circle.grow(i);
	for (int i = 0; i < 2 * n; i++)
		circle.grow(i, "because");
	for (int i = 0; i < 3 * n; i++)
		circle.shrink();
	for (int i = 0; i < 4 * n; i++)
		circle[i];
	for (int i = 0; i < 5 * n; i++)
		shapes::twice(i);
	for (int i = 0; i < 6 * n; i++)
		shapes::twice((long)i);
	for (int i = 0; i < 7 * n; i++)
		shapes::detail::draw();
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
