// SPDX-License-Identifier: Apache-2.0
#include "kernel/run_stats.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "dwarfprof.skel.h"
#include "kernel/session.h"

struct run_stats run_stats_of(const struct session *session)
{
	struct run_stats sum = { 0 };
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
