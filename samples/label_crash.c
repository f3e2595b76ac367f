// SPDX-License-Identifier: Apache-2.0
/* The signal that has ended a process, what for, and where: sigaction(2), siginfo_t. */
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "report/signal_word.h"
#include "samples/label_source.h"

_Static_assert(offsetof(siginfo_t, si_code) + sizeof(int) <= DP_SIGINFO_SIZE &&
		       offsetof(siginfo_t, si_addr) + sizeof(void *) <= DP_SIGINFO_SIZE &&
		       offsetof(siginfo_t, si_pid) + sizeof(pid_t) <= DP_SIGINFO_SIZE &&
		       offsetof(siginfo_t, si_syscall) + sizeof(int) <= DP_SIGINFO_SIZE,
	       "a record has what is read of it");

/* siginfo_layout(), kernel/signal.c */
static bool has_address(const siginfo_t *info)
{
	switch (info->si_signo) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
		return info->si_code > 0 && info->si_code < SI_KERNEL;
	}
	return false;
}

static int add_address(const siginfo_t *info, struct label_list *list)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIxPTR, (uintptr_t)info->si_addr);
	return label_list_add(list, &(struct label){ .key = LABEL_FAULT_ADDRESS, .text = text });
}

static int add_number(const char *key, int64_t number, struct label_list *list)
{
	return label_list_add(list, &(struct label){ .key = key, .number = number, .unit = "" });
}

/* Whatever else the kernel tells of a signal. */
static int add_rest(const siginfo_t *info, struct label_list *list)
{
	if (has_address(info))
		return add_address(info, list);
	if (info->si_signo == SIGSYS && info->si_code > 0)
		return add_number(LABEL_SIGNAL_SYSCALL, info->si_syscall, list);
	if ((info->si_code == SI_USER || info->si_code == SI_QUEUE) && info->si_pid > 0)
		return add_number(LABEL_SIGNAL_SENDER, info->si_pid, list);
	return 0;
}

static int add(const struct label_source *source, const struct label_context *context,
	       struct label_list *list)
{
	const struct dp_crash *crash = sample_crash(context->named);
	struct label label = { .key = LABEL_SIGNAL };
	char buffer[SIGNAL_WORD_SIZE];
	siginfo_t info = { 0 };
	int err;

	if (!crash)
		return 0;
	memcpy(&info, crash->siginfo, sizeof(crash->siginfo));
	label.text = signal_name(info.si_signo, buffer);
	err = label_list_add(list, &label);
	label.key = LABEL_SIGNAL_CODE;
	label.text = signal_code_name(info.si_signo, info.si_code, buffer);
	if (err == 0)
		err = label_list_add(list, &label);
	return err < 0 ? err : add_rest(&info, list);
}

const struct label_source label_crash = { .name = "crash", .add = add };
