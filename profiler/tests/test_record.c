// SPDX-License-Identifier: Apache-2.0
/*
 * A run from options to report, without a kernel. The linker redirects kernel-related functions to
 * those below (--wrap), which simulate it.
 */
#include "profiler/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "formats/report_format.h"
#include "kernel/filter.h"
#include "kernel/permission.h"
#include "kernel/run_stats.h"
#include "log/clock.h"
#include "profiler/outputs.h"
#include "samples/tests/kernel_world.h"
#include "symbols/module.h"
#include "symbols/name_reader.h"
#include "symbols/tests/some_names.h"

#define SECOND UINT64_C(1000000000)

static uint8_t *segments[64];
static int n_segments;
static int rings_fd;
static bool is_sampling;
static uint64_t added_ns; /* added to the clock: simulated waiting */
static pid_t child;       /* the profiled process */
static int n_rounds;      /* of reading the rings */
static bool is_short;     /* the process ends after its sample */
static int n_added;       /* how often targets have been looked up, */
static int n_ahead;       /* and before the programs were loaded */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_session_load(struct session *session, const struct session_options *options);
int __real_target_add(struct process_table *table, const struct target *target);
int __wrap_target_add(struct process_table *table, const struct target *target);
void __wrap_session_close(struct session *session);
int __wrap_session_publish(struct session *session, pid_t pid, uint32_t cell);
int __wrap_session_rings_fd(const struct session *session);
int __wrap_session_sample_cpus(struct session *session, unsigned int hz, const char **ret_event,
			       char ret_why[EVENT_WHY_SIZE]);
void __wrap_session_stop(struct session *session);
int __wrap_sideband_new(unsigned int n_cpus, struct sideband **ret);
struct sideband *__wrap_sideband_free(struct sideband *sideband);
int __wrap_sideband_fd(const struct sideband *sideband);
struct sideband_look __wrap_sideband_look(struct sideband *sideband,
					  const struct process_table *table);
uint64_t __wrap_sideband_n_read(const struct sideband *sideband);
int __wrap_uevent_open(void);
struct run_stats __wrap_run_stats_of(const struct session *session);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int err = __real_clock_gettime(clock, ret);

	if (clock == CLOCK_MONOTONIC)
		ret->tv_sec += (time_t)(added_ns / SECOND);
	return err;
}

static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	cr_assert_lt(n_segments, 64);
	*ret = segments[n_segments++] = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	return 0;
}

int __wrap_session_load(struct session *session, const struct session_options *options)
{
	static char programs;

	session->bpf = (void *)&programs;
	session->pool.add_segment = add_segment;
	n_ahead = n_added;
	return 0;
}

int __wrap_target_add(struct process_table *table, const struct target *target)
{
	int err = __real_target_add(table, target);

	n_added += err == 0;
	return err;
}

void __wrap_session_close(struct session *session)
{
	pool_done(&session->pool);
	while (n_segments > 0)
		free(segments[--n_segments]);
}

int __wrap_session_publish(struct session *session, pid_t pid, uint32_t cell)
{
	return 0;
}

int __wrap_session_rings_fd(const struct session *session)
{
	return rings_fd;
}

int __wrap_session_sample_cpus(struct session *session, unsigned int hz, const char **ret_event,
			       char ret_why[EVENT_WHY_SIZE])
{
	is_sampling = true;
	*ret_event = "made-up";
	ret_why[0] = '\0';
	return 0;
}

void __wrap_session_stop(struct session *session)
{
	is_sampling = false;
}

int __wrap_sideband_new(unsigned int n_cpus, struct sideband **ret)
{
	return 0;
}

struct sideband *__wrap_sideband_free(struct sideband *sideband)
{
	return NULL;
}

int __wrap_sideband_fd(const struct sideband *sideband)
{
	return -1;
}

uint64_t __wrap_sideband_n_read(const struct sideband *sideband)
{
	return 0;
}

struct run_stats __wrap_run_stats_of(const struct session *session)
{
	return (struct run_stats){ 0 };
}

/* The simulated kernel does not report CPUs of the machine. */
int __wrap_uevent_open(void)
{
	return -EOPNOTSUPP;
}

/* The function in the sample. */
void profiled_function(void);
void profiled_function(void)
{
	while (true)
		pause();
}

/*
 * During sampling: a sample; unless that is all, another program is executed, and minutes pass; the
 * process ends.
 */
