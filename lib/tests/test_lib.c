// SPDX-License-Identifier: Apache-2.0
/* A program that profiles itself, using only dwarfprof.h. */
#include <criterion/criterion.h>
#include <dwarfprof.h>
#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/root_main.h"

static atomic_bool has_ended;
static size_t n_samples, n_burning, n_faults;
static pid_t self;

/* What the second thread always does. */
__attribute__((noinline)) void burn_time(void);
void burn_time(void)
{
	while (!atomic_load(&has_ended))
		;
}

static void *run_thread(void *arg)
{
	burn_time();
	return NULL;
}

/* CPU time: a number of samples, and the time that follows from it. */
static void check_cpu_time(const struct dwarfprof_sample *sample)
{
	const char *event = dwarfprof_sample_event(sample);
	struct dwarfprof_value value;

	cr_assert(strcmp(event, "cycles") == 0 || strcmp(event, "cpu-clock") == 0, "%s", event);
	cr_assert(dwarfprof_sample_value(sample, 0, &value));
	cr_assert_str_eq(value.name, "samples");
	cr_assert_str_eq(value.unit, "count");
	cr_assert_eq(value.value, sample->weight);
	cr_assert(dwarfprof_sample_value(sample, 1, &value));
	cr_assert_str_eq(value.name, "cpu");
	cr_assert_str_eq(value.unit, "nanoseconds");
	cr_assert_eq(value.value, sample->weight * (1000000000 / 997));
	cr_assert_not(dwarfprof_sample_value(sample, 2, &value));
}

static void count(void *arg, const struct dwarfprof_sample *sample)
{
	cr_assert_eq(arg, &self);
	cr_assert(sample->pid == self && sample->weight > 0 && sample->time_ns > 0);
	check_cpu_time(sample);
	n_samples++;
	for (size_t i = 0; i < sample->n_frames; i++) {
		const struct dwarfprof_frame *f = &sample->frames[i];

		if (strcmp(f->function, "burn_time") != 0)
			continue;
		cr_assert_eq(f->kind, DWARFPROF_FRAME_USER);
		cr_assert(f->binary && strstr(f->binary, "test_lib") && f->line > 0);
		cr_assert(f->file && strstr(f->file, "test_lib.c"));
		cr_assert_str_eq(sample->outcome, "complete");
		n_burning++;
	}
}

/* Of several events, each sample counts one, which is also a label. */
static void check_fault(void *arg, const struct dwarfprof_sample *sample)
{
	const char *event = dwarfprof_sample_event(sample);
	struct dwarfprof_value values[2], third;
	struct dwarfprof_label label;
	size_t own = strcmp(event, "page-faults") == 0 ? 0 : 1;

	cr_assert(own == 0 || strcmp(event, "context-switches") == 0, "%s", event);
	cr_assert(dwarfprof_sample_value(sample, 0, &values[0]));
	cr_assert(dwarfprof_sample_value(sample, 1, &values[1]));
	cr_assert_not(dwarfprof_sample_value(sample, 2, &third));
	cr_assert_str_eq(values[0].name, "page_faults");
	cr_assert_str_eq(values[1].name, "context_switches");
	cr_assert_eq(values[own].value, sample->weight);
	cr_assert_eq(values[!own].value, 0);
	cr_assert(dwarfprof_sample_label(sample, 0, &label));
	cr_assert_str_eq(label.key, "-e");
	cr_assert_str_eq(label.text, event);
	cr_assert_not(dwarfprof_sample_label(sample, 1, &label));
	n_faults += own == 0;
}

static struct dwarfprof_options options(void)
{
	self = getpid();
	return (struct dwarfprof_options){
		.size = sizeof(struct dwarfprof_options),
		.pids = &self,
		.n_pids = 1,
		.hz = 997,
		.format = "jsonl",
		.on_sample = count,
		.arg = &self,
		.helper = TEST_HELPER,
	};
}

