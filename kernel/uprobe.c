// SPDX-License-Identifier: Apache-2.0
#include "kernel/uprobe.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
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

static int create_link(int program, const struct uprobe_places *places)
{
	struct multi_attr attr = {
		.program = (uint32_t)program,
		.attach_type = UPROBE_MULTI,
		.uprobe_flags = places->are_returns ? MULTI_RETURN : 0,
		.path = (uintptr_t)places->link,
		.offsets = (uintptr_t)places->offsets,
		.ref_ctr_offsets = (uintptr_t)places->counters,
		.cookies = (uintptr_t)places->cookies,
		.n = (uint32_t)places->n,
	};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

int uprobe_multi_works(void)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)UPROBE_MULTI);
	_cleanup_close_ int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "dp_probe", "GPL", code,
						    ARRAY_SIZE(code), &opts);
	_cleanup_close_ int link = -1;
	uint64_t offset = 0;
	const struct uprobe_places nothing = { .fd = -1, .link = "/", .offsets = &offset, .n = 1 };

	if (program < 0)
		return errno == EPERM || errno == EACCES ? -EPERM : 0;
	/*
	 * A kernel with this link type rejects the path, which is not a regular file; others reject
	 * the type.
	 */
	link = create_link(program, &nothing);
	return link == -EBADF;
}

int uprobe_attach_multi(int program, const struct uprobe_places *places)
{
	return create_link(program, places);
}
