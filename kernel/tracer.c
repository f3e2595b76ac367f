// SPDX-License-Identifier: Apache-2.0
#include "kernel/tracer.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/cpus.h"
#include "kernel/event.h"
#include "kernel/kernel_types.h"
#include "kernel/permission.h"
#include "kernel/tracefs.h"
#include "log/log.h"

DEFINE_CLEANUP(struct btf *, btf__free)

/* Prefix of a tracepoint's type, TRACE_EVENT() in include/trace/bpf_probe.h. */
#define TRACEPOINT_TYPE "btf_trace_"

/* Where perf has the number of its kind of event for kprobes. */
#define KPROBE_TYPE "/sys/bus/event_source/devices/kprobe/type"

static void say_no_tracepoint(const char *name)
{
	_cleanup_free_ char *meant = kernel_types_suggest(BTF_KIND_TYPEDEF, TRACEPOINT_TYPE, name);

	log_error("the kernel has no tracepoint %s%s%s%s", name, meant ? "; did you mean " : "",
		  meant ? meant : "", meant ? "?" : "");
}

static void say_no_function(const char *name)
{
	_cleanup_free_ char *meant = kernel_types_suggest(BTF_KIND_FUNC, "", name);

	log_error("the kernel has no function %s%s%s%s", name, meant ? "; did you mean " : "",
		  meant ? meant : "", meant ? "?" : "");
	log_detail("need: one in /proc/kallsyms that is not inlined, and for fentry: has a type");
}

static void say_no_types(const char *function)
{
	log_error("cannot look up %s: there is no type information of the kernel (BTF)", function);
	log_detail("need: /sys/kernel/btf/vmlinux, even with --btf");
}

static int prepare_function(struct bpf_program *program, const char *function)
{
	_cleanup_(btf__freep) struct btf *types = NULL;
	int err;

	bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
	bpf_program__set_expected_attach_type(program, BPF_TRACE_FENTRY);
	err = bpf_program__set_attach_target(program, 0, function);
	if (err == -ESRCH || err == -ENOENT) {
		types = kernel_types_load(NULL);
		if (types)
			say_no_function(function);
		else
			say_no_types(function);
		return -ENOENT; /* the other one is of processes */
	}
	if (err < 0)
		log_error("cannot look up %s in the kernel's types: %s", function, strerror(-err));
	return err;
}

int tracer_try_function(void)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	/* The first type is no function: a kernel that looks at it says so. */
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = 1);
	_cleanup_close_ int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "dp_probe", "GPL", code,
					       ARRAY_SIZE(code), &opts);

	return fd >= 0 || errno == EINVAL ? 0 : -errno;
}

static int prepare_kprobe(struct bpf_program *program)
{
	if (access(KPROBE_TYPE, F_OK) < 0) {
		log_error("this kernel has no kprobes");
		log_detail("need: CONFIG_KPROBES and CONFIG_KPROBE_EVENTS");
		log_detail("try:  -e fentry:FUNCTION");
		return -EOPNOTSUPP;
	}
	bpf_program__set_type(program, BPF_PROG_TYPE_KPROBE);
	return 0;
}

int tracer_prepare(struct tracer *ret, struct bpf_program *program, enum tracer_kind kind,
		   const char *function, bool several)
{
	*ret = (struct tracer){ .kind = kind, .tracefs = -1, .program = program };
	if (kind == TRACER_FENTRY)
		return prepare_function(program, function);
	if (kind == TRACER_KPROBE)
		return prepare_kprobe(program);
	if (kind == TRACER_RAW)
		return 0;
	ret->tracefs = tracefs_open();
	if (ret->tracefs >= 0) {
		bpf_program__set_type(program, BPF_PROG_TYPE_TRACEPOINT);
		return 0;
	}
	if (several) {
		log_error("cannot sample several tracepoints: tracefs cannot be read");
		tracefs_explain(ret->tracefs);
		return ret->tracefs;
	}
	log_debug("tracepoints by name: tracefs cannot be read: %s", strerror(-ret->tracefs));
	ret->kind = TRACER_RAW;
	return 0;
}

bool tracer_explain_load(const struct tracer *t, int err)
{
	if (t->kind != TRACER_FENTRY || err != -EPERM || !permission_may_load() ||
	    tracer_try_function() == 0)
		return false;
	log_error("this kernel refuses every BPF program at a function (fentry)");
	log_detail("try:  -e %stracepoint:..., raw_tracepoint:...",
		   access(KPROBE_TYPE, F_OK) == 0 ? "kprobe:FUNCTION, " : "");
	return true;
}

