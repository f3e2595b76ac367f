// SPDX-License-Identifier: Apache-2.0
#include "kernel/refusal.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/kernel_types.h"
#include "log/log.h"

DEFINE_CLEANUP(struct btf *, btf__free)

/* Lines kept from the end of the log. The first is the instruction. */
#define REASON_LINES 2

/* The listener of this thread: libbpf's callback has no user argument. */
static _Thread_local struct refusal *listener;

/* libbpf puts these marks around a log: bpf_object_load_prog(), libbpf.c. */
static const char log_begin[] = "-- BEGIN PROG LOAD LOG --\n";
static const char log_end[] = "-- END PROG LOAD LOG --";

/* Returns the start of the line that ends at `end`. */
static const char *line_before(const char *begin, const char *end)
{
	if (end > begin)
		end--; /* skip its newline */
	while (end > begin && end[-1] != '\n')
		end--;
	return end;
}

/* Joins the last lines into one, without the verifier's statistics. */
static void keep_reason(struct refusal *refusal, const char *log, const char *end)
{
	static const char count[] = "processed ";
	const char *from = line_before(log, end);
	size_t size;

	if (strncmp(from, count, strlen(count)) == 0) {
		end = from;
		from = line_before(log, end);
	}
	for (int i = 1; i < REASON_LINES; i++)
		from = line_before(log, from);
	size = (size_t)(end - from);
	if (size > 0 && from[size - 1] == '\n')
		size--;
	if (size >= sizeof(refusal->reason))
		size = sizeof(refusal->reason) - 1;
	for (size_t i = 0; i < size; i++)
		refusal->reason[i] = (char)(from[i] == '\n' ? ' ' : from[i]);
	refusal->reason[size] = '\0';
}

static void remember(struct refusal *refusal, const char *text)
{
	const char *log = strstr(text, log_begin), *end = log ? strstr(log, log_end) : NULL;

	if (!end || sscanf(text, "libbpf: prog '%63[^']'", refusal->program) != 1)
		return;
	keep_reason(refusal, log + strlen(log_begin), end);
}

static int hear(enum libbpf_print_level level, const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;

	if (level == LIBBPF_DEBUG)
		return 0;
	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		return 0;
	}
	if (listener)
		remember(listener, text);
	/* The verifier's log is a single message of thousands of lines. */
	if (log_enabled(LOG_DEBUG))
		log_lines(LOG_DEBUG, text);
	return 0;
}

void refusal_listen(struct refusal *refusal)
{
	if (refusal)
		*refusal = (struct refusal){ .program = "" };
	listener = refusal;
	libbpf_set_print(hear);
}

const char *refusal_program(const struct refusal *refusal)
{
	return refusal->program[0] ? refusal->program : NULL;
}

const char *refusal_reason(const struct refusal *refusal)
{
	return refusal->program[0] ? refusal->reason : NULL;
}

/* Lists missing members. Those whose absence only disables a feature are seldom to blame. */
static void explain_fields(const struct btf *btf)
{
	const struct kernel_field *field;
	char need[KERNEL_FIELD_NEED_SIZE];

	for (size_t i = 0; (field = kernel_field(i)); i++) {
		if (field->uses == DP_FOR_NOTHING || kernel_field_exists(btf, field))
			continue;
		kernel_field_need(field, need);
		log_detail("need: %s.%s, which this kernel does not have, for %s", field->type,
			   field->member, need);
	}
}

static void explain_program(const struct refusal *refusal, const struct btf *btf)
{
	struct utsname kernel;

	explain_fields(btf);
	log_detail("the verifier says: %s", refusal->reason);
	if (uname(&kernel) == 0)
		log_detail("kernel: %s %s %s, %s", kernel.sysname, kernel.release, kernel.machine,
			   kernel.version);
	log_detail("please report this to %s, with what `dwarfprof doctor` says", DP_BUG_REPORT);
}

/* Has the running kernel types where libbpf looks? */
static bool has_types(void)
{
	_cleanup_(btf__freep) struct btf *btf = kernel_types_load(NULL);

	return btf != NULL;
}

void refusal_explain(const struct refusal *refusal, const char *path)
{
	_cleanup_(btf__freep) struct btf *btf = NULL;

	if (!refusal_program(refusal) && !has_types()) {
		log_detail("need: type information of the running kernel (BTF), which is in "
			   "/sys/kernel/btf/vmlinux");
		log_detail(path ? "      --off-cpu, --wall and dump need it there even with --btf" :
				  "try:  --btf FILE, if there is such a file elsewhere");
		log_detail("try:  in a container: mount /sys; else a kernel built with "
			   "CONFIG_DEBUG_INFO_BTF=y, as distributions' are");
		return;
	}
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 0) {
		log_detail("need: bpf_loop(), which Linux has since 5.17");
		log_detail("try:  a newer kernel");
		return;
	}
	if (!refusal_program(refusal)) {
		log_detail("try:  dwarfprof -v ..., which shows what the kernel says");
		return;
	}
	btf = kernel_types_load(path);
	if (path && access("/sys/kernel/btf/vmlinux", R_OK) == 0)
		log_detail("try:  without --btf: %s may be of another kernel", path);
	explain_program(refusal, btf);
}
