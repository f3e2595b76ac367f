// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "oracle.h"
#include "scenario.h"

namespace {

/* Records the stack while an exception passes through its scope. */
struct Guard {
	~Guard() { oracle_check(); }
};

/* Records the stack while it is being made to be thrown, and when it is gone. */
struct Error {
	Error() { oracle_check(); }
	Error(const Error &other) : value(other.value) { oracle_check(); }
	~Error() { oracle_check(); }
	int value = 1;
};

__attribute__((noinline)) int descend(int n)
{
	Guard guard;

	if (n == 0)
		throw Error();
	return descend(n - 1) + 1;
}

__attribute__((noinline)) int catch_and_throw(int n)
{
	try {
		return descend(n);
	} catch (const Error &error) {
		oracle_check();
		throw std::runtime_error("again");
	}
}

} // namespace

extern "C" void scenario_throw(void)
{
	/* In a static program libgcc's unwinder takes a lock: interrupted, it would wait for itself. */
	oracle_timer_pause(scenario_library_dir == nullptr);
	for (int i = 0; i < 2; i++) {
		try {
			catch_and_throw(5);
		} catch (const std::exception &) {
			oracle_check();
		}
	}
	oracle_timer_pause(0);
}
