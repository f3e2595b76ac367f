// SPDX-License-Identifier: Apache-2.0
/*
 * usage: rate empty|send|user|both CPU HZ SECONDS
 *
 * Runs a program of rate.bpf.c at each sample of a CPU, for bench/rate.py. Writes the time in the
 * program and the number of its runs, for which kernel.bpf_stats_enabled must be set, and a line for
 * each sample: number of frames of the user and of the kernel, address of the outermost one.
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
#include "log/clock.h"

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

static int sample(const struct bpf_program *program, unsigned int cpu, unsigned int hz,
		  double seconds)
{
	const struct event_kind kind = event_of_cpu_time(hz, false);
	int fd = event_open(cpu, &kind);
	struct bpf_link *link;

	if (fd < 0)
		return fd;
	link = bpf_program__attach_perf_event(program, fd);
	if (!link) {
		close(fd);
		return -errno;
	}
	usleep((useconds_t)(seconds * 1e6));
	bpf_link__destroy(link); /* also closes its event */
	return 0;
}

static int print(struct rate_bpf *bpf, const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info), n = bpf->bss->rate_count;
	struct rate_result result;

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) < 0)
		return -errno;
	printf("%" PRIu64 "\t%" PRIu64 "\n", (uint64_t)info.run_time_ns, (uint64_t)info.run_cnt);
	for (uint32_t i = 0; i < n && i < RATE_RESULTS; i++) {
		if (bpf_map_lookup_elem(bpf_map__fd(bpf->maps.rate_results), &i, &result) < 0)
			return -errno;
		printf("%u\t%u\t%#" PRIx64 "\n", result.n_user, result.n_kernel,
		       (uint64_t)result.root);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct rate_bpf *bpf = rate_bpf__open();
	struct bpf_program *program = bpf && argc == 5 ? choose(bpf, argv[1]) : NULL;
	int err;

	if (!program) {
		fprintf(stderr, "usage: rate empty|send|user|both CPU HZ SECONDS\n");
		rate_bpf__destroy(bpf);
		return 2;
	}
	err = rate_bpf__load(bpf);
	if (err == 0)
		err = sample(program, (unsigned int)atoi(argv[2]), (unsigned int)atoi(argv[3]),
			     atof(argv[4]));
	if (err == 0)
		err = print(bpf, program);
	if (err < 0)
		fprintf(stderr, "rate: %s\n", strerror(-err));
	rate_bpf__destroy(bpf);
	return err < 0;
}
