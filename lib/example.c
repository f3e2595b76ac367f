// SPDX-License-Identifier: Apache-2.0
/*
 * usage: example PID SECONDS FILE
 *
 * Profiles a process: writes a line per sample to stdout, and a profile for pprof to the file.
 *
 *    cc example.c $(pkg-config --cflags --libs dwarfprof)
 */
#include <dwarfprof.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void print(void *arg, const struct dwarfprof_sample *sample)
{
	struct dwarfprof_label label;

	printf("%d %s %s %s", sample->tid, sample->comm, dwarfprof_sample_event(sample),
	       sample->outcome);
	for (size_t i = 0; dwarfprof_sample_label(sample, i, &label); i++)
		if (label.text)
			printf(" %s=%s", label.key, label.text);
	printf(":");
	for (size_t i = 0; i < sample->n_frames; i++)
		printf(" %s", sample->frames[i].function);
	printf("\n");
}

static int profile(pid_t pid, int seconds, FILE *to)
{
	struct dwarfprof_options options = {
		.size = sizeof(options),
		.pids = &pid,
		.n_pids = 1,
		.format = "pprof",
		.on_sample = print,
	};
	struct dwarfprof *profiler;
	int err = dwarfprof_start(&options, &profiler);

	for (time_t end = time(NULL) + seconds; err == 0 && time(NULL) < end;)
		err = dwarfprof_run(profiler, 100);
	if (err == 0)
		err = dwarfprof_stop(profiler);
	if (err == 0)
		err = dwarfprof_take(profiler, to);
	dwarfprof_free(profiler);
	return err;
}

int main(int argc, char **argv)
{
	FILE *to = argc == 4 ? fopen(argv[3], "wb") : NULL;
	int err;

	if (!to) {
		fprintf(stderr, "usage: example PID SECONDS FILE\n");
		return 2;
	}
	err = profile(atoi(argv[1]), atoi(argv[2]), to);
	if (fclose(to) != 0 || err < 0) {
		fprintf(stderr, "example: %s\n", strerror(-err));
		return 1;
	}
	return 0;
}
