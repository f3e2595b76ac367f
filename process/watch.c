// SPDX-License-Identifier: Apache-2.0
#include "process/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/proc_stat.h"
#include "loop/loop.h"

/* How often threads are polled. */
#define LOOK_NS UINT64_C(100000000)

struct watched_thread {
	pid_t tid; /* 0: it has ended */
	uint64_t started;
	uint64_t looked;
	bool exited; /* at the last poll */
};

void watch_init(struct watch *w, struct loop *loop)
{
	*w = (struct watch){ .loop = loop };
}

void watch_done(struct watch *w)
{
	for (size_t i = 0; i < w->n_pidfds; i++) {
		loop_remove(w->loop, w->pidfds[i]);
		close(w->pidfds[i]);
	}
	free(w->pidfds);
	free(w->threads);
}

/* pidfd_open(2): readable once the process has ended. */
static int on_process_ended(void *arg, int fd)
{
	struct watch *w = arg;

	loop_remove(w->loop, fd);
	w->n_running--;
	return 0;
}

int watch_add_process(struct watch *w, pid_t pid)
{
	_cleanup_close_ int fd = pidfd_open(pid, 0);
	int err;

	if (fd < 0)
		return errno == ESRCH ? 0 : -errno;
	if (array_reserve(w->pidfds, w->n_pidfds, w->pidfds_size) < 0)
		return -ENOMEM;
	err = loop_add(w->loop, fd, on_process_ended, w);
	if (err < 0)
		return err;
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

/*
 * The first thread exits for a moment when another thread of its process calls exec: that one takes
 * its number (de_thread(), fs/exec.c).
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
