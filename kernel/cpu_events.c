// SPDX-License-Identifier: Apache-2.0
#include "kernel/cpu_events.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/filter.h"
#include "kernel/permission.h"
#include "log/log.h"

/* -ENODEV: the CPU is not online, or the filter excludes it. */
static int open_event(const struct cpu_events *e, size_t i)
{
	unsigned int cpu = (unsigned int)(i / e->n_kinds);

	if (!filter_has_cpu(e->filter, cpu))
		return -ENODEV;
	return event_open(cpu, &e->kinds[i % e->n_kinds]);
}

/* Attaching enables the event and gives it to the link. */
static int attach(struct cpu_events *e, size_t i, int fd)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = i % e->n_kinds);

	e->links[i] = bpf_program__attach_perf_event_opts(e->program, fd, &options);
	if (!e->links[i]) {
		int err = -errno;

		close(fd);
		return err;
	}
	return 0;
}

/* Opens the events of all CPUs before it enables the first one. */
static int start(struct cpu_events *e, size_t *ret_failed)
{
	size_t n_links = e->n_cpus * e->n_kinds, n = 0;
	_cleanup_free_ int *fds = calloc(n_links, sizeof(*fds));
	int err = fds ? 0 : -ENOMEM;

	*ret_failed = 0;
	for (size_t i = 0; fds && i < n_links; i++) {
		fds[i] = err == 0 ? open_event(e, i) : -ENODEV;
		if (fds[i] >= 0) {
			n++;
		} else if (fds[i] != -ENODEV) {
			err = fds[i];
			*ret_failed = i % e->n_kinds;
		}
	}
	if (err == 0 && n == 0)
		err = -ENODEV;
	for (size_t i = 0; fds && i < n_links; i++) {
		if (err < 0 && fds[i] >= 0) {
			close(fds[i]);
		} else if (fds[i] >= 0) {
			err = attach(e, i, fds[i]);
			*ret_failed = i % e->n_kinds;
		}
	}
	for (unsigned int cpu = 0; err < 0 && cpu < e->n_cpus; cpu++)
		cpu_events_drop(e, cpu);
	return err;
}

static int init(struct cpu_events *ret, const struct bpf_program *program,
		const struct filter *filter, unsigned int n_cpus, const struct event_kind *kinds,
		size_t n_kinds, size_t *ret_failed)
{
	*ret = (struct cpu_events){
		.program = program,
		.filter = filter,
		.n_kinds = n_kinds,
		.n_cpus = n_cpus,
		.links = calloc(n_cpus * n_kinds, sizeof(struct bpf_link *)),
	};
	memcpy(ret->kinds, kinds, n_kinds * sizeof(*kinds));
	*ret_failed = 0;
	return ret->links ? start(ret, ret_failed) : -ENOMEM;
}

int cpu_events_start_time(struct cpu_events *ret, const struct bpf_program *program,
			  const struct filter *filter, unsigned int n_cpus, unsigned int hz,
			  const char **ret_event, char ret_why[EVENT_WHY_SIZE])
{
	const struct event_kind cycles = event_of_cpu_time(hz, true);
	size_t failed;
	int err = init(ret, program, filter, n_cpus, &cycles, 1, &failed);

	*ret_event = "cycles";
	ret_why[0] = '\0';
	if (err < 0 && event_why_not("cycles", err, ret_why)) {
		*ret_event = "cpu-clock";
		ret->kinds[0] = event_of_cpu_time(hz, false);
		err = start(ret, &failed);
	}
	if (err < 0) {
		permission_explain_perf("the sampling event", err, hz);
		cpu_events_stop(ret);
	}
	return err;
}

/* The kernel makes a period of the rate (perf_swevent_init_hrtimer(), kernel/events/core.c). */
uint64_t cpu_events_tick_ns(const struct cpu_events *e)
{
	const struct event_kind *kind = &e->kinds[0];

	if (e->n_kinds != 1 || kind->type != PERF_TYPE_SOFTWARE ||
	    kind->config != PERF_COUNT_SW_CPU_CLOCK || kind->hz == 0)
		return 0;
	return UINT64_C(1000000000) / kind->hz;
}

int cpu_events_start(struct cpu_events *ret, const struct bpf_program *program,
		     const struct filter *filter, unsigned int n_cpus,
		     const struct event_kind *kinds, const char *const *names, size_t n)
{
	char why[EVENT_WHY_SIZE];
	size_t failed;
	bool bad_rate;
	int err = init(ret, program, filter, n_cpus, kinds, n, &failed);

	if (err == 0)
		return 0;
	bad_rate = err == -EINVAL && permission_rate_is_too_high(kinds[failed].hz);
	if (kinds[failed].type != PERF_TYPE_SOFTWARE && !bad_rate &&
	    event_why_not(names[failed], err, why)) {
		log_error("cannot sample %s: %s", names[failed], why);
		if (err != -EBUSY && err != -ENOSPC) /* in use */
			log_detail("need: counters of the CPU; most virtual machines have none");
	} else {
		permission_explain_perf("the event", err, kinds[failed].hz);
	}
	cpu_events_stop(ret);
	return err;
}

void cpu_events_stop(struct cpu_events *e)
{
	for (unsigned int cpu = 0; e->links && cpu < e->n_cpus; cpu++)
		cpu_events_drop(e, cpu);
	free(e->links);
	*e = (struct cpu_events){ 0 };
}

int cpu_events_add(struct cpu_events *e, unsigned int cpu)
{
	int err = 0;

	if (cpu >= e->n_cpus)
		return 0;
	cpu_events_drop(e, cpu);
	for (size_t i = cpu * e->n_kinds; err == 0 && i < (cpu + 1) * e->n_kinds; i++) {
		int fd = open_event(e, i);

		err = fd < 0 ? fd : attach(e, i, fd);
	}
	return err == -ENODEV ? 0 : err;
}

void cpu_events_drop(struct cpu_events *e, unsigned int cpu)
{
	if (cpu >= e->n_cpus)
		return;
	for (size_t i = cpu * e->n_kinds; i < (cpu + 1) * e->n_kinds; i++) {
		bpf_link__destroy(e->links[i]);
		e->links[i] = NULL;
	}
}