struct sideband_look __wrap_sideband_look(struct sideband *sideband,
					  const struct process_table *table)
{
	return (struct sideband_look){ .haste = SIDEBAND_NOW };
}

int __wrap_sideband_drain(struct sideband *sideband, struct process_table *table)
{
	const struct process *p = process_table_find(table, child);
	const __u64 frames[5] = { (__u64)(uintptr_t)profiled_function };
	struct named_sample *s;

	if (!is_sampling)
		return 0;
	if (++n_rounds > 1 && is_short) {
		kill(child, SIGKILL);
		return 0;
	}
	switch (n_rounds) {
	case 1:
		cr_assert(p && p->snapshot);
		s = add_sample_of(child, p->snapshot, clock_now_ns() - SECOND / 10, frames);
		s->sample.n_user = 1;
		s->sample.n_kernel = 0;
		s->sample.outcome = DP_COMPLETE;
		return 0;
	case 2:
		return 0;
	case 3:
		process_table_on_exec(table, child, clock_now_ns());
		return process_table_publish(table, clock_now_ns());
	case 4:
	case 5:
	case 6:
		added_ns += 61 * SECOND;
		return 0;
	}
	cr_assert(table->binaries->closed, "nobody has mapped it for a minute");
	kill(child, SIGKILL);
	return 0;
}

static char path[64];
static int messages;
static struct filter filter;
static struct output_request output;
static struct record_options options;

static void begin(void)
{
	int fd;

	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		profiled_function();
	}
	rings_fd = eventfd(0, EFD_CLOEXEC);
	snprintf(path, sizeof(path), "/tmp/record.XXXXXX");
	fd = mkstemp(path);
	cr_assert(child > 0 && rings_fd >= 0 && fd >= 0);
	close(fd);
	messages = memfd_create("messages", MFD_CLOEXEC);
	cr_assert_geq(dup2(messages, STDERR_FILENO), 0);
	filter_init(&filter);
	output = (struct output_request){ path, report_format_by_name("folded") };
	options = (struct record_options){
		.profiler = {
			.target = { .pids = &child, .n_pids = 1, .filter = &filter },
			.event = { .source = &event_cpu },
			.hz = 99,
			.sides = DP_SIDES_USER,
			.unwind = DP_UNWIND_AUTO,
			.max_frames = 100,
			.table_memory = POOL_MIN_MEMORY,
			.symbols = true,
			.names = some_names(),
		},
		.command_line = "test",
		.outputs = &output,
		.n_outputs = 1,
	};
}

