// SPDX-License-Identifier: Apache-2.0
#include "doctor/doctor.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "binaries/image_cache.h"
#include "bpf/abi.h"
#include "doctor/examination.h"
#include "doctor/probe.h"
#include "doctor/proven.h"
#include "doctor/readable.h"
#include "kernel/event.h"
#include "kernel/kernel_types.h"
#include "kernel/refusal.h"
#include "kernel/session.h"
#include "kernel/tracer.h"
#include "kernel/uprobe.h"
#include "process/sideband.h"
#include "sandbox/parsers.h"
#include "symbols/kallsyms.h"

/* Begins the need of what nothing works without. */
#define ALL "all: "

/* The inode of the initial user namespace: PROC_USER_INIT_INO, include/linux/proc_ns.h */
#define INITIAL_USER_NAMESPACE 0xEFFFFFFD

/* File descriptors that the binaries of a large machine need. */
#define ENOUGH_FILES 4096

DEFINE_CLEANUP(struct btf *, btf__free)

const char *finding_word(enum finding_state state)
{
#define X(name, word) [FINDING_##name] = word,
	static const char *const words[FINDING_N_STATES] = { FINDING_STATES(X) };
#undef X

	return words[state];
}

static bool is_initial(const char *path, ino_t initial)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino == initial;
}

static void examine_capabilities(struct examination *e)
{
	static const struct {
		int number;
		enum finding_state without;
		const char *need;
	} table[] = {
		{ CAP_BPF, FINDING_MISSING, ALL "BPF programs and maps" },
		{ CAP_PERFMON, FINDING_MISSING, ALL "samples, and reading of stacks" },
		{ CAP_SYS_PTRACE, FINDING_MISSING, "processes of other users" },
		{ CAP_SYSLOG, FINDING_LIMITED, "functions of the kernel" },
		{ CAP_CHECKPOINT_RESTORE, FINDING_LIMITED, "deleted and replaced libraries" },
		{ CAP_DAC_READ_SEARCH, FINDING_LIMITED, "binaries that only others may read" },
	};

	e->group = "capabilities";
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		bool ok = examination_has(e, table[i].number);
		struct finding *f =
			examination_add(e, capability_name(table[i].number),
					ok ? FINDING_OK : table[i].without, table[i].need);

		if (!ok)
			examination_advise(e, f, table[i].number);
		if (ok != capability_in(e->caps.effective, table[i].number))
			examination_set(e, &f->value,
					ok ? "(by CAP_SYS_ADMIN)" : "(of a user namespace)");
	}
	if (e->caps.no_new_privileges) {
		bool ok = examination_has(e, CAP_BPF) && examination_has(e, CAP_PERFMON);
		struct finding *f =
			examination_add(e, "no_new_privs", ok ? FINDING_OK : FINDING_LIMITED,
					"capabilities that a file gives");

		examination_set(e, &f->value, "1");
	}
}

/* Negative errno, or 0. */
static int read_number(const char *path, long *ret)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");

	if (!file)
		return -errno;
	return fscanf(file, "%ld", ret) == 1 ? 0 : -EBADMSG;
}

static void sysctl_path(const char *name, char *ret, size_t size)
{
	int n = snprintf(ret, size, "/proc/sys/");

	snprintf(ret + n, size - (size_t)n, "%s", name);
	for (char *c = ret + n; (c = strchr(c, '.'));)
		*c = '/';
}

