// SPDX-License-Identifier: Apache-2.0
/* The labels of a crash, by what the kernel tells of its signal. */
#include <criterion/criterion.h>
#include <signal.h>

#include "samples/label_source.h"

static struct {
	struct dp_names names;
	struct dp_sample sample;
	__u64 frames[1];
	struct dp_crash crash;
} record = {
	.sample = { .n_user = 1, .event = DP_EVENT_CRASH, .flags = DP_SAMPLE_CRASH },
	.crash = { .part = { DP_RECORD_CRASH, sizeof(record.crash) } },
};

static struct label_set *set;

static void end(void)
{
	set = label_set_free(set);
}

TestSuite(label_crash, .fini = end);

static void read_labels(const siginfo_t *info)
{
	static const struct sample sample = { .event = DP_EVENT_CRASH };
	const struct label_context context = { (const void *)&record, NULL, NULL, &sample };
	struct label_list list = { 0 };

	end();
	memcpy(record.crash.siginfo, info, sizeof(record.crash.siginfo));
	cr_assert_eq(label_crash.add(&label_crash, &context, &list), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
	label_list_done(&list);
}

static bool has_number(const char *key, int64_t number)
{
	struct label label;
	size_t at = 0;

	while (label_set_next(set, &at, &label))
		if (!label.text && strcmp(label.key, key) == 0)
			return label.number == number;
	return false;
}

static size_t count(void)
{
	struct label label;
	size_t at = 0, n = 0;

	while (label_set_next(set, &at, &label))
		n++;
	return n;
}

Test(label_crash, has_the_address_of_a_fault)
{
	static const int with[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };

	for (size_t i = 0; i < sizeof(with) / sizeof(*with); i++) {
		siginfo_t info = { .si_signo = with[i], .si_code = 1 };

		info.si_addr = (void *)0xfedc0010;
		read_labels(&info);
		cr_assert(label_set_has(set, "fault.address", "0xfedc0010"));
		cr_assert_eq(count(), 3);
	}
	cr_assert(label_set_has(set, "signal", "SIGTRAP"));
	cr_assert(label_set_has(set, "signal.code", "TRAP_BRKPT"));
}

/* The kernel does not know it, or it is another member. */
Test(label_crash, has_no_address_without_a_fault)
{
	siginfo_t info = { .si_signo = SIGSEGV, .si_code = SI_KERNEL };

	read_labels(&info);
	cr_assert_eq(count(), 2);
	cr_assert(label_set_has(set, "signal.code", "SI_KERNEL"));
	info.si_code = SI_TKILL;
	info.si_pid = 77;
	read_labels(&info);
	cr_assert_eq(count(), 2);
	cr_assert(label_set_has(set, "signal.code", "SI_TKILL"));
}

Test(label_crash, has_the_sender_of_a_signal)
{
	siginfo_t info = { .si_signo = SIGABRT, .si_code = SI_USER };

	info.si_pid = 4711;
	read_labels(&info);
	cr_assert(has_number("signal.sender", 4711));
	cr_assert_eq(count(), 3);
}

Test(label_crash, has_the_number_of_a_refused_system_call)
{
	siginfo_t info = { .si_signo = SIGSYS, .si_code = 1 };

	info.si_syscall = 59;
	read_labels(&info);
	cr_assert(has_number("signal.syscall", 59));
	cr_assert(label_set_has(set, "signal.code", "SYS_SECCOMP"));
}

Test(label_crash, is_of_crashes_only)
{
	record.sample.flags = 0;
	read_labels(&(siginfo_t){ .si_signo = SIGSEGV });
	cr_assert_eq(count(), 0);
}