void tracer_done(struct tracer *t)
{
	if (t->tracefs >= 0)
		close(t->tracefs);
	*t = TRACER_NONE;
}

/* One event is enough for hits on all CPUs: the program is attached to the tracepoint itself. */
static int open_tracepoint(uint64_t id)
{
	const struct event_kind kind = { .type = PERF_TYPE_TRACEPOINT, .config = id, .period = 1 };
	char list[CPUS_LIST_SIZE];
	unsigned int n = cpus_read(list);
	int fd = -ENODEV;

	for (unsigned int cpu = 0; fd == -ENODEV && cpu < n; cpu++)
		fd = event_open(cpu, &kind);
	return fd;
}

static int attach_tracepoint(const struct tracer *t, const struct tracer_place *place,
			     uint64_t cookie, struct bpf_link **ret)
{
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = cookie);
	_cleanup_close_ int fd = -1;
	uint64_t id;
	int err = tracefs_read_id(t->tracefs, place->system, place->name, &id);

	if (err < 0)
		return err;
	fd = open_tracepoint(id);
	if (fd < 0)
		return fd;
	*ret = bpf_program__attach_perf_event_opts(t->program, fd, &opts);
	if (!*ret)
		return -errno;
	steal_fd(&fd); /* the link closes it */
	return 0;
}

static int attach_kprobe(const struct tracer *t, const char *place, uint64_t cookie,
			 struct bpf_link **ret)
{
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .bpf_cookie = cookie);
	_cleanup_free_ char *function = strndup(place, strcspn(place, "+"));
	const char *offset = strchr(place, '+');

	if (!function)
		return -ENOMEM;
	if (offset)
		opts.offset = strtoul(offset + 1, NULL, 0);
	*ret = bpf_program__attach_kprobe_opts(t->program, function, &opts);
	return *ret ? 0 : -errno;
}

static bool is_about_function(int err)
{
	return err != -EACCES && err != -EPERM && err != -ENOMEM && err != -EMFILE &&
	       err != -ENFILE;
}

/* -EADDRNOTAVAIL: create_local_trace_kprobe(), kernel/trace/trace_kprobe.c, since Linux 6.7 */
static void explain_function(const struct tracer *t, const char *name, int err)
{
	permission_explain_trace(name, err);
	if (err == -EADDRNOTAVAIL)
		log_detail("several functions of the kernel have this name");
	else if (is_about_function(err))
		log_detail("need: a function that may be traced, as those in "
			   "/sys/kernel/tracing/available_filter_functions%s",
			   t->kind == TRACER_KPROBE ? ", and where an instruction begins" : "");
}

static void explain(const struct tracer *t, const struct tracer_place *place, int err)
{
	if (err == -ENOENT && t->kind == TRACER_TRACEPOINT)
		tracefs_say_none(t->tracefs, place->system, place->name);
	else if (err == -ENOENT && t->kind == TRACER_RAW)
		say_no_tracepoint(place->name);
	else if (err == -ENOENT && t->kind == TRACER_KPROBE)
		say_no_function(place->name);
	else if (t->kind == TRACER_KPROBE || t->kind == TRACER_FENTRY)
		explain_function(t, place->name, err);
	else
		permission_explain_trace(place->name, err);
}

int tracer_attach(const struct tracer *t, const struct tracer_place *place, uint64_t cookie,
		  struct bpf_link **ret)
{
	int err;

	*ret = NULL;
	if (t->kind == TRACER_TRACEPOINT) {
		err = attach_tracepoint(t, place, cookie, ret);
	} else if (t->kind == TRACER_KPROBE) {
		err = attach_kprobe(t, place->name, cookie, ret);
	} else {
		*ret = t->kind == TRACER_RAW ?
			       bpf_program__attach_raw_tracepoint(t->program, place->name) :
			       bpf_program__attach_trace(t->program);
		err = *ret ? 0 : -errno;
	}
	if (err < 0)
		explain(t, place, err);
	return err;
}

uint64_t tracer_missed(const struct tracer *t)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (!t->program || bpf_obj_get_info_by_fd(bpf_program__fd(t->program), &info, &size) < 0)
		return 0;
	return info.recursion_misses;
}

void tracer_tell(struct tracer *t)
{
	uint64_t n = tracer_missed(t);

	if (n > t->n_told)
		log_warning("%" PRIu64 " hits, of any process, were missed: they came while a BPF "
			    "program was at work on their CPU",
			    n - t->n_told);
	t->n_told = n;
}
