// SPDX-License-Identifier: Apache-2.0
/* Frames of kernel stacks that are of what takes the sample. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "samples/own_frames.h"
#include "symbols/kallsyms.h"
#include "symbols/tests/some_names.h"

static struct kallsyms *kallsyms;

#define RUN 0xffffffff81001010
#define ITERATE 0xffffffff81002020
#define WAKE 0xffffffff81003030
#define WORK 0xffffffff81004040
#define UNKNOWN 0xffffffffc0000010

static void begin(void)
{
	static const char names[] = "ffffffff81001000 T bpf_trace_run4\n"
				    "ffffffff81002000 T __traceiter_sched_waking\n"
				    "ffffffff81003000 t try_to_wake_up\n"
				    "ffffffff81004000 T perf_event_wakeup\n"
				    "ffffffff81005000 T _etext\n";
	char path[] = "/tmp/dwarfprof-test-XXXXXX";
	int fd = mkstemp(path);

	cr_assert(write(fd, names, sizeof(names) - 1) == sizeof(names) - 1);
	cr_assert(kallsyms_new(some_names(), path, &kallsyms) == 0);
	close(fd);
	unlink(path);
}

static void end(void)
{
	kallsyms_free(kallsyms);
}

TestSuite(own_frames, .init = begin, .fini = end);

Test(own_frames, are_told_by_their_names)
{
	const __u64 by_name[] = { RUN, ITERATE, WAKE, WORK };
	const __u64 directly[] = { RUN, WAKE, WORK };
	const __u64 none[] = { WAKE, WORK };

	cr_assert_eq(own_frames(kallsyms, by_name, ARRAY_SIZE(by_name)), 2);
	cr_assert_eq(own_frames(kallsyms, directly, ARRAY_SIZE(directly)), 1);
	cr_assert_eq(own_frames(kallsyms, none, ARRAY_SIZE(none)), 0);
	cr_assert_eq(own_frames(kallsyms, NULL, 0), 0);
	cr_assert_eq(own_frames(NULL, by_name, ARRAY_SIZE(by_name)), 0);
}

Test(own_frames, may_have_no_name)
{
	const __u64 program[] = { UNKNOWN, RUN, WAKE };
	const __u64 module[] = { UNKNOWN, WAKE };

	cr_assert_eq(own_frames(kallsyms, program, ARRAY_SIZE(program)), 2);
	cr_assert_eq(own_frames(kallsyms, module, ARRAY_SIZE(module)), 0);
}

/* What is traced may be called by another program. */
Test(own_frames, are_at_the_leaf)
{
	const __u64 within[] = { RUN, WAKE, RUN, ITERATE, WORK };
	const __u64 unnamed[] = { UNKNOWN, RUN, WAKE, UNKNOWN, RUN, WORK };

	cr_assert_eq(own_frames(kallsyms, within, ARRAY_SIZE(within)), 1);
	cr_assert_eq(own_frames(kallsyms, unnamed, ARRAY_SIZE(unnamed)), 2);
}

Test(own_frames, are_few)
{
	const __u64 unknown[] = { UNKNOWN, UNKNOWN, UNKNOWN };
	const __u64 many[] = { RUN, RUN, RUN, RUN, RUN, RUN, RUN, RUN, RUN };

	cr_assert_eq(own_frames(kallsyms, unknown, ARRAY_SIZE(unknown)), 0);
	cr_assert_eq(own_frames(kallsyms, many, ARRAY_SIZE(many)), 8);
}
