// SPDX-License-Identifier: Apache-2.0
/* Collecting findings: what is noted for an error, and which command would help. */
#include "doctor/examination.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "doctor/doctor.h"

#define BIT(capability) (UINT64_C(1) << (capability))

static struct doctor doctor;
static struct examination e = { .doctor = &doctor, .group = "BPF", .users = true };

static void end(void)
{
	doctor_done(&doctor);
}

TestSuite(examination, .fini = end);

/* What is noted for an attempt with this result. */
static void expect_tried(int err, enum finding_state state, const char *value)
{
	struct finding *f = examination_try(&e, "a map", err, FINDING_LIMITED, "tables");

	cr_assert_eq(e.err, 0);
	cr_expect(strcmp(f->group, "BPF") == 0 && strcmp(f->what, "a map") == 0);
	cr_expect_str_eq(f->need, "tables");
	cr_expect_eq(f->state, state, "%s", strerror(-err));
	if (value)
		cr_expect_str_eq(f->value, value);
	else
		cr_expect_null(f->value);
}

Test(examination, knows_only_what_may_be_tried)
{
	expect_tried(0, FINDING_OK, NULL);
	expect_tried(-EPERM, FINDING_UNKNOWN, "(not permitted)");
	expect_tried(-EACCES, FINDING_UNKNOWN, "(not permitted)");
	expect_tried(-ENOSYS, FINDING_LIMITED, "(not in this kernel)");
	expect_tried(-E2BIG, FINDING_LIMITED, "(E2BIG)");
	/* With the capabilities it needs, something else has refused it. */
	e.caps.effective = BIT(CAP_BPF) | BIT(CAP_PERFMON);
	expect_tried(-EPERM, FINDING_LIMITED, "(refused)");
	cr_assert(strstr(doctor.findings[doctor.n - 1].fix, "seccomp"));
	expect_tried(-EACCES, FINDING_LIMITED, "(refused)");
	cr_assert_null(doctor.findings[doctor.n - 1].fix);
}

/* CAP_SYS_ADMIN includes those split off from it, and no others. */
Test(examination, knows_which_capabilities_count)
{
	cr_assert(!examination_has(&e, CAP_BPF));
	e.caps.effective = BIT(CAP_BPF);
	cr_assert(examination_has(&e, CAP_BPF) && !examination_has(&e, CAP_PERFMON));
	e.caps.effective = BIT(CAP_SYS_ADMIN);
	cr_assert(examination_has(&e, CAP_BPF) && examination_has(&e, CAP_PERFMON));
	cr_assert(examination_has(&e, CAP_CHECKPOINT_RESTORE));
	cr_assert(!examination_has(&e, CAP_SYS_PTRACE) && !examination_has(&e, CAP_SYSLOG));
	e.users = false;
	cr_assert(!examination_has(&e, CAP_BPF) && !examination_has(&e, CAP_SYS_ADMIN));
}

static const char *advice(int capability)
{
	struct finding *f =
		examination_add(&e, capability_name(capability), FINDING_MISSING, "all");

	examination_advise(&e, f, capability);
	cr_assert(e.err == 0 && f->fix);
	return f->fix;
}

/* Run one after another, no command removes what an earlier one gave. */
Test(examination, advises_what_helps)
{
	const char *fix;

	e.caps.bounding = BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYSLOG);
	fix = advice(CAP_SYSLOG);
	cr_assert(strncmp(fix, "sudo setcap cap_", 16) == 0, "%s", fix);
	cr_assert(strstr(fix, "cap_bpf") && strstr(fix, "cap_perfmon") &&
		  strstr(fix, "cap_syslog"));
	e.caps.bounding |= BIT(CAP_SYS_PTRACE);
	fix = advice(CAP_SYS_PTRACE);
	cr_assert(strstr(fix, "cap_syslog") && strstr(fix, "cap_sys_ptrace"), "%s", fix);
	/* Outside the container's bounding set: a file cannot provide it. */
	cr_assert_str_eq(
		advice(CAP_DAC_READ_SEARCH),
		"docker run --cap-add=DAC_READ_SEARCH ... (this container may not have it)");
	e.users = false;
	cr_assert_str_eq(advice(CAP_BPF), "docker run --userns=host ...");
}
