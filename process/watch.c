// SPDX-License-Identifier: Apache-2.0
#include "process/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/proc_stat.h"

/* How often threads are looked at. */
#define LOOK_NS UINT64_C(100000000)

struct watched_thread {
	pid_t tid; /* 0: it has ended */
	uint64_t started;
	uint64_t looked;
	bool exited; /* when it was last looked at */
};

void watch_init(struct watch *w, int epoll_fd, uint64_t first_tag)
{
	*w = (struct watch){ .epoll_fd = epoll_fd, .first_tag = first_tag };
}

void watch_done(struct watch *w)
{
	for (size_t i = 0; i < w->n_pidfds; i++)
		if (w->pidfds[i] >= 0)
			close(w->pidfds[i]);
	free(w->pidfds);
	free(w->threads);
}

int watch_add_process(struct watch *w, pid_t pid)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = w->first_tag + w->n_pidfds };
	_cleanup_close_ int fd = pidfd_open(pid, 0);

	if (fd < 0)
		return errno == ESRCH ? 0 : -errno;
	if (array_reserve(w->pidfds, w->n_pidfds, w->pidfds_size) < 0)
		return -ENOMEM;
	if (epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	w->pidfds[w->n_pidfds++] = steal_fd(&fd);
	w->n_running++;
	return 0;
}

int watch_add_thread(struct watch *w, pid_t tid)
{
	struct proc_stat stat;

	if (proc_stat_read(tid, &stat) < 0)
		return 0;
	if (array_reserve(w->threads, w->n_threads, w->threads_size) < 0)
		return -ENOMEM;
	w->threads[w->n_threads++] = (struct watched_thread){ tid, stat.started, 0, false };
	w->n_running++;
	return 0;
}

void watch_process_ended(struct watch *w, uint64_t tag)
{
	close(steal_fd(&w->pidfds[tag - w->first_tag])); /* and so it is watched no more */
	w->n_running--;
}

/*
 * A first thread whose process executes a program, by another thread, has exited
 * for a moment: the other one takes its number (de_thread(), fs/exec.c).
 */
static bool has_ended(struct watched_thread *t)
{
	bool before = t->exited;
	struct proc_stat stat;

	if (proc_stat_read(t->tid, &stat) < 0 || stat.started != t->started)
		return true;
	t->exited = stat.exited;
	return before && t->exited;
}

pid_t watch_ended_thread(struct watch *w, uint64_t now)
{
	if (now - w->looked < LOOK_NS)
		return 0;
	for (size_t i = 0; i < w->n_threads; i++) {
		struct watched_thread *t = &w->threads[i];
		pid_t tid = t->tid;

		if (tid == 0 || t->looked == now)
			continue;
		t->looked = now;
		if (!has_ended(t))
			continue;
		t->tid = 0;
		w->n_running--;
		return tid;
	}
	w->looked = now;
	return 0;
}
