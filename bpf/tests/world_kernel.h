/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BPF_TESTS_WORLD_KERNEL_H
#define DP_BPF_TESTS_WORLD_KERNEL_H

/* A world (world.h) that the kernel walks: its stack and code are memory of this process. */

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/tests/walk_test.h"
#include "bpf/tests/world.h"
#include "walk_test.skel.h"

#define WORLD_SEGMENT_MAP_SIZE (DP_SEGMENT_SIZE + DP_SEGMENT_SLACK)

struct world_kernel {
	struct world *world;
	struct walk_test_bpf *bpf;
	uint8_t *segment; /* the pool's, shared with the kernel */
};

static inline int world_kernel_load(struct world_kernel *k)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	uint32_t zero = 0;
	int fd, err;

	k->bpf = walk_test_bpf__open_and_load();
	if (!k->bpf)
		return -errno;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "dp_segment", 4, WORLD_SEGMENT_MAP_SIZE, 1, &opts);
	if (fd < 0)
		return -errno;
	k->segment = mmap(NULL, WORLD_SEGMENT_MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = k->segment == MAP_FAILED ? -errno : 0;
	if (err == 0)
		err = bpf_map_update_elem(bpf_map__fd(k->bpf->maps.dp_pool), &zero, &fd, 0);
	close(fd);
	return err;
}

static inline int world_kernel_map(uint64_t address, size_t size)
{
	void *p = mmap((void *)address, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return p == (void *)address ? 0 : -EEXIST;
}

/* 0 or a negative errno. */
static inline int world_kernel_open(struct world_kernel *k)
{
	int err = world_kernel_load(k);

	k->world = world_new();
	/*
	 * With several nodes, the kernel otherwise unmaps pages to see who uses them
	 * (task_numa_work(), kernel/sched/fair.c), and its walker could not read those.
	 */
	if (err == 0 && syscall(SYS_set_mempolicy, MPOL_LOCAL, NULL, 0) < 0 && errno != ENOSYS)
		err = -errno;
	if (err == 0)
		err = world_kernel_map(WORLD_STACK, sizeof(k->world->stack));
	if (err == 0)
		err = world_kernel_map(WORLD_CODE - DP_PAGE_SIZE, sizeof(k->world->code));
	if (err == 0)
		err = world_kernel_map(WORLD_LIBRARY - DP_PAGE_SIZE, sizeof(k->world->code));
	return err;
}

static inline void world_kernel_close(struct world_kernel *k)
{
	munmap(k->segment, WORLD_SEGMENT_MAP_SIZE);
	walk_test_bpf__destroy(k->bpf);
	world_free(k->world);
}

/* Gives the kernel the world's tables. */
static inline void world_kernel_publish(const struct world_kernel *k)
{
	memcpy(k->segment, k->world->segment, DP_SEGMENT_SIZE);
}

/* 0 or a negative errno. */
static inline int world_kernel_walk(const struct world_kernel *k, struct walk_request *request)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = request, .ctx_size_in = sizeof(*request));
	int err = bpf_prog_test_run_opts(bpf_program__fd(k->bpf->progs.walk_test), &opts);

	return err == 0 && opts.retval != 0 ? -EINVAL : err;
}

#endif
