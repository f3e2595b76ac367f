// SPDX-License-Identifier: Apache-2.0
/*
 * usage: walk PID CPU SECONDS HZ
 *
 * What walks of the same stacks take, by the ways of walk_request.h, with the
 * tables of the dwarfprof that runs as process PID. The samples are those of one
 * CPU. A line of JSON for each moment: nanoseconds, frames, outcomes; and one of
 * what the whole programs took.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "event.h"

#include "walk_request.h"

#include "walk.skel.h"

/* The number of a map that a descriptor is of; 0: it is of none. */
static uint32_t map_id(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char line[256];
	uint32_t id = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "map_id: %" SCNu32, &id) == 1)
			break;
	return id;
}

/* Use a map of the process in place of our own, if its descriptor is of one with the same name. */
static void share_map(uint32_t id, struct bpf_map *map)
{
	_cleanup_close_ int fd = bpf_map_get_fd_by_id(id);
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
	    strcmp(info.name, bpf_map__name(map)) == 0)
		bpf_map__reuse_fd(map, fd);
}

static int share_maps(const char *pid, struct walk_bpf *bpf)
{
	char path[PATH_MAX];
	struct dirent *entry;
	_cleanup_closedir_ DIR *dir = NULL;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		char name[PATH_MAX];
		uint32_t id;

		snprintf(name, sizeof(name), "/proc/%s/fdinfo/%s", pid, entry->d_name);
		id = map_id(name);
		if (id == 0)
			continue;
		share_map(id, bpf->maps.dp_pool);
		share_map(id, bpf->maps.dp_processes);
	}
	return 0;
}

static int attach(const struct bpf_program *program, unsigned int cpu, unsigned int hz)
{
	int fd = event_open_sampling(cpu, hz, false);

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(program)) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return fd;
}

static const char *const ways[] = {
#define X(name, word) word,
	WALK_WAYS(X)
#undef X
};

static void print_moment(const struct walk_moment *m)
{
	printf("{");
	for (int i = 0; i < WALK_N_WAYS; i++)
		printf("%s\"%s\": [%u, %u, %u]", i ? ", " : "", ways[i], m->ns[i], m->frames[i],
		       m->outcome[i]);
	printf("}\n");
}

static void print_program(const char *name, int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size) == 0)
		printf("{\"program\": \"%s\", \"ns\": %llu, \"runs\": %llu, \"jited\": %u, "
		       "\"verified\": %u}\n",
		       name, info.run_time_ns, info.run_cnt, info.jited_prog_len,
		       info.verified_insns);
}

static int print_moments(struct walk_bpf *bpf)
{
	size_t size = WALK_MOMENTS * sizeof(struct walk_moment);
	const struct walk_moment *m =
		mmap(NULL, size, PROT_READ, MAP_SHARED, bpf_map__fd(bpf->maps.moments), 0);

	if (m == MAP_FAILED)
		return -errno;
	for (uint32_t i = 0; i < bpf->bss->n_moments && i < WALK_MOMENTS; i++)
		print_moment(&m[i]);
	munmap((void *)m, size);
	return 0;
}

int main(int argc, char **argv)
{
	struct walk_bpf *bpf;
	unsigned int cpu, seconds, hz;
	int moments, minimal, empty;

	if (argc != 5) {
		fprintf(stderr, "usage: walk PID CPU SECONDS HZ\n");
		return 2;
	}
	cpu = (unsigned int)atoi(argv[2]);
	seconds = (unsigned int)atoi(argv[3]);
	hz = (unsigned int)atoi(argv[4]);
	bpf = walk_bpf__open();
	if (!bpf || share_maps(argv[1], bpf) < 0 || walk_bpf__load(bpf) < 0) {
		fprintf(stderr, "cannot share the maps of process %s, or load: %s\n", argv[1],
			strerror(errno));
		return 1;
	}
	moments = attach(bpf->progs.bench_moment, cpu, hz);
	minimal = attach(bpf->progs.bench_minimal, cpu, hz);
	empty = attach(bpf->progs.bench_empty, cpu, hz);
	if (moments < 0 || minimal < 0 || empty < 0) {
		fprintf(stderr, "cannot sample CPU %u\n", cpu);
		return 1;
	}
	sleep(seconds);
	close(moments);
	close(minimal);
	close(empty);
	print_moments(bpf);
	print_program("moment", bpf_program__fd(bpf->progs.bench_moment));
	print_program("minimal", bpf_program__fd(bpf->progs.bench_minimal));
	print_program("empty", bpf_program__fd(bpf->progs.bench_empty));
	walk_bpf__destroy(bpf);
	return 0;
}
