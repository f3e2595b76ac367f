// SPDX-License-Identifier: Apache-2.0
#include "report/signal_word.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

static const struct {
	int number;
	const char *name;
} signals[] = {
	{ SIGQUIT, "SIGQUIT" }, { SIGILL, "SIGILL" },   { SIGTRAP, "SIGTRAP" },
	{ SIGABRT, "SIGABRT" }, { SIGBUS, "SIGBUS" },   { SIGFPE, "SIGFPE" },
	{ SIGSEGV, "SIGSEGV" }, { SIGXCPU, "SIGXCPU" }, { SIGXFSZ, "SIGXFSZ" },
	{ SIGSYS, "SIGSYS" },
};

#define ANY 0

/*
 * uapi/asm-generic/siginfo.h, as numbers: C libraries do not have the newest names. The first row
 * that fits counts.
 */
static const struct {
	int signal; /* ANY: of each */
	int code;
	const char *name, *phrase;
} codes[] = {
	{ SIGSEGV, 1, "SEGV_MAPERR", "address not mapped" },
	{ SIGSEGV, 2, "SEGV_ACCERR", "access not permitted" },
	{ SIGSEGV, 3, "SEGV_BNDERR", "address out of bounds" },
	{ SIGSEGV, 4, "SEGV_PKUERR", "access refused by a protection key" },
	{ SIGSEGV, 8, "SEGV_MTEAERR", "memory tag differs" },
	{ SIGSEGV, 9, "SEGV_MTESERR", "memory tag differs" },
	{ SIGSEGV, 10, "SEGV_CPERR", "return address differs from the shadow stack's" },
	{ SIGSEGV, SI_KERNEL, "SI_KERNEL", "general protection, such as an impossible address" },
	{ SIGBUS, 1, "BUS_ADRALN", "address not aligned" },
	{ SIGBUS, 2, "BUS_ADRERR", "nothing at the address, such as behind the end of a file" },
	{ SIGBUS, 3, "BUS_OBJERR", "hardware error" },
	{ SIGBUS, 4, "BUS_MCEERR_AR", "damaged memory, which was used" },
	{ SIGBUS, 5, "BUS_MCEERR_AO", "damaged memory, which was not used" },
	{ SIGILL, 1, "ILL_ILLOPC", "illegal opcode" },
	{ SIGILL, 2, "ILL_ILLOPN", "illegal instruction or operand" },
	{ SIGILL, 3, "ILL_ILLADR", "illegal addressing mode" },
	{ SIGILL, 4, "ILL_ILLTRP", "illegal trap" },
	{ SIGILL, 5, "ILL_PRVOPC", "privileged instruction" },
	{ SIGILL, 6, "ILL_PRVREG", "privileged register" },
	{ SIGILL, 7, "ILL_COPROC", "error of a coprocessor" },
	{ SIGILL, 8, "ILL_BADSTK", "error of the stack" },
	{ SIGFPE, 1, "FPE_INTDIV", "integer divided by zero, or result too large" },
	{ SIGFPE, 2, "FPE_INTOVF", "integer overflow" },
	{ SIGFPE, 3, "FPE_FLTDIV", "floating-point number divided by zero" },
	{ SIGFPE, 4, "FPE_FLTOVF", "floating-point overflow" },
	{ SIGFPE, 5, "FPE_FLTUND", "floating-point underflow" },
	{ SIGFPE, 6, "FPE_FLTRES", "floating-point result inexact" },
	{ SIGFPE, 7, "FPE_FLTINV", "floating-point operation invalid" },
	{ SIGFPE, 8, "FPE_FLTSUB", "subscript out of range" },
	{ SIGTRAP, 1, "TRAP_BRKPT", "breakpoint" },
	{ SIGTRAP, 2, "TRAP_TRACE", "single step" },
	{ SIGTRAP, 3, "TRAP_BRANCH", "branch" },
	{ SIGTRAP, 4, "TRAP_HWBKPT", "hardware breakpoint" },
	{ SIGTRAP, 5, "TRAP_UNK", "trap" },
	{ SIGTRAP, 6, "TRAP_PERF", "perf event" },
	{ SIGTRAP, SI_KERNEL, "SI_KERNEL", "breakpoint instruction" },
	{ SIGSYS, 1, "SYS_SECCOMP", "system call refused by seccomp" },
	{ SIGSYS, 2, "SYS_USER_DISPATCH", "system call for the program to handle" },
	{ SIGABRT, SI_TKILL, "SI_TKILL", "abort() or raise()" },
	{ SIGXCPU, SI_KERNEL, "SI_KERNEL", "limit of CPU time reached" },
	{ SIGXFSZ, SI_USER, "SI_USER", "limit of a file's size reached, or kill()" },
	{ ANY, SI_USER, "SI_USER", "sent with kill()" },
	{ ANY, SI_KERNEL, "SI_KERNEL", "sent by the kernel" },
	{ ANY, SI_QUEUE, "SI_QUEUE", "sent with sigqueue()" },
	{ ANY, SI_TIMER, "SI_TIMER", "sent by a timer" },
	{ ANY, SI_MESGQ, "SI_MESGQ", "sent by a message queue" },
	{ ANY, SI_ASYNCIO, "SI_ASYNCIO", "sent when I/O has ended" },
	{ ANY, SI_SIGIO, "SI_SIGIO", "sent when a file is ready" },
	{ ANY, SI_TKILL, "SI_TKILL", "raise() or tgkill()" },
};

const char *signal_name(int number, char buffer[SIGNAL_WORD_SIZE])
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (signals[i].number == number)
			return signals[i].name;
	snprintf(buffer, SIGNAL_WORD_SIZE, "signal %d", number);
	return buffer;
}

const char *signal_code_name(int number, int code, char buffer[SIGNAL_WORD_SIZE])
{
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].code == code && (codes[i].signal == number || codes[i].signal == ANY))
			return codes[i].name;
	snprintf(buffer, SIGNAL_WORD_SIZE, "code %d", code);
	return buffer;
}

const char *signal_phrase(const char *signal, const char *code)
{
	char buffer[SIGNAL_WORD_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (strcmp(codes[i].name, code) == 0 &&
		    (codes[i].signal == ANY ||
		     strcmp(signal_name(codes[i].signal, buffer), signal) == 0))
			return codes[i].phrase;
	return NULL;
}
