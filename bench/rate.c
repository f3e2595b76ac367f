// SPDX-License-Identifier: Apache-2.0
/*
 * usage: rate empty|send|user|both CPU HZ SETTLE SECONDS
 *
 * Runs a program of rate.bpf.c at each sample of a CPU, for bench/rate.py, and measures it for
 * SECONDS when it has run for SETTLE. Writes the time in the program, its runs, for which
 * kernel.bpf_stats_enabled must be set, and the samples that it has counted; `empty` counts none,
 * and each run stands for one. Then a line for each sample with a stack: number of frames of the
 * user and of the kernel, address of the outermost one.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/rate_result.h"
#include "kernel/event.h"

#include "rate.skel.h"

/* The program of a method, the only one to be loaded; NULL: there is none. */
static struct bpf_program *choose(struct rate_bpf *bpf, const char *method)
{
	struct bpf_program *chosen = NULL;

#define X(name, word)                                                                              \
	if (strcmp(method, word) == 0)                                                             \
		chosen = bpf->progs.rate_##name;                                                   \
	bpf_program__set_autoload(bpf->progs.rate_##name, chosen == bpf->progs.rate_##name);
	RATE_METHODS(X)
#undef X
	return chosen;
}

/* What a program has done so far. */
struct done {
	uint64_t ns, runs;
	uint32_t n_samples;
};

static int read_done(const struct rate_bpf *bpf, const struct bpf_program *program,
		     struct done *ret)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) < 0)
		return -errno;
	*ret = (struct done){ info.run_time_ns, info.run_cnt, bpf->bss->rate_count };
	return 0;
}

/* Samples, and stores what was done before and at the end of the measured time. */
static int sample(const struct rate_bpf *bpf, const struct bpf_program *program, char **arguments,
		  struct done ret[2])
{
	const struct event_kind kind = event_of_cpu_time((unsigned int)atoi(arguments[1]), false);
	int err, fd = event_open((unsigned int)atoi(arguments[0]), &kind);
	struct bpf_link *link;

	if (fd < 0)
		return fd;
	link = bpf_program__attach_perf_event(program, fd);
	if (!link) {
		err = -errno;
		close(fd);
		return err;
	}
	usleep((useconds_t)(atof(arguments[2]) * 1e6));
	err = read_done(bpf, program, &ret[0]);
	usleep((useconds_t)(atof(arguments[3]) * 1e6));
	if (err == 0)
		err = read_done(bpf, program, &ret[1]);
	bpf_link__destroy(link); /* also closes its event */
	return err;
}

static int print(const struct rate_bpf *bpf, const struct done done[2])
{
	uint32_t n = done[1].n_samples - done[0].n_samples;
	struct rate_result result;

	printf("%" PRIu64 "\t%" PRIu64 "\t%u\n", done[1].ns - done[0].ns,
	       done[1].runs - done[0].runs, n);
	for (uint32_t i = 0; i < n && i < RATE_RESULTS; i++) {
		uint32_t at = (done[0].n_samples + i) & (RATE_RESULTS - 1);

		if (bpf_map_lookup_elem(bpf_map__fd(bpf->maps.rate_results), &at, &result) < 0)
			return -errno;
		if (result.n_user + result.n_kernel > 0)
			printf("%u\t%u\t%#" PRIx64 "\n", result.n_user, result.n_kernel,
			       (uint64_t)result.root);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct rate_bpf *bpf = rate_bpf__open();
	struct bpf_program *program = bpf && argc == 6 ? choose(bpf, argv[1]) : NULL;
	struct done done[2];
	int err;

	if (!program) {
		fprintf(stderr, "usage: rate empty|send|user|both CPU HZ SETTLE SECONDS\n");
		rate_bpf__destroy(bpf);
		return 2;
	}
	err = rate_bpf__load(bpf);
	if (err == 0)
		err = sample(bpf, program, argv + 2, done);
	if (err == 0)
		err = print(bpf, done);
	if (err < 0)
		fprintf(stderr, "rate: %s\n", strerror(-err));
	rate_bpf__destroy(bpf);
	return err < 0;
}
