// SPDX-License-Identifier: Apache-2.0
/*
 * A profiler without a session, which needs no kernel: its processes, tables and description. This
 * program is also the helper.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/filter.h"
#include "process/process_table.h"
#include "profiler/profiler.h"
#include "profiler/thread_set.h"
#include "sandbox/helper.h"
#include "sandbox/tests/helper_test.h"
#include "symbols/tests/some_names.h"

static const struct event_source nothing = { .name = "nothing" };

int main(int argc, char **argv)
{
	if (helper_is_one(argv[0]))
		return helper_main(argc, argv);
	return run_tests(argc, argv);
}

static struct filter filter;
static struct profiler_options options;
static pid_t child;

static void begin(void)
{
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (true)
			pause();
	}
	filter_init(&filter);
	options = (struct profiler_options){
		.target = { .pids = &child, .n_pids = 1, .filter = &filter },
		.event = { .source = &nothing },
		.sides = DP_SIDES_USER,
		.unwind = DP_UNWIND_AUTO,
		.max_frames = 100,
		.table_memory = POOL_MIN_MEMORY,
		.names = some_names(),
	};
}

static void end(void)
{
	filter_done(&filter);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

TestSuite(unsampled, .init = begin, .fini = end, .timeout = 60);

Test(unsampled, has_processes_with_their_tables)
{
	struct thread_set set = { .options = &options };
	struct thread_snapshot *threads;
	const struct mapping *m;
	struct profiler *p;

	cr_assert_eq(profiler_open(&options, &p), 0);
	cr_assert_eq(profiler_attach(p, 0), 0);
	profiler_lend(p, &set);
	cr_assert_eq(HASH_COUNT(set.table->processes), 1);
	cr_assert_eq(thread_set_add(&set, process_table_find(set.table, child), &threads), 0);
	m = snapshot_find(threads->snapshot, (uint64_t)(uintptr_t)begin);
	cr_assert(m && m->binary && m->binary->table, "this program's");
	cr_assert_neq(m->image, 0);
	/* The same again, also where nothing has changed. */
	profiler_look_again(p);
	cr_assert_eq(thread_set_renew(&set, threads), 0);
	m = snapshot_find(threads->snapshot, (uint64_t)(uintptr_t)begin);
	cr_assert(m && m->binary && m->binary->table);
	thread_set_close(&set);
	profiler_free(p);
}

/* And so are the lists of their mappings. */
Test(unsampled, has_processes_that_helpers_read)
{
	struct process *process;
	struct thread_set set = { .options = &options };
	struct thread_snapshot *threads;
	struct profiler *p;

	if (geteuid() != 0)
		cr_skip("they need CAP_SYS_PTRACE");
	options.helper = HELPER_SELF;
	cr_assert_eq(profiler_open(&options, &p), 0);
	cr_assert_eq(profiler_attach(p, 0), 0);
	profiler_lend(p, &set);
	process = process_table_find(set.table, child);
	cr_assert(set.table->lists && process && !process->is_unread && process->list_err == 0);
	cr_assert_eq(thread_set_add(&set, process, &threads), 0);
	cr_assert(snapshot_find(threads->snapshot, (uint64_t)(uintptr_t)begin));
	profiler_look_again(p);
	cr_assert(set.table->n_awaited == 0 && !process->is_unread);
	cr_assert_eq(thread_set_renew(&set, threads), 0);
	cr_assert(snapshot_find(threads->snapshot, (uint64_t)(uintptr_t)begin));
	thread_set_close(&set);
	profiler_free(p);
}

Test(unsampled, is_described_without_a_rate)
{
	struct report_context context;
	struct profiler *p;

	options.hz = 99;
	cr_assert_eq(profiler_open(&options, &p), 0);
	cr_assert_eq(profiler_attach(p, 0), 0);
	profiler_describe(p, &context);
	cr_assert(strstr(context.target, "(PID "));
	cr_assert_eq(context.hz, 0);
	cr_assert_eq(context.events, 0);
	profiler_free(p);
}

Test(unsampled, is_not_started)
{
	int messages = memfd_create("messages", MFD_CLOEXEC);
	struct report report = { 0 };
	struct profiler *p;

	cr_assert_geq(dup2(messages, STDERR_FILENO), 0);
	cr_assert_eq(profiler_open(&options, &p), 0);
	cr_assert_eq(profiler_attach(p, 0), 0);
	cr_assert_eq(profiler_start(p, (struct report *[]){ &report }, 1, false), -EINVAL);
	cr_assert_gt(lseek(messages, 0, SEEK_END), 0);
	profiler_free(p);
	close(messages);
}

Test(unsampled, says_who_does_not_exist)
{
	const pid_t nobody =
		4 * 1024 * 1024 + 1; /* above the highest process number, PID_MAX_LIMIT */
	int messages = memfd_create("messages", MFD_CLOEXEC);
	struct profiler *p;

	cr_assert_geq(dup2(messages, STDERR_FILENO), 0);
	options.target.pids = &nobody;
	cr_assert_eq(profiler_open(&options, &p), 0);
	cr_assert_eq(profiler_attach(p, 0), -ESRCH);
	cr_assert_gt(lseek(messages, 0, SEEK_END), 0);
	profiler_free(p);
	close(messages);
}
