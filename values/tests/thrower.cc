// SPDX-License-Identifier: Apache-2.0
/* Linked with the C++ runtime in different ways: uses what throws, and some classes of it. */
#include <new>
#include <stdexcept>

static void fail(int i)
{
	switch (i) {
	case 1:
		throw std::runtime_error("1");
	case 2:
		throw std::logic_error("2");
	case 3:
		throw std::bad_alloc();
	case 4:
		throw std::bad_array_new_length();
	}
}

int main(int argc, char **)
{
	try {
		fail(argc);
	} catch (const std::runtime_error &) {
		return 0;
	} catch (...) {
		throw;
	}
	return 1;
}
