// SPDX-License-Identifier: Apache-2.0
#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "limits/limits.h"
#include "sandbox/reader_calls.h"

/* A user and group that no distribution has. `nobody` would have daemons, and filters for it. */
#define PARSER_USER 65533

/* Each part counts alone. 0 or a negative errno, that of the last one that failed. */
static int drop_user(void)
{
	int err = 0;

	if (setgroups(0, NULL) < 0)
		err = -errno;
	if (setresgid(PARSER_USER, PARSER_USER, PARSER_USER) < 0)
		err = -errno;
	if (setresuid(PARSER_USER, PARSER_USER, PARSER_USER) < 0)
		err = -errno;
	return err;
}

/* Without CAP_SETPCAP, the bounding set remains; no_new_privs makes it useless. */
static void drop_bounding_set(void)
{
	for (unsigned long c = 0; prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == 0; c++)
		continue;
}

/* All but these, of the first 32: false if it does not have them. */
static bool drop_capabilities(uint32_t kept)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct only[_LINUX_CAPABILITY_U32S_3] = {
		{ .permitted = kept, .effective = kept },
	};

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, only) == 0;
}

static bool set_limit(int resource, rlim_t limit, bool is_soft)
{
	struct rlimit value;

	/* There may be a stricter one, which cannot be raised. */
	if (getrlimit((unsigned int)resource, &value) < 0)
		return false;
	value.rlim_cur = limit < value.rlim_max ? limit : value.rlim_max;
	if (!is_soft)
		value.rlim_max = value.rlim_cur;
	return setrlimit((unsigned int)resource, &value) == 0;
}

/*
 * Memory is limited by RLIMIT_DATA: unlike RLIMIT_AS it leaves out mapped files, whose size their
 * owners choose and which take no memory. Sanitizers map terabytes.
 */
static bool set_limits(rlim_t n_files, rlim_t cpu_s)
{
	const struct {
		int resource;
		rlim_t limit;
	} limits[] = {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		{ RLIMIT_DATA, CONFINE_MEMORY },
#endif
		{ RLIMIT_FSIZE, CONFINE_MEMORY },
		{ RLIMIT_CPU, cpu_s },
		{ RLIMIT_NOFILE, n_files },
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_MEMLOCK, 0 },
		{ RLIMIT_MSGQUEUE, 0 },
		{ RLIMIT_NPROC, 0 },
	};
	bool all = true;

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		all &= set_limit(limits[i].resource, limits[i].limit,
				 n_files == CONFINE_NAMER_FILES &&
					 limits[i].resource == RLIMIT_DATA);
	return all;
}

/* An older kernel has none of them; an outer filter may forbid them. */
static bool may_restrict_files(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

static bool may_restrict_calls(void)
{
	const uint32_t action = SECCOMP_RET_ERRNO;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
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

/* What libdw needs besides. */
static const int calls_of_libdw[] = {
	SCMP_SYS(dup),        SCMP_SYS(pwrite64), SCMP_SYS(readlink),
	SCMP_SYS(readlinkat), SCMP_SYS(statx),
};

static const int calls_of_fetcher[] = { SCMP_SYS(getrusage), SCMP_SYS(process_vm_readv) };

/* openat2() can only be allowed as a whole. Who has no right to write cannot open for writing. */
static const int calls_of_finder[] = {
	SCMP_SYS(fstatfs),  SCMP_SYS(openat2),    SCMP_SYS(statx),
	SCMP_SYS(readlink), SCMP_SYS(readlinkat), /* whose memory a file is */
};

/* Whether openat() is allowed at all, or who answers it listens at a descriptor. */
enum opening { OPENS_NOTHING, OPENS_BY_OTHERS, OPENS_FOR_READING, OPENS_AND_ADDS };

static int allow_opening(scmp_filter_ctx filter, enum opening opening)
{
	const struct scmp_arg_cmp reads =
		SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY);
	const scmp_datum_t number = SECCOMP_IOCTL_NOTIF_ADDFD;
	const struct scmp_arg_cmp adds = SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, number);
	int err = 0;

	if (opening == OPENS_BY_OTHERS)
		err = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(openat), 0);
	if (opening == OPENS_FOR_READING || opening == OPENS_AND_ADDS)
		err = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, &reads);
	if (err == 0 && opening == OPENS_AND_ADDS)
		err = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, &adds);
	return err;
}

