// SPDX-License-Identifier: Apache-2.0
#include "kernel/event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int perf_event_open(struct perf_event_attr *attr, unsigned int cpu)
{
	long fd;

	attr->size = sizeof(*attr);
	fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

void event_sampling_attr(unsigned int hz, bool hardware, struct perf_event_attr *ret)
{
	*ret = (struct perf_event_attr){
		.type = hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = hardware ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
		.disabled = 1,
		.exclude_idle = 1,
	};
}

int event_open_sampling(unsigned int cpu, unsigned int hz, bool hardware)
{
	struct perf_event_attr attr;

	event_sampling_attr(hz, hardware, &attr);
	return perf_event_open(&attr, cpu);
}

int event_open_each(unsigned int cpu, uint64_t counter)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = counter,
		.sample_period = 1,
		.disabled = 1,
	};

	return perf_event_open(&attr, cpu);
}

const char *event_why_no_cycles(int err)
{
	switch (-err) {
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		return "this machine counts no cycles";
	case EBUSY:
	case ENOSPC:
		return "the counters of cycles are in use";
	case EINVAL:
	case E2BIG:
	case EOVERFLOW:
		return "this machine's counters do not take the event";
	}
	return NULL;
}

int event_open_sideband(unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		/* Wake up at every record: code that runs must soon have its table. */
		.watermark = 1,
		.wakeup_watermark = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	return perf_event_open(&attr, cpu);
}
