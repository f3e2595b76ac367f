// SPDX-License-Identifier: Apache-2.0
#include "process/cpu_watch.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/filter.h"
#include "kernel/session.h"
#include "kernel/uevent.h"
#include "log/log.h"
#include "loop/loop.h"
#include "process/sideband.h"

void cpu_watch_init(struct cpu_watch *ret)
{
	ret->is_told = false;
	ret->fd = uevent_open();
	if (ret->fd < 0)
		log_debug("the kernel does not report CPUs that come online: %s",
			  strerror(-ret->fd));
	cpus_read(ret->list);
	ret->n_cpus = cpus_count_present();
}

void cpu_watch_done(struct cpu_watch *w)
{
	if (w->fd >= 0)
		close(steal_fd(&w->fd));
}

/* What ran there so far is not known. */
static int add(const struct cpu_watch *w, unsigned int cpu)
{
	int err = sideband_add_cpu(w->sideband, cpu);

	if (err == -ENODEV)
		return 0; /* it is offline again */
	return err < 0 ? err : cpu_events_add(&w->session->cpus, cpu);
}

static void drop(const struct cpu_watch *w, unsigned int cpu)
{
	cpu_events_drop(&w->session->cpus, cpu);
	sideband_drop_cpu(w->sideband, cpu);
}

static void follow(const struct cpu_watch *w, const struct uevent_cpu *change)
{
	int err = 0;

	if (change->cpu >= w->n_cpus) {
		if (change->is_online && filter_has_cpu(w->session->filter, change->cpu))
			log_warning("CPU %u was added while sampling and is not sampled",
				    change->cpu);
		return;
	}
	drop(w, change->cpu);
	if (change->is_online)
		err = add(w, change->cpu);
	if (err < 0)
		log_warning("CPU %u came online, and cannot be sampled: %s", change->cpu,
			    strerror(-err));
	else
		log_debug("CPU %u %s", change->cpu,
			  change->is_online ? "came online" : "went offline");
}

/* A CPU that is online now may have been offline in between. */
static void follow_all(const struct cpu_watch *w)
{
	char online[CPUS_LIST_SIZE];

	cpus_read(online);
	for (unsigned int cpu = 0; cpu < w->n_cpus; cpu++) {
		struct uevent_cpu change = { .cpu = cpu, .is_online = cpus_has(online, cpu) };

		follow(w, &change);
	}
}

static int on_uevent(void *arg, int fd)
{
	struct cpu_watch *w = arg;
	struct uevent_cpu change;
	bool has_missed = false;
	int err;

	/* Changes queued before the loss are still to be read, and are older. */
	while ((err = uevent_next(fd, &change)) == 0 || err == -ENOBUFS) {
		has_missed |= err < 0;
		if (!has_missed)
			follow(w, &change);
		w->is_told = true;
	}
	if (has_missed)
		follow_all(w);
	return 0;
}

int cpu_watch_listen(struct cpu_watch *w, struct session *session, struct sideband *sideband,
		     struct loop *loop)
{
	w->session = session;
	w->sideband = sideband;
	return w->fd >= 0 ? loop_add(loop, w->fd, on_uevent, w) : 0;
}

void cpu_watch_warn(const struct cpu_watch *w, const struct filter *filter)
{
	char now[CPUS_LIST_SIZE];
	int cpu;

	if (w->is_told || filter->cpus || w->list[0] == '\0')
		return;
	cpus_read(now);
	cpu = cpus_find_new(now, w->list);
	if (cpu >= 0)
		log_warning("CPU %d came online while sampling: what ran there may be missing",
			    cpu);
}
