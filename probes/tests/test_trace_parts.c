// SPDX-License-Identifier: Apache-2.0
/* Events of the kernel as users write them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "probes/trace_parts.h"

static char why[ARGUMENTS_WHY_SIZE];

static void expect(const char *text, enum tracer_kind kind, const char *system, const char *name,
		   size_t n_values, bool is_glob)
{
	_cleanup_(trace_parts_done) struct trace_parts parts;

	cr_assert_eq(trace_parts_split(text, kind, &parts, why), 0, "%s: %s", text, why);
	cr_assert(system ? parts.system && strcmp(parts.system, system) == 0 : !parts.system);
	cr_assert_str_eq(parts.name, name);
	cr_assert_eq(parts.arguments.n, n_values);
	cr_assert_eq(parts.is_glob, is_glob);
}

static void expect_error(const char *text, enum tracer_kind kind, const char *message)
{
	_cleanup_(trace_parts_done) struct trace_parts parts;

	cr_assert_eq(trace_parts_split(text, kind, &parts, why), -EINVAL, "%s", text);
	cr_assert(strstr(why, message), "%s: %s", text, why);
}

Test(trace_parts, of_tracepoints)
{
	expect("sched:sched_switch", TRACER_TRACEPOINT, "sched", "sched_switch", 0, false);
	expect("syscalls:sys_enter_openat(file=filename:str, dfd)", TRACER_TRACEPOINT, "syscalls",
	       "sys_enter_openat", 2, false);
	expect("sched:sched_*(pid)", TRACER_TRACEPOINT, "sched", "sched_*", 1, true);
	expect("s[ck]*:x", TRACER_TRACEPOINT, "s[ck]*", "x", 0, true);
	expect("sched_switch(arg2->1440:u32)", TRACER_RAW, NULL, "sched_switch", 1, false);
}

Test(trace_parts, of_functions)
{
	expect("vfs_read(count)", TRACER_FENTRY, NULL, "vfs_read", 1, false);
	expect("do_exit.isra.0", TRACER_FENTRY, NULL, "do_exit.isra.0", 0, false);
	expect("vfs_read+0x1c", TRACER_KPROBE, NULL, "vfs_read+0x1c", 0, false);
	expect("vfs_read(arg1,count)", TRACER_KPROBE, NULL, "vfs_read", 2, false);
}

Test(trace_parts, that_are_none)
{
	expect_error("sched_switch", TRACER_TRACEPOINT, "SYSTEM:NAME");
	expect_error(":sched_switch", TRACER_TRACEPOINT, "SYSTEM:NAME");
	expect_error("sched:", TRACER_TRACEPOINT, "SYSTEM:NAME");
	expect_error("sched:../x", TRACER_TRACEPOINT, "SYSTEM:NAME");
	expect_error("x(a:str)", TRACER_TRACEPOINT, "SYSTEM:NAME");
	expect_error("sched_*", TRACER_RAW, "one tracepoint");
	expect_error("sched:sched_switch", TRACER_RAW, "one tracepoint");
	expect_error("vfs_*", TRACER_FENTRY, "a function");
	expect_error("vfs_read+8", TRACER_FENTRY, "a function");
	expect_error("vfs_read+", TRACER_KPROBE, "FUNCTION+N");
	expect_error("vfs_read+8x", TRACER_KPROBE, "FUNCTION+N");
	expect_error("", TRACER_KPROBE, "a function");
	expect_error("vfs_read+4(arg1)", TRACER_KPROBE,
		     "no values can be read: its arguments are known where it begins");
	expect_error("sched:sched_switch(prev_pid:u46)", TRACER_TRACEPOINT, "a type: u8");
	expect_error("sched:sched_switch()", TRACER_TRACEPOINT, "the name of a field");
}
