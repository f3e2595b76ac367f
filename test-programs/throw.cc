// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <ucontext.h>

#include "oracle.h"
#include "scenario.h"

namespace {

/*
 * Bytes of code from writing a handler's address to loading its stack pointer, and from there to
 * the jump.
 */
constexpr unsigned long LANDING_SIZE = 48, JUMP_SIZE = 4;

/* Records the stack while an exception passes through its scope. */
struct Guard {
	~Guard() { oracle_check(); }
};

/* Records the stack while the exception object is constructed, and when it is destroyed. */
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

/* The trap flag: a signal after each instruction. */
constexpr unsigned long TRAP = 0x100;

__attribute__((always_inline)) inline void set_stepping(bool on)
{
	unsigned long flags = __builtin_ia32_readeflags_u64();

	__builtin_ia32_writeeflags_u64(on ? flags | TRAP : flags & ~TRAP);
}

/* libgcc loads the stack pointer from rcx only at the end of a landing. */
void on_step(int, siginfo_t *, void *context)
{
	static const unsigned char mov_rcx_rsp[] = { 0x48, 0x89, 0xcc };
	auto pc = reinterpret_cast<const char *>(
		static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP]);

	if (memmem(pc - JUMP_SIZE, JUMP_SIZE + LANDING_SIZE, mov_rcx_rsp, sizeof(mov_rcx_rsp)))
		oracle_check();
}

} // namespace

/* Every moment of the last instructions before a handler. */
extern "C" void scenario_landing(void)
{
	struct sigaction action = {};

	action.sa_sigaction = on_step;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGTRAP, &action, nullptr);
	for (int i = 0; i < 2; i++) {
		/* In the first throw of a static program, libgcc sorts all unwind information. */
		bool is_stepping = i > 0 && oracle_is_chosen();

		oracle_timer_pause(is_stepping || scenario_library_dir == nullptr);
		try {
			set_stepping(is_stepping);
			catch_and_throw(2);
		} catch (const std::exception &) {
			set_stepping(false);
		}
		oracle_timer_pause(0);
	}
}

extern "C" void scenario_throw(void)
{
	/*
	 * In a static program libgcc's unwinder takes a lock, and an interrupting call would
	 * deadlock.
	 */
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
