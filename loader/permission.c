// SPDX-License-Identifier: Apache-2.0
#include "permission.h"

#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "log.h"

/* Newer than the oldest kernel headers we build with. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

static const struct {
	int number;
	const char *name;
} capabilities[] = {
	{ CAP_BPF, "CAP_BPF" },
	{ CAP_PERFMON, "CAP_PERFMON" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
};

static uint64_t effective_set(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	uint64_t set = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %" SCNx64, &set) == 1)
			break;
	return set;
}

bool permission_has(int capability)
{
	return effective_set() >> capability & 1;
}

static const char *capability_name(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++)
		if (capabilities[i].number == number)
			return capabilities[i].name;
	return "?";
}

/* Name the capabilities that are needed, and those of them that are missing. */
static void explain_capabilities(const int *needed, size_t n)
{
	_cleanup_free_ char *text = NULL;
	size_t size, n_missing = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return;
	fputs("need:", to);
	for (size_t i = 0; i < n; i++)
		fprintf(to, " %s", capability_name(needed[i]));
	fputs("; missing:", to);
	for (size_t i = 0; i < n; i++) {
		if (permission_has(needed[i]))
			continue;
		fprintf(to, " %s", capability_name(needed[i]));
		n_missing++;
	}
	fputs(n_missing ? "" : " none", to);
	fclose(to);
	log_detail("%s", text);
	log_detail("try:  sudo dwarfprof ...");
	if (needed[0] != CAP_SYS_ADMIN)
		log_detail("or once: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep "
			   "$(command -v dwarfprof)");
}

static int read_sysctl(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	int value = 0;

	if (file && fscanf(file, "%d", &value) != 1)
		value = 0;
	return value;
}

int permission_explain_bpf(int err)
{
	static const int needed[] = { CAP_BPF, CAP_PERFMON };
	bool missing = !permission_has(CAP_SYS_ADMIN) &&
		       (!permission_has(CAP_BPF) || !permission_has(CAP_PERFMON));

	/*
	 * For want of a capability the kernel says EPERM (bpf_prog_load(),
	 * kernel/bpf/syscall.c). With EACCES the verifier refuses a program, and
	 * so do some security modules.
	 */
	log_error("cannot load the BPF programs: %s",
		  err == -EACCES && !missing ?
			  "the kernel's verifier or a security module refuses them" :
			  strerror(-err));
	if (missing) {
		explain_capabilities(needed, ARRAY_SIZE(needed));
	} else if (access("/sys/kernel/btf/vmlinux", R_OK) < 0) {
		log_detail("need: type information of the running kernel, /sys/kernel/btf/vmlinux");
		log_detail(
			"try:  a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distributions' are");
	} else if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 0) {
		log_detail("need: bpf_loop(), which Linux has since 5.17");
		log_detail("try:  a newer kernel");
	} else {
		log_detail("try:  dwarfprof -v ..., which shows what the kernel says");
	}
	if (err == -EPERM || (err == -EACCES && missing))
		return -EPERM;
	return err == -ENOMEM ? err : -EOPNOTSUPP;
}

void permission_explain_perf(const char *what, int err)
{
	static const int needed[] = { CAP_PERFMON };

	log_error("cannot open %s: %s", what, strerror(-err));
	if (err == -EACCES || err == -EPERM) {
		log_detail("kernel.perf_event_paranoid is %d",
			   read_sysctl("/proc/sys/kernel/perf_event_paranoid"));
		explain_capabilities(needed, ARRAY_SIZE(needed));
	} else if (err == -EMFILE) {
		log_detail("try:  ulimit -n 65536");
	} else if (err == -EINVAL) {
		log_detail("the highest rate is %d Hz (kernel.perf_event_max_sample_rate)",
			   read_sysctl("/proc/sys/kernel/perf_event_max_sample_rate"));
		log_detail("try:  a lower -F");
	}
}

/* Open a file in the first directory, of a list separated by colons, that has it; else -1. */
static int open_from_list(const char *list, const char *name)
{
	int fd = -1;

	while (fd < 0 && list && *list) {
		size_t n = strcspn(list, ":");
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%.*s/%s", (int)n, list, name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		list += n + (list[n] == ':');
	}
	return fd;
}

/* Where libbpf looks for the file of a uprobe: resolve_full_path() in its libbpf.c. */
static int open_uprobe_file(const char *path)
{
	bool library = strstr(path, ".so");
	int fd;

	if (strchr(path, '/'))
		return open(path, O_RDONLY | O_CLOEXEC);
	fd = open_from_list(getenv(library ? "LD_LIBRARY_PATH" : "PATH"), path);
	if (fd >= 0)
		return fd;
	return open_from_list(library ? "/usr/lib64:/usr/lib:/usr/lib/x86_64-linux-gnu" :
					"/usr/bin:/usr/sbin",
			      path);
}

static void explain_uprobe_file(const char *path, int err)
{
	log_error("cannot read %s: %s", path, strerror(err));
	if (!strchr(path, '/'))
		log_detail("try:  its whole path; only the usual directories are searched");
}

void permission_explain_uprobe(const char *path, const char *symbol, int err)
{
	/* The kernel's perf uprobe demands this one, whatever else there is. */
	static const int needed[] = { CAP_SYS_ADMIN };
	_cleanup_close_ int fd = open_uprobe_file(path);
	char text[128] = "";

	if (fd < 0) {
		explain_uprobe_file(path, errno);
	} else if (read(fd, text, SELFMAG) != SELFMAG || memcmp(text, ELFMAG, SELFMAG) != 0) {
		log_error("%s is no ELF file", path);
	} else if (err == -ENOENT) {
		log_error("%s has no function %s", path, symbol);
		log_detail("try:  nm -D %s, nm %s", path, path);
	} else if (err == -LIBBPF_ERRNO__FORMAT) {
		/* elf_find_func_offset(), libbpf's elf.c */
		log_error("%s has more than one function %s", path, symbol);
	} else {
		libbpf_strerror(err, text, sizeof(text)); /* knows libbpf's own numbers, too */
		log_error("cannot set the uprobe: %s", text);
		if (err == -EACCES || err == -EPERM)
			explain_capabilities(needed, ARRAY_SIZE(needed));
	}
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
