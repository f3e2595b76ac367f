// SPDX-License-Identifier: Apache-2.0
#include "kernel/uprobe.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/signals.h"
#include "kernel/uprobe_places.h"

/* Mirrors the attributes of bpf(BPF_LINK_CREATE), newer than the oldest headers we build with. */
struct multi_attr {
	uint32_t program, target;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets, ref_ctr_offsets, cookies;
	uint32_t n;
	uint32_t uprobe_flags;
	uint32_t pid;
	uint32_t zero;
};

/* BPF_F_UPROBE_MULTI_RETURN */
#define MULTI_RETURN 1

static int create_link(int program, const struct uprobe_places *places, pid_t pid)
{
	struct multi_attr attr = {
		.program = (uint32_t)program,
		.attach_type = UPROBE_MULTI,
		.uprobe_flags = places->are_returns ? MULTI_RETURN : 0,
		.path = (uintptr_t)places->link,
		.offsets = (uintptr_t)places->offsets,
		.ref_ctr_offsets = (uintptr_t)places->counters,
		.cookies = (uintptr_t)places->cookies,
		.n = (uint32_t)(places->n + places->n_more),
		.pid = (uint32_t)pid,
	};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

/* A program that such a link takes, or a negative errno. */
static int load_trial(void)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)UPROBE_MULTI);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "dp_probe", "GPL", code, ARRAY_SIZE(code),
			       &opts);

	return fd < 0 ? -errno : fd;
}

int uprobe_multi_works(void)
{
	_cleanup_close_ int program = load_trial();
	_cleanup_close_ int link = -1;
	uint64_t offset = 0;
	const struct uprobe_places nothing = { .fd = -1, .link = "/", .offsets = &offset, .n = 1 };

	if (program < 0)
		return program == -EPERM || program == -EACCES ? -EPERM : 0;
	/*
	 * A kernel with this link type rejects the path, which is not a regular file; others reject
	 * the type.
	 */
	link = create_link(program, &nothing, 0);
	return link == -EBADF;
}

struct trial {
	int program, err;
};

static void *try_thread(void *arg)
{
	struct trial *trial = arg;
	/* Offsets that are nowhere: so there is no link in any case. */
	const struct uprobe_places places = {
		.fd = -1, .link = "/proc/self/exe", .offsets = (uint64_t *)(uintptr_t)1, .n = 1
	};
	_cleanup_close_ int link = create_link(trial->program, &places, gettid());

	trial->err = link;
	return NULL;
}

bool uprobe_multi_knows_processes(void)
{
	_cleanup_close_ int program = load_trial();
	struct trial trial = { .program = program };
	pthread_t thread;
	sigset_t old;
	int err;

	if (program < 0)
		return false;
	signals_block(&old);
	err = pthread_create(&thread, NULL, try_thread, &trial);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err != 0)
		return false;
	pthread_join(thread, NULL);
	/* Where links are of threads, it is the offset that is wrong, not the number. */
	return trial.err == -ESRCH;
}

int uprobe_attach_multi(int program, const struct uprobe_places *places, pid_t pid)
{
	return create_link(program, places, pid);
}

/* The type of uprobes among perf's events. Negative errno: the kernel has none. */
static int read_perf_type(void)
{
	_cleanup_fclose_ FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type;

	if (!file)
		return -errno;
	return fscanf(file, "%d", &type) == 1 ? type : -EINVAL;
}

/* PERF_UPROBE_REF_CTR_OFFSET_SHIFT, PERF_PROBE_CONFIG_IS_RETPROBE, kernel/events/core.c */
#define COUNTER_SHIFT 32
#define IS_RETURN UINT64_C(1)

int uprobe_attach_one(int program, const struct uprobe_places *places, size_t i, pid_t pid)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .perf_event.bpf_cookie = places->cookies ? places->cookies[i] : 0);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = (places->counters ? places->counters[i] << COUNTER_SHIFT : 0) |
			  (places->are_returns ? IS_RETURN : 0),
		.uprobe_path = (uintptr_t)places->link,
		.probe_offset = places->offsets[i],
	};
	_cleanup_close_ int event = -1;
	int type = read_perf_type();

	if (type < 0)
		return type;
	attr.type = (uint32_t)type;
	/*
	 * In all processes: then a CPU has to be named, and any stands for all. In one: then hits are those of all
	 * its threads, as what is asked is whose memory it is (uprobe_perf_filter(), kernel/trace/trace_uprobe.c).
	 */
	event = (int)syscall(SYS_perf_event_open, &attr, pid > 0 ? pid : -1, pid > 0 ? -1 : 0, -1,
			     PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	/* It keeps the event. */
	return bpf_link_create(program, event, BPF_PERF_EVENT, &opts);
}