static void examine_sysctls(struct examination *e)
{
	static const struct {
		const char *name;
		long min, max;  /* acceptable values */
		long better;    /* the value to set */
		int capability; /* with which the setting does not matter; 0: none */
		const char *need;
	} table[] = {
		{ "kernel.perf_event_paranoid", -1, 2, 2, CAP_SYS_ADMIN,
		  "samples (Debian, above 2: CAP_SYS_ADMIN)" },
		{ "kernel.unprivileged_bpf_disabled", 0, 2, 2, 0,
		  "nothing, if CAP_BPF is granted" },
		/* 1: root and who has CAP_SYSLOG see addresses. */
		{ "kernel.kptr_restrict", 0, 1, 1, 0, "functions of the kernel" },
		{ "kernel.perf_event_max_stack", DP_MAX_KERNEL_FRAMES, INT32_MAX,
		  DP_MAX_KERNEL_FRAMES, 0, "frames of a kernel stack" },
		{ "kernel.perf_event_max_sample_rate", 99, INT32_MAX, 100000, 0, "the highest -F" },
		{ "kernel.perf_event_mlock_kb", (SIDEBAND_PAGES + 1) * 4, INT32_MAX, 516,
		  CAP_IPC_LOCK, "rings for perf's records, per CPU" },
		{ "net.core.bpf_jit_enable", 1, 2, 1, 0, "fast BPF programs" },
		/* Pages that it watches have no access rights until their thread touches them. */
		{ "kernel.numa_balancing", 0, 0, 0, 0, "whole stacks, on machines with NUMA" },
		{ "kernel.yama.ptrace_scope", 0, 0, 0, CAP_SYS_PTRACE,
		  "pages of binaries and stacks made resident" },
	};

	e->group = "sysctls";
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char path[128];
		struct finding *f;
		long value = 0;
		bool ok;
		int err;

		sysctl_path(table[i].name, path, sizeof(path));
		err = read_number(path, &value);
		ok = err == 0 && ((value >= table[i].min && value <= table[i].max) ||
				  (table[i].capability && examination_has(e, table[i].capability)));
		f = examination_add(e, table[i].name,
				    ok             ? FINDING_OK :
				    err == 0       ? FINDING_LIMITED :
				    err == -ENOENT ? FINDING_OK :
						     FINDING_UNKNOWN,
				    table[i].need);
		if (err < 0)
			examination_set(e, &f->value, "%s",
					err == -ENOENT ? "(does not exist)" : strerror(-err));
		else
			examination_set(e, &f->value, "%ld", value);
		if (err == 0 && !ok)
			examination_set(e, &f->fix, "sudo sysctl -w %s=%ld", table[i].name,
					table[i].better);
	}
}

/* Lists missing members of the kernel's types, one line each, or one line if none is missing. */
static void examine_fields(struct examination *e, const struct btf *btf)
{
	bool contained = session_pid_namespace() != 0;
	unsigned int always = DP_FOR_CPU | (contained ? DP_FOR_CONTAINER : 0);
	const struct kernel_field *field;
	size_t n = 0, n_there = 0;
	struct finding *f;

	for (; (field = kernel_field(n)); n++)
		n_there += kernel_field_exists(btf, field);
	f = examination_add(e, "members of its types", n_there == n ? FINDING_OK : FINDING_LIMITED,
			    "what the programs read");
	examination_set(e, &f->value, "%zu of %zu", n_there, n);
	for (size_t i = 0; (field = kernel_field(i)); i++) {
		char what[KERNEL_FIELD_NEED_SIZE], need[KERNEL_FIELD_NEED_SIZE + sizeof(ALL)] = "";
		bool all = field->uses & always;

		if (kernel_field_exists(btf, field))
			continue;
		snprintf(what, sizeof(what), "%s.%s", field->type, field->member);
		kernel_field_need(field, need + snprintf(need, sizeof(need), all ? ALL : ""));
		examination_add(e, what, all ? FINDING_MISSING : FINDING_LIMITED, need);
	}
}

/* The BTF by which the programs are relocated, and the kernel's version. */
static void examine_types(struct examination *e)
{
	char place[PATH_MAX];
	_cleanup_(btf__freep) struct btf *btf =
		kernel_types_load(kernel_types_place(e->btf, place));
	bool usual = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
	struct utsname kernel;
	struct finding *f;

	if (uname(&kernel) == 0) {
		char tested[PROVEN_TEXT_SIZE];

		proven_describe(kernel.release, DP_PROVEN_KERNELS, tested);
		f = examination_add(e, kernel.sysname, FINDING_OK, tested);
		examination_set(e, &f->value, "%s %s", kernel.release, kernel.machine);
	}
	f = examination_add(e, e->btf ? e->btf : "/sys/kernel/btf/vmlinux",
			    btf ? FINDING_OK : FINDING_MISSING, ALL "layout of the kernel's types");
	if (btf && !e->btf && !usual)
		examination_set(e, &f->value, "(vmlinux found elsewhere)");
	if (btf) {
		examine_fields(e, btf);
		return;
	}
	examination_set(e, &f->fix,
			"--btf FILE; in a container: mount /sys; else a kernel with "
			"CONFIG_DEBUG_INFO_BTF=y");
}

