// SPDX-License-Identifier: Apache-2.0
/* Names of signals and their codes, compared with those of the C library. */
#include "report/signal_word.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

static char buffer[SIGNAL_WORD_SIZE];

Test(signal_word, names_are_the_libraries)
{
	static const int core[] = { SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
				    SIGFPE,  SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS };

	for (size_t i = 0; i < sizeof(core) / sizeof(*core); i++) {
		const char *name = signal_name(core[i], buffer);

		cr_assert_eq(strncmp(name, "SIG", 3), 0, "%s", name);
		cr_assert_str_eq(name + 3, sigabbrev_np(core[i]));
	}
	cr_assert_str_eq(signal_name(40, buffer), "signal 40");
}

#define EXPECT_CODE(signal, name)                                                                  \
	do {                                                                                       \
		cr_assert_str_eq(signal_code_name(signal, name, buffer), #name);                   \
		cr_assert(signal_phrase(signal_name(signal, buffer), #name));                      \
	} while (0)

Test(signal_word, codes_are_the_libraries)
{
	EXPECT_CODE(SIGSEGV, SEGV_MAPERR);
	EXPECT_CODE(SIGSEGV, SEGV_ACCERR);
	EXPECT_CODE(SIGSEGV, SEGV_BNDERR);
	EXPECT_CODE(SIGSEGV, SEGV_PKUERR);
	EXPECT_CODE(SIGSEGV, SI_KERNEL);
	EXPECT_CODE(SIGBUS, BUS_ADRALN);
	EXPECT_CODE(SIGBUS, BUS_ADRERR);
	EXPECT_CODE(SIGBUS, BUS_OBJERR);
	EXPECT_CODE(SIGBUS, BUS_MCEERR_AR);
	EXPECT_CODE(SIGBUS, BUS_MCEERR_AO);
	EXPECT_CODE(SIGILL, ILL_ILLOPC);
	EXPECT_CODE(SIGILL, ILL_ILLOPN);
	EXPECT_CODE(SIGILL, ILL_ILLADR);
	EXPECT_CODE(SIGILL, ILL_ILLTRP);
	EXPECT_CODE(SIGILL, ILL_PRVOPC);
	EXPECT_CODE(SIGILL, ILL_PRVREG);
	EXPECT_CODE(SIGILL, ILL_COPROC);
	EXPECT_CODE(SIGILL, ILL_BADSTK);
	EXPECT_CODE(SIGFPE, FPE_INTDIV);
	EXPECT_CODE(SIGFPE, FPE_INTOVF);
	EXPECT_CODE(SIGFPE, FPE_FLTDIV);
	EXPECT_CODE(SIGFPE, FPE_FLTOVF);
	EXPECT_CODE(SIGFPE, FPE_FLTUND);
	EXPECT_CODE(SIGFPE, FPE_FLTRES);
	EXPECT_CODE(SIGFPE, FPE_FLTINV);
	EXPECT_CODE(SIGFPE, FPE_FLTSUB);
	EXPECT_CODE(SIGTRAP, TRAP_BRKPT);
	EXPECT_CODE(SIGTRAP, TRAP_TRACE);
	EXPECT_CODE(SIGTRAP, TRAP_BRANCH);
	EXPECT_CODE(SIGTRAP, TRAP_HWBKPT);
	EXPECT_CODE(SIGABRT, SI_TKILL);
	EXPECT_CODE(SIGABRT, SI_USER);
	EXPECT_CODE(SIGABRT, SI_QUEUE);
	EXPECT_CODE(SIGABRT, SI_TIMER);
	EXPECT_CODE(SIGABRT, SI_MESGQ);
	EXPECT_CODE(SIGABRT, SI_ASYNCIO);
	EXPECT_CODE(SIGABRT, SI_SIGIO);
}

Test(signal_word, a_code_means_something_else_for_each_signal)
{
	cr_assert_str_eq(signal_phrase("SIGSEGV", "SEGV_MAPERR"), "address not mapped");
	cr_assert_str_eq(signal_phrase("SIGABRT", "SI_TKILL"), "abort() or raise()");
	cr_assert_str_eq(signal_phrase("SIGBUS", "SI_TKILL"), "raise() or tgkill()");
	cr_assert_str_eq(signal_phrase("SIGTRAP", "SI_KERNEL"), "breakpoint instruction");
	cr_assert_str_eq(signal_phrase("SIGQUIT", "SI_KERNEL"), "sent by the kernel");
	cr_assert_null(signal_phrase("SIGBUS", "SEGV_MAPERR"));
}

Test(signal_word, unknown_codes_are_numbers)
{
	cr_assert_str_eq(signal_code_name(SIGSEGV, 77, buffer), "code 77");
	cr_assert_null(signal_phrase("SIGSEGV", "code 77"));
	cr_assert_str_eq(signal_code_name(SIGABRT, 1, buffer), "code 1", "of no other signal");
}
