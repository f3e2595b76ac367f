// SPDX-License-Identifier: Apache-2.0
/*
 * Preloaded (LD_PRELOAD), it simulates a machine with other perf events, by the environment:
 * EVENTS: the results of perf_event_open() for counters, the CPU clock and records: errno or 0
 * EVENTS_CPUS: CPUs below have counters, which count the clock's ns; others report ENOENT
 * EVENTS_LINKS: how often programs can be attached to counters
 * EVENTS_TOLD: a file to which the type and configuration of counters are written
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#define MAX_FDS 4096

/* By descriptor, as it was last opened. */
static bool is_cycles[MAX_FDS];

typedef long (*syscall_fn)(long number, ...);

/* Cycles, or anything else that CPUs count. */
static bool is_counter(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_RAW;
}

static int error_of(const struct perf_event_attr *attr, int cpu)
{
	const char *events = getenv("EVENTS"), *cpus = getenv("EVENTS_CPUS");
	int cycles = 0, clock = 0, records = 0;

	if (!events || sscanf(events, "%d %d %d", &cycles, &clock, &records) != 3)
		abort();
	if (is_counter(attr))
		return cycles == 0 && cpus && cpu >= atoi(cpus) ? ENOENT : cycles;
	return attr->config == PERF_COUNT_SW_CPU_CLOCK ? clock : records;
}

static void tell(const struct perf_event_attr *attr)
{
	const char *path = getenv("EVENTS_TOLD");
	FILE *file = path && is_counter(attr) ? fopen(path, "w") : NULL;

	if (file) {
		fprintf(file, "%u 0x%llx\n", attr->type, attr->config);
		fclose(file);
	}
}

static long open_event(syscall_fn next, const long args[5])
{
	struct perf_event_attr attr = *(const struct perf_event_attr *)args[0];
	bool hardware = is_counter(&attr);
	long fd;

	tell(&attr);
	errno = error_of(&attr, (int)args[2]);
	if (errno != 0)
		return -1;
	if (hardware) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
	}
	fd = next(SYS_perf_event_open, &attr, args[1], args[2], args[3], args[4]);
	if (fd >= 0 && fd < MAX_FDS)
		is_cycles[fd] = hardware;
	return fd;
}

/* Is this one link too many? Programs attached to other events do not count. */
static bool is_refused_link(const union bpf_attr *attr)
{
	static int n;
	const char *links = getenv("EVENTS_LINKS");

	return links && attr->link_create.target_fd < MAX_FDS &&
	       is_cycles[attr->link_create.target_fd] && n++ >= atoi(links);
}

/* Like libc's, with all arguments that a call may have. */
__attribute__((visibility("default"))) long syscall(long number, ...);

long syscall(long number, ...)
{
	syscall_fn next = (syscall_fn)dlsym(RTLD_NEXT, "syscall");
	long args[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_perf_event_open)
		return open_event(next, args);
	if (number == SYS_bpf && args[0] == BPF_LINK_CREATE &&
	    is_refused_link((const union bpf_attr *)args[1])) {
		errno = EBUSY;
		return -1;
	}
	return next(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