static void examine_kernel(struct examination *e)
{
	bool readable = access("/proc/kallsyms", R_OK) == 0;
	bool hidden = kallsyms_are_hidden("/proc/kallsyms");
	struct finding *f;
	long restrict_to = 0;

	e->group = "kernel";
	examine_types(e);
	e->doctor->kernel = readable && !hidden;
	f = examination_add(e, "/proc/kallsyms", e->doctor->kernel ? FINDING_OK : FINDING_LIMITED,
			    "functions of the kernel");
	if (e->doctor->kernel)
		return;
	examination_set(e, &f->value, readable ? "(addresses hidden)" : "(not readable)");
	read_number("/proc/sys/kernel/kptr_restrict", &restrict_to);
	if (readable && restrict_to >= 2)
		examination_set(e, &f->fix,
				"sudo sysctl -w kernel.kptr_restrict=1, and CAP_SYSLOG");
	else if (readable)
		examination_advise(e, f, CAP_SYSLOG);
}

static const char *program_need(const char *name)
{
	if (strcmp(name, "dp_sample_cpu") == 0)
		return ALL "samples by time";
	if (strcmp(name, "dp_sample_uprobe") == 0)
		return "-e uprobe:, uretprobe:, usdt:";
	if (strcmp(name, "dp_begin_span") == 0 || strcmp(name, "dp_exec_span") == 0 ||
	    strcmp(name, "dp_fork_span") == 0)
		return "--probe";
	if (strcmp(name, "dp_sample_trace") == 0)
		return "-e tracepoint:, fentry:, kprobe:, wakeups";
	if (strcmp(name, "dp_end_span") == 0)
		return "--probe span:";
	if (strcmp(name, "dp_switch") == 0)
		return "--off-cpu, --wall";
	if (strcmp(name, "dp_crash") == 0)
		return "--crashes";
	if (strcmp(name, "dp_begin_alloc") == 0 || strcmp(name, "dp_end_alloc") == 0)
		return "--alloc";
	if (strcmp(name, "dp_dump") == 0)
		return "dump";
	return "what its name says";
}

static void examine_helpers(struct examination *e)
{
	static const struct {
		int number;
		const char *name, *need;
	} table[] = {
		{ BPF_FUNC_loop, "bpf_loop()", ALL "walks (Linux 5.17)" },
		{ BPF_FUNC_task_pt_regs, "bpf_task_pt_regs()", ALL "threads in the kernel (5.15)" },
		{ BPF_FUNC_get_current_task_btf, "bpf_get_current_task_btf()",
		  ALL "the current task (5.11)" },
		{ BPF_FUNC_probe_read_user, "bpf_probe_read_user()", ALL "stacks (5.5)" },
		{ BPF_FUNC_ringbuf_output, "bpf_ringbuf_output()", ALL "sending samples (5.8)" },
		{ BPF_FUNC_get_stack, "bpf_get_stack()", ALL "kernel stacks (4.18)" },
	};
	/* Without permission the kernel does not even look at the helper. */
	int err = probe_bpf();

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		examination_try(e, table[i].name, err < 0 ? err : probe_helper(table[i].number),
				FINDING_MISSING, table[i].need);
}

static void examine_programs(struct examination *e)
{
	char buffer[PROBE_NAME_SIZE], place[PATH_MAX];
	const char *btf = kernel_types_place(e->btf, place), *name;

	for (size_t i = 0; (name = probe_program_name(i, buffer)); i++) {
		char what[80];
		struct refusal refusal;
		int err = probe_program(i, btf, &refusal);
		struct finding *f;

		snprintf(what, sizeof(what), "program %s", name);
		f = examination_try(e, what, err,
				    strcmp(name, "dp_sample_cpu") == 0 ? FINDING_MISSING :
									 FINDING_LIMITED,
				    program_need(name));
		if ((f->state != FINDING_MISSING && f->state != FINDING_LIMITED) || f->fix)
			continue;
		if (refusal_reason(&refusal))
			examination_set(e, &f->fix, "report all this to %s, and the verifier's: %s",
					DP_BUG_REPORT, refusal_reason(&refusal));
		else
			examination_set(
				e, &f->fix,
				"sudo dwarfprof -v -a -d 1, which shows what the kernel says");
	}
}

static void examine_uprobe(struct examination *e)
{
	int works = uprobe_multi_works();
	bool admin = examination_has(e, CAP_SYS_ADMIN);
	struct finding *f;

	e->multi = works > 0;
	f = examination_try(e, "uprobe link",
			    works < 0 ? works :
			    works > 0 ? 0 :
					-ENOSYS,
			    works == 0 && admin ? FINDING_OK : FINDING_LIMITED,
			    "-e uprobe: without CAP_SYS_ADMIN (6.6)");
	if (works == 0 && !admin)
		examination_advise(e, f, CAP_SYS_ADMIN);
}