static void end(void)
{
	filter_done(&filter);
	close(rings_fd);
	close(messages);
	unlink(path);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

TestSuite(record, .init = begin, .fini = end);

/* The content of the messages or the report. */
static const char *content(int fd)
{
	static char text[4096];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	cr_assert_geq(n, 0);
	text[n] = '\0';
	return text;
}

/*
 * Until the process ends. Its program has a name in the report, though its file was closed long
 * before.
 */
Test(record, reports_what_was_sampled)
{
	_cleanup_close_ int fd = -1;
	int code = record_run(&options);
	const char *text;

	cr_assert_eq(code, EXIT_CODE_OK, "%d: %s", code, content(messages));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	text = content(fd);
	cr_assert_eq(strstr(text, "comm;profiled_function 2\n"), text, "%s", text);
	cr_assert(!strstr(content(messages), "cannot"), "%s", content(messages));
}

/* The kernel takes a tenth of a second to verify the programs, in which the targets' files are parsed. */
Test(record, looks_for_targets_while_programs_are_loaded)
{
	cr_assert_eq(record_run(&options), EXIT_CODE_OK, "%s", content(messages));
	cr_assert_eq(n_added, 1);
	cr_assert_eq(n_ahead, permission_may_load());
}

/* What it refuses is told to the programs. */
Test(record, looks_for_targets_later_if_there_is_a_filter)
{
	char why[FILTER_WHY_SIZE], user[16];

	snprintf(user, sizeof(user), "%u", getuid());
	cr_assert_eq(filter_set_user(&filter, user, why), 0);
	cr_assert_eq(record_run(&options), EXIT_CODE_OK, "%s", content(messages));
	cr_assert_eq(n_added, 1);
	cr_assert_eq(n_ahead, 0);
}

/* One message, and the old report stays. */
Test(record, says_once_what_is_wrong)
{
	const pid_t nobody =
		4 * 1024 * 1024 + 1; /* above the highest process number, PID_MAX_LIMIT */
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
	const char *text;

	cr_assert_eq(write(fd, "old", 3), 3);
	options.profiler.target.pids = &nobody;
	cr_assert_eq(record_run(&options), EXIT_CODE_NO_PROCESS);
	text = content(messages);
	cr_assert(strstr(text, "4194305"), "%s", text);
	cr_assert(strchr(text, '\n') && strchr(text, '\n')[1] == '\0', "%s", text);
	cr_assert_str_eq(content(fd), "old");
}

#define NOTICE "dwarfprof: looking up names and writing reports (Ctrl-C leaves names out)\n"

/* Until the user was told that it takes long. */
static void take_long(void)
{
	for (int i = 0; i < 3000 && !strstr(content(messages), NOTICE); i++)
		usleep(10000);
}

/* A slow reader of names, which finds one or is interrupted. */
struct slow {
	struct names *names;
	bool is_interrupted;
	unsigned int n; /* how often it was asked */
};

static int find_slowly(void *arg, struct module *module, const uint64_t *addresses, size_t n,
		       bool lines)
{
	static const struct source_location location = { .function = "found_at_last" };
	struct slow *slow = arg;
	int err = 0;

	take_long();
	slow->n++;
	if (slow->is_interrupted) {
		names_disable(slow->names); /* as the second Ctrl-C does */
		return -ECANCELED;
	}
	for (size_t i = 0; err == 0 && i < n; i++)
		err = location_cache_add_shown(&module->locations, addresses[i], lines, false,
					       &location, 1);
	return err;
}

static int find_no_start(void *arg, struct module *module, uint64_t address, uint64_t *ret)
{
	return -ENOENT;
}

static int close_nothing(void *arg, struct module *module, bool names)
{
	return 0;
}

static void forget_nothing(void *arg, struct module *module)
{
}

static void free_nothing(void *arg)
{
}

static const struct name_reader slow_reader = { .find = find_slowly,
						.find_start = find_no_start,
						.close = close_nothing,
						.forget = forget_nothing,
						.free = free_nothing };

/* Checks that the user was told once. Returns what was reported. */
static const char *record_slowly(void)
{
	_cleanup_close_ int fd = -1;
	const char *told;
	int code;

	is_short = true;
	code = record_run(&options);
	cr_assert_eq(code, EXIT_CODE_OK, "%d: %s", code, content(messages));
	told = strstr(content(messages), NOTICE);
	cr_assert(told && !strstr(told + 1, NOTICE), "%s", content(messages));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return content(fd);
}

static const char *record_with_reader(struct slow *slow)
{
	const char *text;

	slow->names = names_with((struct names_options){ 0 });
	names_set_reader(slow->names, &slow_reader, slow);
	options.profiler.names = slow->names;
	text = record_slowly();
	names_free(slow->names);
	cr_assert_gt(slow->n, 0);
	return text;
}

Test(record, says_that_it_waits_for_names, .timeout = 120)
{
	const char *text = record_with_reader(&(struct slow){ 0 });

	cr_assert_eq(strstr(text, "comm;found_at_last 2\n"), text, "%s", text);
}

/* What was sampled is reported all the same. */
Test(record, leaves_names_out_that_nobody_waits_for, .timeout = 120)
{
	const char *text = record_with_reader(&(struct slow){ .is_interrupted = true });

	cr_assert_eq(strstr(text, "comm;[test_profiler_record+0x"), text, "%s", text);
	cr_assert(strstr(text, "] 2\n"), "%s", text);
}

static int count_nothing(struct report *report, const struct sample *sample,
			 const struct totals *totals)
{
	return 0;
}

static int finish_slowly(struct report *report, const struct totals *totals)
{
	take_long();
	return fprintf(report->to, "%" PRIu64, totals->samples) > 0 ? 0 : -EIO;
}

static void free_report(struct report *report)
{
	free(report);
}

static int slow_report_new(struct report **ret)
{
	*ret = calloc(1, sizeof(**ret));
	**ret = (struct report){ .add = count_nothing,
				 .finish = finish_slowly,
				 .free = free_report };
	return 0;
}

Test(record, says_that_it_writes, .timeout = 120)
{
	const struct report_format slow = { .name = "slow", .new = slow_report_new };

	output.format = &slow;
	cr_assert_str_eq(record_slowly(), "1");
}