/*
 * Any other call than these fails with EPERM and does not kill: another C library may try a call and do
 * without. Memory cannot become executable. A signal can be sent to this process only, as abort() does.
 * ret_opens: where who answers openat() listens, if others do.
 */
static bool restrict_calls(const int *more, size_t n_more, enum opening opening, int *ret_opens)
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
	for (size_t i = 0; i < n_more && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, more[i], 0);
	if (err == 0)
		err = allow_opening(filter, opening);
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
	if (err == 0 && opening == OPENS_BY_OTHERS)
		*ret_opens = seccomp_notify_fd(filter);
	seccomp_release(filter);
	return err == 0;
}

/* A kernel may not pass them on (from 5.0 on), nor if this process is already in such a filter. */
static bool restrict_calls_and_opens(int *ret_opens)
{
	if (!ret_opens)
		return restrict_calls(NULL, 0, OPENS_NOTHING, NULL);
	*ret_opens = -1;
	return restrict_calls(calls_of_libdw, ARRAY_SIZE(calls_of_libdw), OPENS_BY_OTHERS,
			      ret_opens) ||
	       restrict_calls(calls_of_libdw, ARRAY_SIZE(calls_of_libdw), OPENS_NOTHING, NULL);
}

static void note(struct confinement *c, enum confine_layer layer, bool has, bool may_have)
{
	c->layers |= (uint32_t)has << layer;
	c->missing |= (uint32_t)(!has && may_have) << layer;
}

void confine_self(struct confinement *ret, int *ret_opens)
{
	bool may_restrict = may_restrict_calls();
	int err;

	*ret = (struct confinement){ 0 };
	/* The order matters: each step is still allowed to do what the next ones forbid. */
	drop_bounding_set();
	/* It takes root; in a user namespace, the user may not exist. */
	err = drop_user();
	note(ret, CONFINE_USER, err == 0, err != -EPERM && err != -EINVAL);
	note(ret, CONFINE_CAPABILITIES, drop_capabilities(0), true);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* Busy ones do not see that their socket is closed. Changing the user clears this. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	note(ret, CONFINE_NO_NEW_PRIVILEGES, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, true);
	note(ret, CONFINE_LIMITS,
	     set_limits(ret_opens ? CONFINE_NAMER_FILES : CONFINE_FILES, CONFINE_CPU_S), true);
	note(ret, CONFINE_LANDLOCK, restrict_files(), may_restrict_files());
	note(ret, CONFINE_SECCOMP, restrict_calls_and_opens(ret_opens), may_restrict);
}

/* One that deals with other processes, or files, keeps what it needs for that. */
struct need {
	uint32_t capability;
	rlim_t n_files;
	const int *calls;
	size_t n_calls;
	enum opening opening;
};

static bool confine_to(const struct need *need, struct confinement *ret)
{
	bool may_restrict = may_restrict_calls(), has_capability;
	int err;

	*ret = (struct confinement){ 0 };
	drop_bounding_set();
	(void)prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	err = drop_user();
	note(ret, CONFINE_USER, err == 0, err != -EPERM && err != -EINVAL);
	has_capability = drop_capabilities(1u << need->capability);
	note(ret, CONFINE_CAPABILITIES, has_capability, true);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	note(ret, CONFINE_NO_NEW_PRIVILEGES, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, true);
	/* They serve for as long as the profiler runs. */
	note(ret, CONFINE_LIMITS, set_limits(need->n_files, RLIM_INFINITY), true);
	note(ret, CONFINE_SECCOMP, restrict_calls(need->calls, need->n_calls, need->opening, NULL),
	     may_restrict);
	return has_capability;
}

bool confine_fetcher(struct confinement *ret)
{
	return confine_to(
		&(struct need){
			.capability = CAP_SYS_PTRACE,
			.n_files = CONFINE_FILES,
			.calls = calls_of_fetcher,
			.n_calls = ARRAY_SIZE(calls_of_fetcher),
			.opening = OPENS_FOR_READING,
		},
		ret);
}