static void examine_bpf(struct examination *e)
{
	e->group = "BPF, by trying";
	examination_try(e, "ring buffer", probe_ring_buffer(), FINDING_MISSING,
			ALL "sending samples");
	examination_try(e, "array that user space maps", probe_mmapable_array(), FINDING_MISSING,
			ALL "unwind tables");
	examination_try(e, "map of maps", probe_map_of_maps(), FINDING_MISSING,
			ALL "unwind tables");
	examination_try(e, "batch update of maps", probe_map_of_maps_batch(), FINDING_LIMITED,
			"a quick start (5.19)");
	examine_helpers(e);
	examine_programs(e);
	examination_try(e, "program on a perf event", probe_attach(), FINDING_MISSING,
			ALL "samples by time");
	examine_uprobe(e);
	examination_try(e, "program at a function", tracer_try_function(), FINDING_LIMITED,
			"-e fentry:");
}

static void examine_events(struct examination *e)
{
	int cycles = probe_sampling(true), clock = probe_sampling(false);
	char why[EVENT_WHY_SIZE];
	struct finding *f;

	e->group = "perf events";
	if (event_why_not("cycles", cycles, why)) {
		f = examination_add(e, "cycles", FINDING_LIMITED,
				    "samples by cycles, else by cpu-clock");
		examination_set(e, &f->value, "(%s)", why);
	} else {
		examination_try(e, "cycles", cycles, FINDING_LIMITED, "samples by cycles");
	}
	examination_try(e, "cpu-clock", clock, FINDING_MISSING, ALL "samples by time");
	examination_try(e, "records of processes", probe_sideband(), FINDING_MISSING,
			ALL "mappings, forks, exits");
	f = examination_try(e, "tracefs", probe_tracefs(), FINDING_LIMITED,
			    "-e tracepoint: with values, of system calls");
	if (f->state == FINDING_LIMITED && !f->fix)
		examination_set(e, &f->fix, "sudo mount -t tracefs nodev /sys/kernel/tracing");
}

static void examine_limits(struct examination *e)
{
	struct rlimit files = { 0 }, locked = { 0 };
	struct finding *f;
	bool enough;

	e->group = "limits";
	getrlimit(RLIMIT_NOFILE, &files);
	getrlimit(RLIMIT_MEMLOCK, &locked);
	enough = files.rlim_max >= ENOUGH_FILES;
	f = examination_add(e, "open files", enough ? FINDING_OK : FINDING_LIMITED,
			    "a descriptor per binary");
	examination_set(e, &f->value, "%" PRIuMAX, (uintmax_t)files.rlim_max);
	if (!enough)
		examination_set(e, &f->fix, "sudo prlimit --pid $$ --nofile=65536:65536");
	/* Its effect has already been tested. */
	f = examination_add(e, "locked memory", FINDING_OK, "BPF maps, on kernels before 5.11");
	if (locked.rlim_max == RLIM_INFINITY)
		examination_set(e, &f->value, "unlimited");
	else
		examination_set(e, &f->value, "%" PRIuMAX " KiB",
				(uintmax_t)locked.rlim_max / 1024);
}

/* Does the directory exist and belong to us, or could we create it? */
static bool is_usable(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);

	while (copy && *copy) {
		char *slash;

		if (access(copy, F_OK) == 0)
			return access(copy, W_OK | X_OK) == 0;
		slash = strrchr(copy, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
	return false;
}

static void examine_cache(struct examination *e)
{
	_cleanup_free_ char *path =
		disk_cache_path(geteuid(), getenv("XDG_CACHE_HOME"), getenv("HOME"));
	bool usable = path && is_usable(path);
	struct finding *f = examination_add(e, "cache", usable ? FINDING_OK : FINDING_LIMITED,
					    "tables and names kept for the next run");

	examination_set(e, &f->value, "%s", path ? path : "(nowhere)");
	if (!usable)
		examination_set(e, &f->fix, "XDG_CACHE_HOME=DIRECTORY dwarfprof ...");
}

/* Parsers are started as for profiling. */
static void examine_parsers(struct examination *e, const char *helper)
{
	struct confinement confinement = { 0 };
	char list[CONFINE_LIST_SIZE];
	struct parsers *parsers;
	struct finding *f;
	int err = parsers_new(helper, &parsers);

	if (err == 0)
		err = parsers_check(parsers, &confinement);
	parsers_drop(parsers);
	e->group = "parsers of binaries";
	if (err < 0) {
		f = examination_add(e, "none starts", FINDING_LIMITED, "files that others wrote");
		examination_set(e, &f->value, "(%s)", strerror(-err));
		return;
	}
	for (uint32_t i = 0; i < CONFINE_N_LAYERS; i++) {
		bool ok = confinement.layers & 1u << i;

		f = examination_add(e, confine_list(1u << i, list),
				    ok ? FINDING_OK : FINDING_LIMITED, "files that others wrote");
		if (confinement.missing & 1u << i)
			examination_set(e, &f->value, "(failed)");
	}
}

/* Reads the hidepid= option of the visible /proc; "" if it is not set. */
static void read_hidepid(char ret[32])
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	ret[0] = '\0';
	while (file && getline(&line, &size, file) > 0) {
		const char *option = strstr(line, "hidepid=");

		if (!strstr(line, " /proc "))
			continue;
		ret[0] = '\0'; /* the last mount covers the others */
		if (option)
			sscanf(option + strlen("hidepid="), "%31[a-z0-9]", ret);
	}
}

