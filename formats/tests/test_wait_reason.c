// SPDX-License-Identifier: Apache-2.0
/*
 * What threads wait for, by kernel stacks as Linux 6.1 and 6.12 have them, and where the text
 * report shows it.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/tests/samples.h"
#include "symbols/kallsyms.h"
#include "text/wait_reason.h"

#define MAX_FUNCTIONS 8

static const struct wait_case {
	enum dp_state state;
	const char *reason;
	const char *functions[MAX_FUNCTIONS]; /* the leaf first */
} cases[] = {
	{ DP_STATE_SLEEPING,
	  "futex",
	  { "__schedule", "schedule", "futex_wait_queue", "futex_wait", "do_futex",
	    "__x64_sys_futex" } },
	{ DP_STATE_SLEEPING,
	  "read",
	  { "__schedule", "schedule", "pipe_read", "vfs_read", "ksys_read", "__x64_sys_read" } },
	{ DP_STATE_SLEEPING,
	  "poll",
	  { "__schedule", "schedule", "schedule_hrtimeout_range_clock", "do_sys_poll",
	    "__x64_sys_ppoll" } },
	{ DP_STATE_SLEEPING,
	  "sleep",
	  { "__schedule.isra.0", "schedule", "do_nanosleep", "hrtimer_nanosleep",
	    "__x64_sys_clock_nanosleep" } },
	{ DP_STATE_SLEEPING,
	  "futex",
	  { "__schedule", "schedule", "futex_wait_requeue_pi.constprop.0" } },
	{ DP_STATE_SLEEPING,
	  "FUSE server",
	  { "__schedule", "schedule", "request_wait_answer", "fuse_simple_request",
	    "__x64_sys_openat" } },
	{ DP_STATE_SLEEPING,
	  "child",
	  { "__schedule", "schedule", "do_wait.part.0", "kernel_wait4", "__x64_sys_wait4" } },
	/* Other functions' names begin like that of the one which waits for a child. */
	{ DP_STATE_SLEEPING,
	  "read",
	  { "__schedule", "schedule", "do_wait_intr_irq", "eventfd_read", "vfs_read", "ksys_read",
	    "__x64_sys_read" } },
	{ DP_STATE_SLEEPING,
	  "timerfd_read",
	  { "__schedule", "schedule", "do_wait_intr_irq", "timerfd_read" } },
	{ DP_STATE_SLEEPING,
	  "clone",
	  { "__schedule", "schedule", "schedule_timeout", "do_wait_for_common",
	    "wait_for_completion_state", "kernel_clone", "__x64_sys_clone" } },
	/* In a system call, and of user code. */
	{ DP_STATE_DISK_SLEEP,
	  "page fault",
	  { "__schedule", "io_schedule", "folio_wait_bit_common", "filemap_fault",
	    "handle_mm_fault", "asm_exc_page_fault", "ksys_read", "__x64_sys_read" } },
	{ DP_STATE_RUNNABLE,
	  "preempted",
	  { "__schedule", "schedule", "exit_to_user_mode_prepare", "do_syscall_64" } },
	{ DP_STATE_RUNNABLE, "preempted", { "__schedule", "__cond_resched", "__x64_sys_write" } },
	{ DP_STATE_RUNNABLE,
	  "sched_yield",
	  { "__schedule", "schedule", "do_sched_yield", "__x64_sys_sched_yield" } },
	{ DP_STATE_STOPPED, "stopped", { "__schedule", "schedule", "do_signal_stop" } },
	/* No system call is known. */
	{ DP_STATE_IDLE,
	  "worker_thread",
	  { "__schedule", "schedule", "worker_thread", "kthread" } },
	/* No kernel stack. */
	{ DP_STATE_SLEEPING, "asleep", { NULL } },
	{ DP_STATE_DISK_SLEEP, "uninterruptible", { NULL } },
};

Test(wait_reason, is_what_the_kernel_s_functions_tell)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct symbolized_frame items[MAX_FUNCTIONS + 1];
		struct symbolized_stack stack = { .items = items };
		char buffer[WAIT_REASON_SIZE];

		for (; stack.n < MAX_FUNCTIONS && cases[i].functions[stack.n]; stack.n++)
			items[stack.n] = (struct symbolized_frame){
				.kind = SYMBOLIZED_KERNEL,
				.is_named = true,
				.name = cases[i].functions[stack.n],
			};
		items[stack.n++] = (struct symbolized_frame){ .kind = SYMBOLIZED_USER,
							      .is_named = true,
							      .name = "__x64_sys_of_a_user" };
		cr_expect_str_eq(wait_reason(cases[i].state, &stack, buffer), cases[i].reason,
				 "%zu: %s", i, wait_reason(cases[i].state, &stack, buffer));
	}
}

/* The user's function has the time, and the kernel's functions only their part of the total. */
Test(wait_reason, is_behind_the_function_that_waits)
{
	struct sample sample = sample_of(DP_COMPLETE);
	char path[] = "/tmp/dwarfprof-test-XXXXXX";
	struct kallsyms *kallsyms;
	FILE *names = fdopen(mkstemp(path), "w");
	const char *head, *wait, *scheduler;

	fputs("ffffffff81000000 T __schedule\nffffffff81000080 T __x64_sys_read\n", names);
	fclose(names);
	cr_assert(kallsyms_new(some_names(), path, &kallsyms) == 0);
	unlink(path);
	sample.event = DP_EVENT_OFF_CPU;
	sample.state = DP_STATE_SLEEPING;
	sample.value_ns = 5000000;
	sample.kernel = kernel;
	sample.n_kernel = 2;
	begin_times("text", false);
	report->context.kallsyms = kallsyms;
	add(sample);
	finish();
	head = strstr(text, "total time");
	cr_assert(head, "%s", text);
	wait = strstr(head, " 100.0 %  100.0 %      5.000 ms  [prog] [read] ");
	scheduler = strstr(head, "   0.0 %  100.0 %      5.000 ms  __schedule ");
	cr_assert(wait && scheduler && wait < scheduler, "%s", text);
	free(text);
	kallsyms_free(kallsyms);
}
