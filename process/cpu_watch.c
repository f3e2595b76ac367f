// SPDX-License-Identifier: Apache-2.0
#include "process/cpu_watch.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/filter.h"
#include "kernel/session.h"
#include "kernel/uevent.h"
#include "log/log.h"
#include "process/sideband.h"

void cpu_watch_init(struct cpu_watch *ret)
{
	ret->is_told = false;
	ret->fd = uevent_open();
	if (ret->fd < 0)
		log_debug("the kernel does not tell of CPUs that come online: %s",
			  strerror(-ret->fd));
	cpus_read(ret->list);
	ret->n_cpus = cpus_count_present();
}

void cpu_watch_done(struct cpu_watch *w)
{
	if (w->fd >= 0)
		close(steal_fd(&w->fd));
}

/* What ran there until now is not known. */
static int add(unsigned int cpu, struct session *session, struct sideband *sideband, int epoll_fd,
	       uint64_t tag)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = tag };
	int fd = sideband_add_cpu(sideband, cpu);

	if (fd == -ENODEV)
		return 0; /* it has gone again */
	if (fd < 0)
		return fd;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	return cpu_events_add(&session->cpus, cpu);
}

static void follow(const struct cpu_watch *w, const struct uevent_cpu *change,
		   struct session *session, struct sideband *sideband, int epoll_fd, uint64_t tag)
{
	int err = 0;

	if (change->cpu >= w->n_cpus) {
		if (change->is_online && filter_has_cpu(session->filter, change->cpu))
			log_warning("CPU %u was added while sampling: what runs there is missing",
				    change->cpu);
		return;
	}
	cpu_events_drop(&session->cpus, change->cpu);
	sideband_drop_cpu(sideband, change->cpu);
	if (change->is_online)
		err = add(change->cpu, session, sideband, epoll_fd, tag);
	if (err < 0)
		log_warning("CPU %u came online, and cannot be sampled: %s", change->cpu,
			    strerror(-err));
	else
		log_debug("CPU %u %s", change->cpu,
			  change->is_online ? "came online" : "went offline");
}

/* What is online now may have gone and come again. */
static void follow_all(const struct cpu_watch *w, struct session *session,
		       struct sideband *sideband, int epoll_fd, uint64_t tag)
{
	char online[CPUS_LIST_SIZE];

	cpus_read(online);
	for (unsigned int cpu = 0; cpu < w->n_cpus; cpu++) {
		struct uevent_cpu change = { .cpu = cpu, .is_online = cpus_has(online, cpu) };

		follow(w, &change, session, sideband, epoll_fd, tag);
	}
}

void cpu_watch_follow(struct cpu_watch *w, struct session *session, struct sideband *sideband,
		      int epoll_fd, uint64_t tag)
{
	struct uevent_cpu change;
	bool has_missed = false;
	int err;

	/* Those that were told before some were not are still to be read, and are older. */
	while ((err = uevent_next(w->fd, &change)) == 0 || err == -ENOBUFS) {
		has_missed |= err < 0;
		if (!has_missed)
			follow(w, &change, session, sideband, epoll_fd, tag);
		w->is_told = true;
	}
	if (has_missed)
		follow_all(w, session, sideband, epoll_fd, tag);
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