static void examine_surroundings(struct examination *e)
{
	bool pids = is_initial("/proc/self/ns/pid", INITIAL_PID_NAMESPACE);
	struct finding *f;
	char hidepid[32];
	bool shown;

	e->group = "surroundings";
	f = examination_add(e, "PID namespace", pids ? FINDING_OK : FINDING_LIMITED,
			    "processes outside of this container");
	examination_set(e, &f->value, pids ? "(the initial one)" : "(a container's own)");
	if (!pids)
		examination_set(e, &f->fix, "docker run --pid=host ...");
	f = examination_add(e, "user namespace", e->users ? FINDING_OK : FINDING_MISSING,
			    ALL "capabilities that count");
	examination_set(e, &f->value, e->users ? "(the initial one)" : "(another one)");
	if (!e->users)
		examination_set(e, &f->fix, "docker run --userns=host ...");

	read_hidepid(hidepid);
	shown = hidepid[0] == '\0' || strcmp(hidepid, "0") == 0 || strcmp(hidepid, "off") == 0 ||
		examination_has(e, CAP_SYS_PTRACE);
	f = examination_add(e, "/proc", shown ? FINDING_OK : FINDING_MISSING,
			    "processes of other users");
	if (hidepid[0] != '\0')
		examination_set(e, &f->value, "hidepid=%s", hidepid);
	if (!shown)
		examination_set(e, &f->fix,
				"sudo mount -o remount,hidepid=0 /proc, or CAP_SYS_PTRACE");
}

/* How many of the processes with memory have readable mappings and a readable program? */
static void examine_processes(struct examination *e, const char *helper)
{
	size_t n_read, n_refused;
	struct finding *f;

	readable_count(helper, &n_read, &n_refused);
	f = examination_add(e, "processes", n_refused == 0 ? FINDING_OK : FINDING_LIMITED,
			    "mappings and programs that can be read");
	examination_set(e, &f->value, "%zu of %zu", n_read, n_read + n_refused);
}

static void summarize(struct examination *e)
{
	struct doctor *d = e->doctor;
	bool can_sample = true;

	for (size_t i = 0; i < d->n; i++) {
		const struct finding *f = &d->findings[i];

		if (f->state == FINDING_MISSING && strncmp(f->need, ALL, strlen(ALL)) == 0)
			can_sample = false;
	}
	d->own_processes = can_sample;
	d->all_processes = can_sample && examination_has(e, CAP_SYS_PTRACE);
	d->kernel = can_sample && d->kernel;
	d->uprobes = can_sample && (e->multi || examination_has(e, CAP_SYS_ADMIN));
}

int doctor_examine(struct doctor *ret, const char *btf, const char *helper)
{
	struct examination e = { .doctor = ret, .btf = btf };

	*ret = (struct doctor){ 0 };
	capability_read(&e.caps);
	e.users = is_initial("/proc/self/ns/user", INITIAL_USER_NAMESPACE);
	examine_capabilities(&e);
	examine_sysctls(&e);
	examine_kernel(&e);
	examine_bpf(&e);
	examine_events(&e);
	examine_limits(&e);
	examine_cache(&e);
	if (helper)
		examine_parsers(&e, helper);
	examine_surroundings(&e);
	examine_processes(&e, helper);
	if (e.err == 0)
		summarize(&e);
	else
		doctor_done(ret);
	return e.err;
}

void doctor_done(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->n; i++) {
		free(doctor->findings[i].what);
		free(doctor->findings[i].value);
		free(doctor->findings[i].need);
		free(doctor->findings[i].fix);
	}
	free(doctor->findings);
	*doctor = (struct doctor){ 0 };
}
