// SPDX-License-Identifier: Apache-2.0
#include "kernel/permission.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/capability.h"
#include "kernel/refusal.h"
#include "log/log.h"

bool permission_has(int capability)
{
	struct capability_sets sets;

	capability_read(&sets);
	return capability_in(sets.effective, capability);
}

bool permission_may_load(void)
{
	return permission_has(CAP_SYS_ADMIN) ||
	       (permission_has(CAP_BPF) && permission_has(CAP_PERFMON));
}

/* Lists the capabilities that are needed, and those of them that are missing. */
static void explain_capabilities(const int *needed, size_t n)
{
	/* Those that are always needed, because setcap replaces the file's whole set. */
	uint64_t wanted = UINT64_C(1) << CAP_BPF | UINT64_C(1) << CAP_PERFMON;
	_cleanup_free_ char *text = NULL, *command = NULL;
	struct capability_sets sets;
	size_t size, n_missing = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return;
	capability_read(&sets);
	fputs("need:", to);
	for (size_t i = 0; i < n; i++)
		fprintf(to, " %s", capability_name(needed[i]));
	fputs("; missing:", to);
	for (size_t i = 0; i < n; i++) {
		wanted |= UINT64_C(1) << needed[i];
		if (capability_in(sets.effective, needed[i]))
			continue;
		fprintf(to, " %s", capability_name(needed[i]));
		n_missing++;
	}
	fputs(n_missing ? "" : " none", to);
	fclose(to);
	log_detail("%s", text);
	log_detail("try:  sudo dwarfprof ...");
	command = capability_command(sets.effective | wanted);
	if (command && needed[0] != CAP_SYS_ADMIN)
		log_detail("or once: %s", command);
}

static int read_sysctl(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	int value = 0;

	if (file && fscanf(file, "%d", &value) != 1)
		value = 0;
	return value;
}

int permission_explain_bpf(int err, const struct refusal *refusal, const char *btf)
{
	static const int needed[] = { CAP_BPF, CAP_PERFMON };
	bool missing = !permission_may_load();

	/*
	 * The kernel returns EPERM if a capability is missing (bpf_prog_load(),
	 * kernel/bpf/syscall.c). EACCES comes from the verifier, and from some security modules.
	 */
	if (refusal_program(refusal))
		log_error("cannot load the BPF programs: the kernel's verifier refuses %s",
			  refusal_program(refusal));
	else
		log_error("cannot load the BPF programs: %s",
			  err == -EACCES && !missing ?
				  "the kernel's verifier or a security module refuses them" :
				  strerror(-err));
	if (missing)
		explain_capabilities(needed, ARRAY_SIZE(needed));
	else
		refusal_explain(refusal, btf);
	if (err == -EPERM || (err == -EACCES && missing))
		return -EPERM;
	return err == -ENOMEM ? err : -EOPNOTSUPP;
}

/* Values above 2 exist only in the kernels of some distributions, such as Debian. */
static void explain_refused_event(void)
{
	static const int needed[] = { CAP_PERFMON };
	int paranoid = read_sysctl("/proc/sys/kernel/perf_event_paranoid");

	log_detail("kernel.perf_event_paranoid is %d", paranoid);
	if (paranoid > 2 && permission_has(CAP_PERFMON)) {
		log_detail("need: CAP_SYS_ADMIN, while that is above 2");
		log_detail("try:  sudo sysctl -w kernel.perf_event_paranoid=2");
	} else {
		explain_capabilities(needed, ARRAY_SIZE(needed));
	}
}

bool permission_rate_is_too_high(unsigned int hz)
{
	return hz > (unsigned int)read_sysctl("/proc/sys/kernel/perf_event_max_sample_rate");
}

