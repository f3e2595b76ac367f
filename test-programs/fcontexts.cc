// SPDX-License-Identifier: Apache-2.0
// Coroutines by boost.context on their own stacks, which alternate.
#include <boost/context/fiber.hpp>

namespace ctx = boost::context;

static volatile unsigned int sink;

static __attribute__((noinline)) unsigned int fibonacci(unsigned int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static __attribute__((noinline)) ctx::fiber coroutine(ctx::fiber &&other)
{
	for (;;) {
		sink = sink + fibonacci(18);
		other = std::move(other).resume();
	}
}

int main()
{
	ctx::fiber one(coroutine), two(coroutine);

	for (;;) {
		one = std::move(one).resume();
		two = std::move(two).resume();
	}
}
