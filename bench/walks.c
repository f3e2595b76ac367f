// SPDX-License-Identifier: Apache-2.0
/*
 * usage: walks DWARFPROF-PID CPU HZ SECONDS [stacks]
 *
 * The kernel's cost of walking a stack in all ways (walks_sample.h). At each sample of a CPU in a
 * process whose tables the running dwarfprof has, the ways run one after the other, in another
 * order each time. Writes a tab-separated line per sample and way: number of the sample, way, its
 * turn, nanoseconds, frames, the walker's outcome, address of the outermost frame. Only one CPU,
 * because the walks share their memory. With `stacks`, writes the frames instead (walks_stacks.h).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/event.h"
#include "log/clock.h"
#include "report/outcome.h"

#include "bench/walks_sample.h"
#include "bench/walks_stacks.h"

#include "walks.skel.h"

static const char *const ways[] = {
#define X(name, word) [WALKS_##name] = word,
	WALKS(X)
#undef X
};

/* Returns the id of the map for which a process has this descriptor, 0 if it is not one. */
static uint32_t map_id(const char *pid, const char *fd)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[300], line[128];
	uint32_t id = 0;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "map_id: %" SCNu32, &id) == 1)
			return id;
	return 0;
}

/* Replaces our map by the process's map of the same name. 0 or negative errno. */
static int share_map(struct bpf_map *map, const char *pid)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		uint32_t id = map_id(pid, entry->d_name);
		_cleanup_close_ int fd = id ? bpf_map_get_fd_by_id(id) : -1;
		struct bpf_map_info info = { 0 };
		uint32_t size = sizeof(info);

		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
		    strcmp(info.name, bpf_map__name(map)) == 0)
			return bpf_map__reuse_fd(map, fd);
	}
	return -ENOENT;
}

struct output {
	uint64_t n;                  /* samples so far */
	struct walks_stacks *stacks; /* NULL: times are wanted */
};

static int print_sample(void *arg, void *data, size_t size)
{
	const struct walks_sample *s = data;
	struct output *output = arg;

	if (size < sizeof(*s))
		return 0;
	if (output->stacks) {
		walks_stacks_print(output->stacks);
		return 0;
	}
	for (int way = 0; way < WALKS_N; way++) {
		const struct walks_result *r = &s->results[way];
		bool is_ours = way != WALKS_EMPTY && way != WALKS_KERNEL;

		printf("%" PRIu64 "\t%s\t%u\t%u\t%u\t%s\t%#" PRIx64 "\n", output->n, ways[way],
		       r->turn, r->ns, r->n_frames,
		       is_ours ? outcome_word((enum dp_outcome)r->outcome) : "-",
		       (uint64_t)r->root);
	}
	output->n++;
	return 0;
}

static int load(const char *pid, struct walks_bpf **ret)
{
	struct walks_bpf *bpf = walks_bpf__open();
	struct bpf_program *program;
	int err;

	if (!bpf)
		return -errno;
	*ret = bpf;
	bpf->rodata->dp_max_frames = DP_MAX_FRAMES;
	bpf_object__for_each_program(program, bpf->obj)
		bpf_program__set_autoload(program, program == bpf->progs.dp_walks);
	err = share_map(bpf->maps.dp_pool, pid);
	if (err == 0)
		err = share_map(bpf->maps.dp_processes, pid);
	if (err < 0) {
		fprintf(stderr, "process %s has no maps of dwarfprof: %s\n", pid, strerror(-err));
		return err;
	}
	return walks_bpf__load(bpf);
}

static int sample(struct walks_bpf *bpf, unsigned int cpu, unsigned int hz, unsigned int seconds,
		  struct output *output)
{
	struct ring_buffer *ring;
	struct bpf_link *link;
	uint64_t end = clock_now_ns() + seconds * UINT64_C(1000000000);
	const struct event_kind kind = event_of_cpu_time(hz, false);
	int fd = event_open(cpu, &kind);

	if (fd < 0)
		return fd;
	ring = ring_buffer__new(bpf_map__fd(bpf->maps.walks_ring), print_sample, output, NULL);
	link = ring ? bpf_program__attach_perf_event(bpf->progs.dp_walks, fd) : NULL;
	if (!link) {
		ring_buffer__free(ring);
		close(fd);
		return -errno;
	}
	if (!output->stacks)
		printf("sample\tway\tturn\tns\tframes\toutcome\troot\n");
	while (clock_now_ns() < end)
		ring_buffer__poll(ring, 100);
	bpf_link__destroy(link); /* also closes its event */
	ring_buffer__consume(ring);
	ring_buffer__free(ring);
	return 0;
}

int main(int argc, char **argv)
{
	bool is_stacks = argc == 6 && strcmp(argv[5], "stacks") == 0;
	struct output output = { 0 };
	struct walks_bpf *bpf = NULL;
	int err;

	if (argc != 5 && !is_stacks) {
		fprintf(stderr, "usage: walks DWARFPROF-PID CPU HZ SECONDS [stacks]\n");
		return 2;
	}
	err = load(argv[1], &bpf);
	if (err == 0 && is_stacks) {
		output.stacks = walks_stacks_new(bpf_map__fd(bpf->maps.walks_state),
						 bpf_map__fd(bpf->maps.dp_pool));
		err = output.stacks ? 0 : -ENOMEM;
	}
	if (err == 0)
		err = sample(bpf, (unsigned int)atoi(argv[2]), (unsigned int)atoi(argv[3]),
			     (unsigned int)atoi(argv[4]), &output);
	walks_stacks_free(output.stacks);
	walks_bpf__destroy(bpf);
	if (err < 0)
		fprintf(stderr, "walks: %s\n", strerror(-err));
	return err < 0;
}