/* perf_event_open(2), "ERRORS" */
void permission_explain_perf(const char *what, int err, unsigned int hz)
{
	int max_rate = read_sysctl("/proc/sys/kernel/perf_event_max_sample_rate");

	log_error("cannot open %s: %s", what, strerror(-err));
	switch (-err) {
	case EACCES:
	case EPERM:
		explain_refused_event();
		return;
	case EMFILE:
		log_detail("try:  ulimit -n 65536");
		return;
	case ENFILE:
		log_detail(
			"try:  a higher fs.file-max (sysctl), or fewer programs with open files");
		return;
	case ENOMEM:
		return;
	case EBUSY:
		log_detail("another profiler may have reserved it");
		log_detail("try:  again when it has ended");
		return;
	case ENOSYS:
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		log_detail("need: perf_event_open(): a kernel with CONFIG_PERF_EVENTS, and in a "
			   "container a seccomp profile that permits it");
		return;
	case EINVAL:
		if (hz <= (unsigned int)max_rate)
			break;
		log_detail("the highest rate is %d Hz (kernel.perf_event_max_sample_rate)",
			   max_rate);
		log_detail("try:  a lower -F");
		return;
	}
	log_detail("please report this to %s, with what `dwarfprof doctor` says", DP_BUG_REPORT);
}

void permission_explain_uprobe(int err)
{
	/* Without uprobe links, perf's uprobes always need this capability. */
	static const int needed[] = { CAP_SYS_ADMIN };

	log_error("cannot set the uprobe: %s", strerror(-err));
	if (err == -EACCES || err == -EPERM)
		explain_capabilities(needed, ARRAY_SIZE(needed));
}

/* security_locked_down(), kernel_lockdown(7): this level forbids reading the kernel by BPF. */
static bool is_locked_down(void)
{
	_cleanup_fclose_ FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char modes[128] = "";

	return file && fgets(modes, sizeof(modes), file) && strstr(modes, "[confidentiality]");
}

void permission_explain_trace(const char *what, int err)
{
	static const int needed[] = { CAP_BPF, CAP_PERFMON };

	log_error("cannot sample %s: %s", what, strerror(-err));
	if (err != -EACCES && err != -EPERM)
		return;
	if (is_locked_down())
		log_detail("need: a kernel that is not started with lockdown=confidentiality");
	else
		explain_capabilities(needed, ARRAY_SIZE(needed));
}

void permission_explain_file(int pid, const char *name)
{
	static const int needed[] = { CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE };

	log_warning("process %d: %s may not be read: its code has no table and no names (-v shows "
		    "all such files)",
		    pid, name);
	explain_capabilities(needed, ARRAY_SIZE(needed));
}

void permission_explain_process(int pid, int err)
{
	static const int needed[] = { CAP_SYS_PTRACE };

	if (err == -ESRCH) {
		log_error("there is no process %d", pid);
		return;
	}
	log_error("cannot read the mappings of process %d: %s", pid, strerror(-err));
	if (err == -EACCES || err == -EPERM)
		explain_capabilities(needed, ARRAY_SIZE(needed));
}

/* ptrace(2), "Ptrace access mode checking" */
void permission_explain_memory(int pid, int err)
{
	static const int needed[] = { CAP_SYS_PTRACE };
	int scope = read_sysctl("/proc/sys/kernel/yama/ptrace_scope");

	log_error("cannot read the memory of process %d: %s", pid, strerror(-err));
	if (err != -EPERM)
		return;
	if (scope > 0)
		log_detail("kernel.yama.ptrace_scope is %d; with 0, processes of the same user "
			   "may be read",
			   scope);
	explain_capabilities(needed, ARRAY_SIZE(needed));
}

/* kallsyms_show_value(), kernel/ksyms_common.c */
void permission_explain_kernel(void)
{
	static const int needed[] = { CAP_SYSLOG };

	log_warning("the kernel hides its addresses: its stacks are left out, as [kernel]");
	if (read_sysctl("/proc/sys/kernel/kptr_restrict") >= 2) {
		log_detail("need: kernel.kptr_restrict of 1 or 0, and CAP_SYSLOG");
		log_detail("try:  sudo sysctl -w kernel.kptr_restrict=1");
		return;
	}
	explain_capabilities(needed, ARRAY_SIZE(needed));
}
