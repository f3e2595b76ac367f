// SPDX-License-Identifier: Apache-2.0
/*
 * usage: two_at_once PID SECONDS
 *
 * Profiles a process by two threads with a profiler each, which start, take profiles and end on their
 * own, several times. For ThreadSanitizer (ci/check-races), with which Criterion does not start.
 */
#include <dwarfprof.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_TURNS 3
#define RUN_MS 100

/* What a thread does, and what came of it. */
struct job {
	pid_t pid;
	time_t end;
	const char *event, *format;
	FILE *to;
	unsigned long n_samples, n_profilers;
	int err;
};

static void count(void *arg, const struct dwarfprof_sample *sample)
{
	struct job *job = arg;

	job->n_samples++;
}

static int use(struct dwarfprof *profiler, FILE *to)
{
	int err = 0;

	for (int i = 0; err == 0 && i < N_TURNS; i++) {
		err = dwarfprof_run(profiler, RUN_MS);
		if (err == 0)
			err = dwarfprof_take(profiler, to);
	}
	if (err == 0)
		err = dwarfprof_stop(profiler);
	return err == 0 ? dwarfprof_take(profiler, to) : err;
}

static void *work(void *arg)
{
	struct job *job = arg;
	struct dwarfprof_options options = {
		.size = sizeof(options),
		.pids = &job->pid,
		.n_pids = 1,
		.event = job->event,
		.hz = 997,
		.format = job->format,
		.on_sample = count,
		.arg = job,
		.helper = TEST_HELPER,
	};
	struct dwarfprof *profiler;

	while (job->err == 0 && time(NULL) < job->end) {
		job->err = dwarfprof_start(&options, &profiler);
		if (job->err == 0)
			job->err = use(profiler, job->to);
		dwarfprof_free(profiler);
		job->n_profilers++;
	}
	return NULL;
}

/* Returns whether it went well. */
static int end(pthread_t thread, const struct job *job)
{
	pthread_join(thread, NULL);
	printf("%s: %lu samples by %lu profilers: %s\n", job->event, job->n_samples,
	       job->n_profilers, strerror(-job->err));
	return job->err == 0 && job->n_samples > 0;
}

int main(int argc, char **argv)
{
	struct job jobs[2] = { { .event = "cpu", .format = "pprof" },
			       { .event = "off-cpu", .format = "text" } };
	pthread_t threads[2];
	int n_good = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: two_at_once PID SECONDS\n");
		return 2;
	}
	for (int i = 0; i < 2; i++) {
		jobs[i].pid = atoi(argv[1]);
		jobs[i].end = time(NULL) + atoi(argv[2]);
		jobs[i].to = fopen("/dev/null", "w");
		if (!jobs[i].to || pthread_create(&threads[i], NULL, work, &jobs[i]) != 0)
			return 1;
	}
	for (int i = 0; i < 2; i++)
		n_good += end(threads[i], &jobs[i]);
	return n_good == 2 ? 0 : 1;
}