bool confine_finder(struct confinement *ret)
{
	return confine_to(
		&(struct need){
			.capability = CAP_DAC_READ_SEARCH,
			.n_files = CONFINE_FINDER_FILES,
			.calls = calls_of_finder,
			.n_calls = ARRAY_SIZE(calls_of_finder),
			.opening = OPENS_AND_ADDS,
		},
		ret);
}

static bool allow_below(int rules, int directory, uint64_t rights)
{
	const struct landlock_path_beneath_attr below = { .allowed_access = rights,
							  .parent_fd = directory };

	return syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0) == 0;
}

/* Since its third version. Before, what truncate() does is forbidden as a call. */
#define ACCESS_TRUNCATE (UINT64_C(1) << 14)
#define READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITES                                                                                     \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |                          \
	 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                             \
	 LANDLOCK_ACCESS_FS_MAKE_DIR)

/* struct landlock_ruleset_attr, as of its sixth version. Older kernels want zeros beyond their own. */
struct rules_of_reader {
	uint64_t files, ports, scopes;
};

/* Abstract UNIX sockets and signals, to those that are not confined with this process. */
#define SCOPES UINT64_C(3)

static bool restrict_files_of_reader(const struct confine_reader *reader)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	uint64_t truncates = version >= 3 ? ACCESS_TRUNCATE : 0;
	const struct rules_of_reader all = {
		.files = ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1) | truncates,
		.scopes = version >= 6 ? SCOPES : 0,
	};
	int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool ok = rules >= 0 && root >= 0 && allow_below(rules, root, READS);

	for (size_t i = 0; i < reader->n_directories && ok; i++)
		ok = allow_below(rules, reader->directories[i], READS | WRITES | truncates);
	ok = ok && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
	if (rules >= 0)
		close(rules);
	if (root >= 0)
		close(root);
	return ok;
}

/* The last is for executing a program that only another user may. */
#define CAPABILITIES_TO_CONFINE                                                                    \
	(1U << CAP_SETUID | 1U << CAP_SETGID | 1U << CAP_SETPCAP | 1U << CAP_DAC_OVERRIDE)

/* Then the kernel executes it only while the bounding set has them all, even for root (capabilities(7)). */
static bool has_file_capabilities(void)
{
	return getxattr("/proc/self/exe", "security.capability", NULL, 0) > 0;
}

void confine_spawner(bool finds)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct had[_LINUX_CAPABILITY_U32S_3];
	uint32_t kept = CAPABILITIES_TO_CONFINE | (finds ? 1U << CAP_DAC_READ_SEARCH : 0);

	for (unsigned int c = 0;
	     !has_file_capabilities() && prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
		if (c >= 32 || !(kept & 1U << c))
			(void)prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
	if (syscall(SYS_capget, &header, had) == 0)
		(void)drop_capabilities(kept & had[0].permitted);
}

void confine_reader(const struct confine_reader *reader, struct confinement *ret)
{
	bool may_restrict = may_restrict_calls();

	*ret = (struct confinement){ 0 };
	drop_bounding_set();
	note(ret, CONFINE_CAPABILITIES, drop_capabilities(0), true);
	note(ret, CONFINE_NO_NEW_PRIVILEGES, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, true);
	note(ret, CONFINE_LANDLOCK, restrict_files_of_reader(reader), may_restrict_files());
	note(ret, CONFINE_SECCOMP, reader_calls_restrict(reader->asks_servers), may_restrict);
}

const char *confine_list(uint32_t layers, char ret[CONFINE_LIST_SIZE])
{
#define X(name, text) text,
	static const char *const names[] = { CONFINE_LAYERS(X) };
#undef X
	int n = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < CONFINE_N_LAYERS; i++)
		if (layers & 1u << i)
			n += snprintf(ret + n, CONFINE_LIST_SIZE - (size_t)n, "%s%s",
				      n > 0 ? ", " : "", names[i]);
	return ret;
}
