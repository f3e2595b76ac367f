// SPDX-License-Identifier: Apache-2.0
#include "doctor/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "bpf/abi.h"
#include "kernel/cpus.h"
#include "kernel/event.h"
#include "kernel/kernel_types.h"
#include "kernel/refusal.h"
#include "kernel/session.h"
#include "kernel/tracefs.h"
#include "kernel/uprobe.h"
#include "process/sideband.h"
#include "dump.skel.h"
#include "dwarfprof.skel.h"

DEFINE_CLEANUP(struct dwarfprof_bpf *, dwarfprof_bpf__destroy)

static struct dwarfprof_bpf *open_programs(const char *btf)
{
	LIBBPF_OPTS(bpf_object_open_opts, open, .btf_custom_path = btf);

	return dwarfprof_bpf__open_opts(&open);
}

static struct bpf_program *find_program(const struct dwarfprof_bpf *bpf, size_t index)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, bpf->obj)
	{
		if (index-- == 0)
			return program;
	}
	return NULL;
}

static size_t count_programs(const struct dwarfprof_bpf *bpf)
{
	size_t n = 0;

	while (find_program(bpf, n))
		n++;
	return n;
}

/* The last one is the program of `dwarfprof dump`, in an object of its own. */
const char *probe_program_name(size_t index, char buffer[PROBE_NAME_SIZE])
{
	_cleanup_(dwarfprof_bpf__destroyp) struct dwarfprof_bpf *bpf = NULL;
	const struct bpf_program *program;

	refusal_listen(NULL);
	bpf = open_programs(NULL);
	program = bpf ? find_program(bpf, index) : NULL;
	if (!program)
		return bpf && index == count_programs(bpf) ? "dp_dump" : NULL;
	snprintf(buffer, PROBE_NAME_SIZE, "%s", bpf_program__name(program));
	return buffer;
}

static int probe_dump(const char *btf)
{
	LIBBPF_OPTS(bpf_object_open_opts, open, .btf_custom_path = btf);
	struct dump_bpf *bpf = dump_bpf__open_opts(&open);
	int err;

	if (!bpf)
		return -errno;
	bpf->rodata->dp_kernel_stacks = true;
	bpf->rodata->dp_pid_namespace = session_pid_namespace();
	err = dump_bpf__load(bpf);
	dump_bpf__destroy(bpf);
	return err;
}

static int load_program(size_t index, const char *btf)
{
	_cleanup_(dwarfprof_bpf__destroyp) struct dwarfprof_bpf *bpf = open_programs(btf);
	struct bpf_program *wanted = bpf ? find_program(bpf, index) : NULL, *program;

	if (!wanted)
		return bpf ? probe_dump(btf) : -errno;
	bpf_object__for_each_program(program, bpf->obj)
		bpf_program__set_autoload(program, program == wanted);
	/* The options of a run that uses most features, without a filter for users. */
	bpf->rodata->dp_pid_namespace = session_pid_namespace();
	bpf->rodata->dp_inherit = true;
	bpf->rodata->dp_levels = DP_UPROBE_LEVELS;
	bpf->rodata->dp_max_frames = DP_MAX_FRAMES;
	bpf->rodata->dp_verify = 1;
	bpf->rodata->dp_has_prev_state = kernel_types_have_prev_state(btf);
	bpf->rodata->dp_states = (1U << DP_N_STATES) - 1;
	bpf->rodata->dp_max_block_ns = UINT64_MAX;
	if (wanted == bpf->progs.dp_sample_uprobe && uprobe_multi_works() > 0)
		bpf_program__set_expected_attach_type(wanted, (enum bpf_attach_type)UPROBE_MULTI);
	return dwarfprof_bpf__load(bpf);
}

int probe_program(size_t index, const char *btf, struct refusal *ret)
{
	int err;

	refusal_listen(ret);
	err = load_program(index, btf);
	refusal_listen(NULL);
	return err;
}

static int load_nothing(void)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "dp_probe", "GPL", code, ARRAY_SIZE(code),
			       NULL);

	return fd < 0 ? -errno : fd;
}

int probe_bpf(void)
{
	_cleanup_close_ int fd = -1;

	libbpf_set_print(NULL);
	fd = load_nothing();
	return fd < 0 ? fd : 0;
}

int probe_helper(int helper)
{
	int known =
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, (enum bpf_func_id)helper, NULL);

	if (known < 0)
		return known;
	return known ? 0 : -ENOSYS;
}

int probe_ring_buffer(void)
{
	_cleanup_close_ int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "dp_probe", 0, 0,
						(uint32_t)getpagesize(), NULL);

	return fd < 0 ? -errno : 0;
}

static int make_array(uint32_t size, uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = flags);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "dp_probe", sizeof(uint32_t), size, 1, &opts);

	return fd < 0 ? -errno : fd;
}

int probe_mmapable_array(void)
{
	size_t size = DP_SEGMENT_SIZE + DP_SEGMENT_SLACK;
	_cleanup_close_ int fd = make_array((uint32_t)size, BPF_F_MMAPABLE);
	void *memory;

	if (fd < 0)
		return fd;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	munmap(memory, size);
	return 0;
}

static int update_map_of_maps(bool batch)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	_cleanup_close_ int inner = make_array(sizeof(uint64_t), 0), outer = -1;
	uint32_t key = 0, n = 1;

	if (inner < 0)
		return inner;
	opts.inner_map_fd = (uint32_t)inner;
	outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "dp_probe", sizeof(key), sizeof(key), 1,
			       &opts);
	if (outer < 0)
		return -errno;
	if (batch)
		return bpf_map_update_batch(outer, &key, &inner, &n, NULL) < 0 ? -errno : 0;
	return bpf_map_update_elem(outer, &key, &inner, BPF_ANY) < 0 ? -errno : 0;
}

int probe_map_of_maps(void)
{
	return update_map_of_maps(false);
}

int probe_map_of_maps_batch(void)
{
	return update_map_of_maps(true);
}

/* On the first online CPU. */
static int open_sampling(bool hardware)
{
	const struct event_kind kind = event_of_cpu_time(99, hardware);
	char list[CPUS_LIST_SIZE];
	unsigned int n = cpus_read(list);
	int fd = -ENODEV;

	for (unsigned int cpu = 0; fd == -ENODEV && cpu < n; cpu++)
		fd = event_open(cpu, &kind);
	return fd;
}

int probe_sampling(bool hardware)
{
	_cleanup_close_ int fd = open_sampling(hardware);

	return fd < 0 ? fd : 0;
}

int probe_attach(void)
{
	_cleanup_close_ int program = load_nothing(), event = open_sampling(false), link = -1;

	if (program < 0 || event < 0)
		return program < 0 ? program : event;
	link = bpf_link_create(program, event, BPF_PERF_EVENT, NULL);
	return link < 0 ? -errno : 0;
}

int probe_tracefs(void)
{
	_cleanup_close_ int events = tracefs_open();

	return events < 0 ? events : 0;
}

int probe_sideband(void)
{
	size_t size = (SIDEBAND_PAGES + 1) * (size_t)getpagesize();
	char list[CPUS_LIST_SIZE];
	unsigned int n = cpus_read(list);
	_cleanup_close_ int fd = -ENODEV;
	void *ring;

	for (unsigned int cpu = 0; fd == -ENODEV && cpu < n; cpu++)
		fd = event_open_sideband(cpu);
	if (fd < 0)
		return fd;
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return -errno;
	munmap(ring, size);
	return 0;
}
