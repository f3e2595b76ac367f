// SPDX-License-Identifier: Apache-2.0
#include "text/wait_reason.h"

#include <stdio.h>
#include <string.h>

#include "report/report.h"

/* Kernel functions that tell more than the system call they are in, or are in none. */
static const struct reason {
	const char *name; /* of the function; compilers append .isra.0 and the like */
	const char *reason;
	bool is_family; /* of all functions whose names begin so */
} reasons[] = {
	{ "handle_mm_fault", "page fault" },
	{ "exc_page_fault", "page fault" },
	{ "asm_exc_page_fault", "page fault" },
	{ "do_page_fault", "page fault" },
	{ "do_signal_stop", "stopped" },
	{ "ptrace_stop", "traced" },
	{ "fuse_", "FUSE server", true },
	{ "nfs_", "NFS server", true },
	{ "futex_wait", "futex", true },
	{ "futex_lock_pi", "futex" },
	{ "do_epoll_wait", "epoll" },
	{ "do_sys_poll", "poll" },
	{ "do_select", "select" },
	{ "hrtimer_nanosleep", "sleep" },
	{ "do_wait", "child" },
};

/* A system call's entry: arch/ARCH/include/asm/syscall_wrapper.h. */
static const char *const syscalls[] = { "__x64_sys_", "__ia32_sys_", "__arm64_sys_",
					"__se_sys_",  "__do_sys_",   "__riscv_sys_" };

/* How every wait ends, which tells nothing of this one: how these names begin. */
static const char *const schedulers[] = {
	"__schedule",         "schedule",       "io_schedule",   "preempt_schedule",
	"__preempt_schedule", "__cond_resched", "_cond_resched", "__traceiter_sched_",
	"bpf_trace_run",      "bpf_prog_",      "do_wait_intr",
};

static bool has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_scheduler(const char *name)
{
	for (size_t i = 0; i < sizeof(schedulers) / sizeof(schedulers[0]); i++)
		if (has_prefix(name, schedulers[i]))
			return true;
	return false;
}

static bool is_of(const char *name, const struct reason *reason)
{
	char next;

	if (!has_prefix(name, reason->name))
		return false;
	next = name[strlen(reason->name)];
	return reason->is_family || next == '\0' || next == '.';
}

/* What a kernel function tells, or NULL. */
static const char *reason_of(const char *name)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (is_of(name, &reasons[i]))
			return reasons[i].reason;
	for (size_t i = 0; i < sizeof(syscalls) / sizeof(syscalls[0]); i++)
		if (has_prefix(name, syscalls[i]))
			return name + strlen(syscalls[i]);
	return NULL;
}

static const char *reason_of_state(enum dp_state state)
{
	switch (state) {
	case DP_STATE_RUNNABLE:
		return "preempted";
	case DP_STATE_DISK_SLEEP:
		return "uninterruptible";
	case DP_STATE_STOPPED:
		return "stopped";
	default:
		return "asleep";
	}
}

const char *wait_reason(enum dp_state state, const struct symbolized_stack *stack,
			char buffer[WAIT_REASON_SIZE])
{
	const char *caller = NULL, *reason = NULL;

	for (size_t i = 0; !reason && i < stack->n; i++) {
		const struct symbolized_frame *frame = &stack->items[i];

		if (frame->kind != SYMBOLIZED_KERNEL || !frame->is_named)
			continue;
		reason = reason_of(frame->name);
		if (!caller && !is_scheduler(frame->name))
			caller = frame->name;
	}
	/* It does not wait: it was made to leave, wherever it was. */
	if (state == DP_STATE_RUNNABLE && !(reason && strcmp(reason, "sched_yield") == 0))
		return reason_of_state(state);
	if (!reason)
		reason = caller;
	if (!reason)
		return reason_of_state(state);
	snprintf(buffer, WAIT_REASON_SIZE, "%s", reason);
	return buffer;
}
