// SPDX-License-Identifier: Apache-2.0
#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"

/* A user and group that no distribution has. `nobody` would have daemons, and filters for it. */
#define PARSER_USER 65533

/* In a user namespace, this user may not exist. Each part counts alone. */
static bool drop_user(void)
{
	bool groups = setgroups(0, NULL) == 0;
	bool group = setresgid(PARSER_USER, PARSER_USER, PARSER_USER) == 0;
	bool user = setresuid(PARSER_USER, PARSER_USER, PARSER_USER) == 0;

	return groups && group && user;
}

/* Without CAP_SETPCAP, the bounding set remains; no_new_privs makes it useless. */
static void drop_bounding_set(void)
{
	for (unsigned long c = 0; prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == 0; c++)
		continue;
}

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) == 0;
}

/*
 * Memory is limited by RLIMIT_DATA: unlike RLIMIT_AS it leaves out mapped files, whose size their
 * owners choose and which take no memory. Sanitizers map terabytes.
 */
static bool set_limits(void)
{
	static const struct {
		int resource;
		rlim_t limit;
	} limits[] = {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		{ RLIMIT_DATA, CONFINE_MEMORY },
#endif
		{ RLIMIT_FSIZE, CONFINE_MEMORY },
		{ RLIMIT_NOFILE, 16 },
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_MEMLOCK, 0 },
		{ RLIMIT_MSGQUEUE, 0 },
		{ RLIMIT_NPROC, 0 },
	};
	bool all = true;

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		all &= setrlimit((unsigned int)limits[i].resource,
				 &(struct rlimit){ limits[i].limit, limits[i].limit }) == 0;
	return all;
}

/* An empty rule set that handles all rights of Landlock's first version: no file may be opened. */
static bool restrict_files(void)
{
	const struct landlock_ruleset_attr all = {
		.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1,
	};
	int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	bool ok;

	if (rules < 0)
		return false;
	ok = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
	close(rules);
	return ok;
}

/* What malloc(), libelf and the messages need, whatever their arguments are. */
static const int calls[] = {
	SCMP_SYS(brk),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(close),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(fstat),
	SCMP_SYS(futex),
	SCMP_SYS(getpid),
	SCMP_SYS(getrandom),
	SCMP_SYS(gettid),
	SCMP_SYS(lseek),
	SCMP_SYS(madvise),
	SCMP_SYS(mremap),
	SCMP_SYS(munmap),
	SCMP_SYS(newfstatat),
	SCMP_SYS(pread64),
	SCMP_SYS(read),
	SCMP_SYS(recvmsg),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(sigaltstack), /* sanitizers */
	SCMP_SYS(sysinfo),     /* qsort() */
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sendmsg),
	SCMP_SYS(write),
};

/*
 * Any other call fails with EPERM and does not kill: another C library may try a call and do without.
 * Memory cannot become executable. A signal can be sent to this process only, as abort() does.
 */
static bool restrict_calls(void)
{
	const struct scmp_arg_cmp not_executable = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	/* RLIMIT_DATA counts neither. */
	const struct scmp_arg_cmp mapping[] = {
		not_executable,
		SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_SHARED | MAP_GROWSDOWN, 0),
	};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err = filter ? 0 : -ENOMEM;

	for (size_t i = 0; i < ARRAY_SIZE(calls) && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	if (err == 0)
		err = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap),
					     ARRAY_SIZE(mapping), mapping);
	if (err == 0)
		err = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
					     &not_executable);
	if (err == 0)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				       SCMP_A1(SCMP_CMP_EQ, F_GETFL));
	if (err == 0)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				       SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	if (err == 0)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err == 0;
}

unsigned int confine_self(void)
{
	unsigned int layers = 0;

	/* The order matters: each step is still allowed to do what the next ones forbid. */
	drop_bounding_set();
	layers |= (unsigned int)drop_user() << CONFINE_USER;
	layers |= (unsigned int)drop_capabilities() << CONFINE_CAPABILITIES;
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* Busy ones do not see that their socket is closed. Changing the user clears this. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	layers |= (unsigned int)(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		  << CONFINE_NO_NEW_PRIVILEGES;
	layers |= (unsigned int)set_limits() << CONFINE_LIMITS;
	layers |= (unsigned int)restrict_files() << CONFINE_LANDLOCK;
	layers |= (unsigned int)restrict_calls() << CONFINE_SECCOMP;
	return layers;
}
