/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_SIGNAL_WORD_H
#define DP_REPORT_SIGNAL_WORD_H

/* Names of signals and of their codes (si_code, sigaction(2)), and what they mean. */

/* The labels of a crash: a name each, the address as a text, and two numbers. */
#define LABEL_SIGNAL "signal"
#define LABEL_SIGNAL_CODE "signal.code"
#define LABEL_FAULT_ADDRESS "fault.address"
#define LABEL_SIGNAL_SENDER                                                                        \
	"signal.sender" /* of kill(): the process, as the one that has ended sees it */
#define LABEL_SIGNAL_SYSCALL "signal.syscall" /* of SIGSYS */

/* Room for every name. */
#define SIGNAL_WORD_SIZE 24

/* "SIGSEGV", or "signal 40" in the buffer. */
const char *signal_name(int number, char buffer[SIGNAL_WORD_SIZE]);

/* "SEGV_MAPERR", "SI_TKILL", or "code 77" in the buffer. */
const char *signal_code_name(int number, int code, char buffer[SIGNAL_WORD_SIZE]);

/* What happened, by both names, as a phrase: "address not mapped". NULL: it is not known. */
const char *signal_phrase(const char *signal, const char *code);

#endif
