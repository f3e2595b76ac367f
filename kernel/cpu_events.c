// SPDX-License-Identifier: Apache-2.0
#include "kernel/cpu_events.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/filter.h"
#include "kernel/permission.h"
#include "log/log.h"

/* -ENODEV: the CPU is not online, or the filter excludes it. */
static int open_event(const struct cpu_events *e, unsigned int cpu)
{
	if (!filter_has_cpu(e->filter, cpu))
		return -ENODEV;
	return event_open(cpu, &e->kind);
}

/* Attaching enables the event and gives it to the link. */
static int attach(struct cpu_events *e, unsigned int cpu, int fd)
{
	e->links[cpu] = bpf_program__attach_perf_event(e->program, fd);
	if (!e->links[cpu]) {
		int err = -errno;

		close(fd);
		return err;
	}
	return 0;
}

/* Opens the events of all CPUs before it enables the first one. */
static int start(struct cpu_events *e)
{
	_cleanup_free_ int *fds = calloc(e->n_cpus, sizeof(*fds));
	unsigned int n = 0;
	int err = fds ? 0 : -ENOMEM;

	for (unsigned int cpu = 0; fds && cpu < e->n_cpus; cpu++) {
		fds[cpu] = err == 0 ? open_event(e, cpu) : -ENODEV;
		if (fds[cpu] >= 0)
			n++;
		else if (fds[cpu] != -ENODEV)
			err = fds[cpu];
	}
	if (err == 0 && n == 0)
		err = -ENODEV;
	for (unsigned int cpu = 0; fds && cpu < e->n_cpus; cpu++) {
		if (err < 0 && fds[cpu] >= 0)
			close(fds[cpu]);
		else if (fds[cpu] >= 0)
			err = attach(e, cpu, fds[cpu]);
	}
	for (unsigned int cpu = 0; err < 0 && cpu < e->n_cpus; cpu++)
		cpu_events_drop(e, cpu);
	return err;
}

static int init(struct cpu_events *ret, const struct bpf_program *program,
		const struct filter *filter, unsigned int n_cpus, struct event_kind kind)
{
	*ret = (struct cpu_events){
		.program = program,
		.filter = filter,
		.kind = kind,
		.n_cpus = n_cpus,
		.links = calloc(n_cpus, sizeof(*ret->links)),
	};
	return ret->links ? start(ret) : -ENOMEM;
}

int cpu_events_start_time(struct cpu_events *ret, const struct bpf_program *program,
			  const struct filter *filter, unsigned int n_cpus, unsigned int hz,
			  const char **ret_event, char ret_why[EVENT_WHY_SIZE])
{
	int err = init(ret, program, filter, n_cpus, event_of_cpu_time(hz, true));

	*ret_event = "cycles";
	ret_why[0] = '\0';
	if (err < 0 && event_why_not("cycles", err, ret_why)) {
		*ret_event = "cpu-clock";
		ret->kind = event_of_cpu_time(hz, false);
		err = start(ret);
	}
	if (err < 0) {
		permission_explain_perf("the sampling event", err, hz);
		cpu_events_stop(ret);
	}
	return err;
}

int cpu_events_start(struct cpu_events *ret, const struct bpf_program *program,
		     const struct filter *filter, unsigned int n_cpus,
		     const struct event_kind *kind, const char *name)
{
	char why[EVENT_WHY_SIZE];
	int err = init(ret, program, filter, n_cpus, *kind);

	if (err == 0)
		return 0;
	if (kind->type != PERF_TYPE_SOFTWARE && event_why_not(name, err, why)) {
		log_error("cannot sample %s: %s", name, why);
		log_detail("need: counters of the CPU; most virtual machines have none");
	} else {
		permission_explain_perf("the event", err, kind->hz);
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
	int fd;

	if (cpu >= e->n_cpus)
		return 0;
	cpu_events_drop(e, cpu);
	fd = open_event(e, cpu);
	if (fd == -ENODEV)
		return 0;
	return fd < 0 ? fd : attach(e, cpu, fd);
}

void cpu_events_drop(struct cpu_events *e, unsigned int cpu)
{
	if (cpu >= e->n_cpus)
		return;
	bpf_link__destroy(e->links[cpu]);
	e->links[cpu] = NULL;
}
