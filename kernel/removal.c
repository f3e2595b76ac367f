// SPDX-License-Identifier: Apache-2.0
#include "kernel/removal.h"

#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/signals.h"
#include "limits/limits.h"
#include "log/clock.h"

/* More would only wait for the kernel's locks. */
#define N_THREADS 32

/* Shared by the threads and who waits for them; the last one frees it. */
struct removal {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	struct removal_links left;
	size_t n_threads;
	bool is_awaited;
};

/* False: there is nothing left. */
static bool take(struct removal *r, struct bpf_link **ret_link, int *ret_fd)
{
	bool has_link = r->left.n_links > 0, has_fd = !has_link && r->left.n_fds > 0;

	*ret_link = has_link ? r->left.links[--r->left.n_links] : NULL;
	*ret_fd = has_fd ? r->left.fds[--r->left.n_fds] : -1;
	return has_link || has_fd;
}

/* With the lock held, which this gives up. */
static void leave(struct removal *r)
{
	bool is_last = r->n_threads == 0 && !r->is_awaited;

	pthread_cond_signal(&r->ended);
	pthread_mutex_unlock(&r->lock);
	if (!is_last)
		return;
	pthread_cond_destroy(&r->ended);
	pthread_mutex_destroy(&r->lock);
	free(r->left.links);
	free(r->left.fds);
	free(r);
}

static void *remove_some(void *arg)
{
	struct removal *r = arg;
	struct bpf_link *link;
	int fd;

	pthread_mutex_lock(&r->lock);
	while (take(r, &link, &fd)) {
		pthread_mutex_unlock(&r->lock);
		bpf_link__destroy(link);
		if (fd >= 0)
			close(fd);
		pthread_mutex_lock(&r->lock);
	}
	r->n_threads--;
	leave(r);
	return NULL;
}

/* Here if there can be no thread. */
static void start_thread(struct removal *r)
{
	pthread_t thread;
	sigset_t old;
	int err;

	pthread_mutex_lock(&r->lock);
	r->n_threads++;
	pthread_mutex_unlock(&r->lock);
	signals_block(&old);
	err = pthread_create(&thread, NULL, remove_some, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err == 0)
		pthread_detach(thread);
	else
		remove_some(r);
}

static bool wait_for_threads(struct removal *r)
{
	uint64_t end_ns = clock_now_ns() + REMOVAL_PATIENCE_NS;
	bool has_ended;
	int err = 0;

	pthread_mutex_lock(&r->lock);
	while (r->n_threads > 0 && err == 0)
		err = cond_wait_until(&r->ended, &r->lock, end_ns);
	has_ended = r->n_threads == 0;
	r->is_awaited = false;
	leave(r);
	return has_ended;
}

static void remove_here(const struct removal_links *links)
{
	for (size_t i = 0; i < links->n_links; i++)
		bpf_link__destroy(links->links[i]);
	for (size_t i = 0; i < links->n_fds; i++)
		close(links->fds[i]);
	free(links->links);
	free(links->fds);
}

bool removal_run(const struct removal_links *links)
{
	struct removal *r = calloc(1, sizeof(*r));
	size_t n = links->n_links + links->n_fds;

	if (!r) {
		remove_here(links);
		return true;
	}
	*r = (struct removal){ .left = *links, .is_awaited = true };
	pthread_mutex_init(&r->lock, NULL);
	cond_init_monotonic(&r->ended);
	for (size_t i = 0; i < n && i < N_THREADS; i++)
		start_thread(r);
	return wait_for_threads(r);
}
