// SPDX-License-Identifier: Apache-2.0
#include "kernel/event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
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

struct event_kind event_of_cpu_time(unsigned int hz, bool hardware)
{
	return (struct event_kind){
		.type = hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = hardware ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.hz = hz,
	};
}

void event_attr(const struct event_kind *kind, struct perf_event_attr *ret)
{
	*ret = (struct perf_event_attr){
		.type = kind->type,
		.config = kind->config,
		.disabled = 1,
	};
	if (kind->period > 0) {
		ret->sample_period = kind->period;
	} else {
		ret->sample_freq = kind->hz;
		ret->freq = 1;
		ret->exclude_idle = 1;
	}
}

int event_open(unsigned int cpu, const struct event_kind *kind)
{
	struct perf_event_attr attr;

	event_attr(kind, &attr);
	return perf_event_open(&attr, cpu);
}

bool event_why_not(const char *name, int err, char ret[EVENT_WHY_SIZE])
{
	switch (-err) {
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		snprintf(ret, EVENT_WHY_SIZE, "this machine counts no %s", name);
		return true;
	case EBUSY:
	case ENOSPC:
		snprintf(ret, EVENT_WHY_SIZE, "the counters of %s are in use", name);
		return true;
	case EINVAL:
	case E2BIG:
	case EOVERFLOW:
		snprintf(ret, EVENT_WHY_SIZE, "this machine's counters do not take the event");
		return true;
	}
	return false;
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