/* Children of a process, and of its threads: how many are helpers; the last one's PID. */
static size_t count_helpers(pid_t pid, pid_t *ret_last)
{
	char path[64], command[32];
	size_t n = 0, length;
	glob_t lists;
	pid_t child;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/*/children", pid);
	cr_assert_eq(glob(path, 0, NULL, &lists), 0);
	for (size_t i = 0; i < lists.gl_pathc; i++) {
		FILE *list = fopen(lists.gl_pathv[i], "r");

		while (list && fscanf(list, "%d", &child) == 1) {
			snprintf(path, sizeof(path), "/proc/%d/cmdline", child);
			file = fopen(path, "r");
			length = file ? fread(command, 1, sizeof(command) - 1, file) : 0;
			command[length] = '\0';
			if (file)
				fclose(file);
			if (strcmp(command, "dwarfprof-helper") == 0) {
				*ret_last = child;
				n++;
			}
		}
		if (list)
			fclose(list);
	}
	globfree(&lists);
	return n;
}

/* Runs the profiler for half a second, as a program with other things to wait for would. */
static void run(struct dwarfprof *profiler)
{
	struct pollfd fd = { .fd = dwarfprof_fd(profiler), .events = POLLIN };
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		cr_assert_geq(poll(&fd, 1, 50), 0);
		cr_assert_eq(dwarfprof_run(profiler, 0), 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
		 500);
}

/* Counts the lines of a profile: one for each sample. */
static size_t take(struct dwarfprof *profiler)
{
	char *text = NULL;
	size_t size, n = 0;
	FILE *to = open_memstream(&text, &size);

	cr_assert_eq(dwarfprof_take(profiler, to), 0);
	fclose(to);
	for (const char *c = text; (c = strchr(c, '\n')) != NULL; c++)
		n++;
	free(text);
	return n;
}

Test(lib, takes_profiles_of_its_own_program, .timeout = 120)
{
	struct dwarfprof_options o = options();
	struct dwarfprof *profiler;
	size_t n_taken = 0, last;
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, run_thread, NULL), 0);
	cr_assert_eq(dwarfprof_start(&o, &profiler), 0);
	memset(&o, 0xff, sizeof(o)); /* the options are not needed any more */
	for (int i = 0; i < 3; i++) {
		run(profiler);
		last = take(profiler);
		cr_assert_gt(last, 0);
		n_taken += last;
	}
	cr_assert_eq(dwarfprof_stop(profiler), 0);
	cr_assert_eq(dwarfprof_stop(profiler), 0, "it is stopped");
	cr_assert_eq(dwarfprof_run(profiler, 0), -EINVAL);
	n_taken += take(profiler);
	cr_assert_eq(dwarfprof_take(profiler, stderr), -EINVAL, "all was taken");
	cr_assert_eq(n_taken, n_samples);
	cr_assert_gt(n_burning, 10, "%zu of %zu samples", n_burning, n_samples);
	dwarfprof_free(profiler);
	atomic_store(&has_ended, true);
	pthread_join(thread, NULL);
}

Test(lib, tells_events_apart)
{
	struct dwarfprof_options o = options();
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 1000 * page;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dwarfprof *profiler;

	o.event = "page-faults,context-switches";
	o.on_sample = check_fault;
	cr_assert_neq(memory, MAP_FAILED);
	madvise(memory, size, MADV_NOHUGEPAGE);
	cr_assert_eq(dwarfprof_start(&o, &profiler), 0);
	for (size_t i = 0; i < size; i += page)
		memory[i] = 1;
	cr_assert_eq(dwarfprof_stop(profiler), 0);
	munmap(memory, size);
	cr_assert_geq(n_faults, 1000);
	cr_assert_null(dwarfprof_free(profiler));
}

Test(lib, needs_no_format)
{
	struct dwarfprof_options o = options();
	struct dwarfprof *profiler;

	o.format = NULL;
	cr_assert_eq(dwarfprof_start(&o, &profiler), 0);
	cr_assert_eq(dwarfprof_take(profiler, stderr), -ENOTSUP);
	cr_assert_eq(dwarfprof_lost(profiler), 0);
	cr_assert_null(dwarfprof_free(profiler));
	cr_assert_null(dwarfprof_free(NULL));
}

