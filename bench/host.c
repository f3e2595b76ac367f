// SPDX-License-Identifier: Apache-2.0
/*
 * usage: bench_host EVENT HZ SECONDS FORMAT [PID]
 *
 * A program that profiles the whole machine without end, or a process and its children, as one would
 * be written that has only dwarfprof.h: it is handed each sample, and takes a profile every so many seconds, which it throws
 * away. After each, and at its end by SIGINT or SIGTERM, it prints a line: the samples so far, those
 * that were lost, and the bytes of the profile. Files are read by the library's helper program, as
 * by default: without it, it does not run.
 */
#include <dwarfprof.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t has_ended;
static uint64_t n_samples;

static void end(int signal)
{
	has_ended = 1;
}

/* By the profiler's thread; who prints it need not have the last one. */
static void count(void *arg, const struct dwarfprof_sample *sample)
{
	__atomic_fetch_add(&n_samples, 1, __ATOMIC_RELAXED);
}

static int take(struct dwarfprof *profiler)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	int err = to ? dwarfprof_take(profiler, to) : -ENOMEM;

	if (to)
		fclose(to);
	free(text);
	if (err == 0)
		printf("%" PRIu64 " %" PRIu64 " %zu\n",
		       __atomic_load_n(&n_samples, __ATOMIC_RELAXED), dwarfprof_lost(profiler),
		       size);
	fflush(stdout);
	return err;
}

static int profile(const struct dwarfprof_options *options, time_t interval)
{
	struct dwarfprof *profiler;
	int err = dwarfprof_start(options, &profiler);
	time_t next = time(NULL) + interval;

	while (err == 0 && !has_ended) {
		err = dwarfprof_run(profiler, 100);
		if (err == 0 && time(NULL) >= next) {
			next += interval;
			err = take(profiler);
		}
	}
	if (err == 0)
		err = dwarfprof_stop(profiler);
	if (err == 0)
		err = take(profiler);
	dwarfprof_free(profiler);
	return err;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = end };
	struct dwarfprof_options options = { .size = sizeof(options),
					     .on_sample = count,
					     .helper = BENCH_HELPER };
	pid_t pid;
	int err;

	if (argc != 5 && argc != 6) {
		fprintf(stderr, "usage: bench_host EVENT HZ SECONDS FORMAT [PID]\n");
		return 2;
	}
	/* The library would do without. */
	if (access(BENCH_HELPER, X_OK) < 0) {
		fprintf(stderr, "bench_host: " BENCH_HELPER ": %s\n", strerror(errno));
		return 1;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	options.event = argv[1];
	options.hz = (unsigned int)atoi(argv[2]);
	options.format = argv[4];
	if (argc == 6) {
		pid = atoi(argv[5]);
		options.pids = &pid;
		options.n_pids = 1;
	}
	err = profile(&options, atoi(argv[3]));
	if (err < 0)
		fprintf(stderr, "bench_host: %s\n", strerror(-err));
	return err < 0;
}
