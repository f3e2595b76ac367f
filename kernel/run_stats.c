// SPDX-License-Identifier: Apache-2.0
#include "kernel/run_stats.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "dwarfprof.skel.h"
#include "kernel/session.h"

#define SYSCTL "/proc/sys/kernel/bpf_stats_enabled"

static bool is_counting(void)
{
	_cleanup_close_ int fd = open(SYSCTL, O_RDONLY | O_CLOEXEC);
	char value;

	return fd >= 0 && read(fd, &value, 1) == 1 && value != '0';
}

struct run_stats run_stats_of(const struct session *session)
{
	struct run_stats sum = { .is_counting = is_counting() };
	struct bpf_program *program;

	if (!session->bpf)
		return sum;
	bpf_object__for_each_program(program, session->bpf->obj)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(program); /* negative: it is not loaded */

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
			continue;
		sum.runs += info.run_cnt;
		sum.time_ns += info.run_time_ns;
	}
	return sum;
}