/* A child that executes a program, or waits. */
static pid_t start_child(const char *program)
{
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (program)
			execl(program, program, NULL);
		pause();
		_exit(127);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Programs that start are records, which come without samples. */
Test(lib, wakes_its_host_for_a_program_that_starts, .timeout = 120)
{
	struct dwarfprof_options o = options();
	pid_t idle = start_child(NULL), program;
	struct dwarfprof *profiler;
	struct pollfd fd = { .events = POLLIN };

	o.pids = &idle;
	cr_assert_eq(dwarfprof_start(&o, &profiler), 0);
	fd.fd = dwarfprof_fd(profiler);
	/* What the start has left to do. On a machine where programs start all the time, there is always something. */
	for (int i = 0; i < 50 && poll(&fd, 1, 200) > 0; i++)
		cr_assert_eq(dwarfprof_run(profiler, 0), 0);
	program = start_child("/bin/true");
	cr_assert_eq(poll(&fd, 1, 10000), 1);
	end_child(program);
	end_child(idle);
	cr_assert_null(dwarfprof_free(profiler));
}

/* Starts a profiler with a helper, and runs it until the thread's function was seen. */
static struct dwarfprof *profile(const char *helper)
{
	struct dwarfprof_options o = options();
	struct dwarfprof *profiler;

	o.helper = helper;
	cr_assert_eq(dwarfprof_start(&o, &profiler), 0);
	for (int i = 0; i < 10 && n_burning == 0; i++)
		run(profiler);
	cr_assert_gt(n_burning, 0, "of %zu samples", n_samples);
	return profiler;
}

/* One process starts them, a child of this one, and parsers, namers and others are its children. */
Test(lib, has_files_read_by_helpers, .timeout = 120)
{
	pid_t spawner = 0, last = 0;
	struct dwarfprof *profiler;
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, run_thread, NULL), 0);
	profiler = profile(TEST_HELPER);
	cr_assert_eq(count_helpers(getpid(), &spawner), 1);
	cr_assert_geq(count_helpers(spawner, &last), 2);
	/* A host that waits for any child does no harm. */
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), 0);
	cr_assert_null(dwarfprof_free(profiler));
	cr_assert_eq(count_helpers(getpid(), &spawner), 0);
	cr_assert_lt(waitpid(-1, NULL, WNOHANG), 0, "it was waited for");
	atomic_store(&has_ended, true);
	pthread_join(thread, NULL);
}

Test(lib, reads_files_itself_without_helpers, .timeout = 120)
{
	static const char *const missing[] = { "", "/nonexistent" };
	struct dwarfprof *profiler;
	pthread_t thread;
	pid_t last;

	cr_assert_eq(pthread_create(&thread, NULL, run_thread, NULL), 0);
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		n_burning = 0;
		profiler = profile(missing[i]);
		cr_assert_eq(count_helpers(getpid(), &last), 0, "%zu", i);
		cr_assert_null(dwarfprof_free(profiler));
	}
	atomic_store(&has_ended, true);
	pthread_join(thread, NULL);
}

/* As passed by a host that was compiled with a newer header, or with an invalid size. */
Test(lib, refuses_what_makes_no_sense)
{
	struct dwarfprof_options wrong[] = { options(), options(), options(), options(), options(),
					     options(), options(), options(), options() };
	struct dwarfprof *profiler;

	wrong[0].size++;
	wrong[1].size = 0;
	wrong[2].n_pids = 0;
	wrong[3].format = "wat";
	wrong[4].event = "wat";
	wrong[5].event = "page-faults,off-cpu";
	wrong[6].event = ",";
	wrong[7].event = ",page-faults";
	wrong[8].event = "page-faults,,";
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_assert_eq(dwarfprof_start(&wrong[i], &profiler), -EINVAL, "%zu", i);
		cr_assert_null(profiler);
	}
}
