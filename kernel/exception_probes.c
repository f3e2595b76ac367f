// SPDX-License-Identifier: Apache-2.0
#include "kernel/exception_probes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "base/signals.h"
#include "kernel/exception_lists.h"
#include "kernel/permission.h"
#include "kernel/uprobe.h"
#include "kernel/uprobe_places.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"

/* Anyone can make many files: the others are named in debug messages. */
#define SHOWN_FILES 10

enum state {
	PROBE_WAITS,  /* to be set */
	PROBE_IS_SET, /* or is being set, or could not be */
};

struct exception_probe {
	TAILQ_ENTRY(exception_probe) next;
	struct exception_probes *all; /* a use of them */
	size_t n_users;
	enum state state;
	struct stat file;
	bool is_overlay; /* the file is what an overlay shows */
	int fd;          /* until it is set */
	size_t n;
	uint64_t offsets[CXX_N_THROWS], counters[CXX_N_THROWS];
	uint64_t lists[CXX_N_THROWS];
	int links[CXX_N_THROWS]; /* -1: none */
	char path[];
};

struct exception_probes {
	struct exception_fds fds; /* its own */
	pthread_mutex_t lock;     /* protects what follows; not held while the kernel sets probes */
	pthread_cond_t settled;   /* there are fewer setters or removers */
	size_t n_users;
	TAILQ_HEAD(, exception_probe) probes;
	struct exception_lists lists;
	bool runs, has_stopped;
	size_t n_setters, n_removers; /* threads */
	int err;                      /* there is no permission to set any; or 0 */
	size_t n_set;                 /* files */
	size_t n_refused;             /* files whose throws cannot be seen */
};

static int duplicate(int fd)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return own < 0 ? -errno : own;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(steal_fd(fd));
}

int exception_probes_new(const struct exception_fds *fds, struct exception_probes **ret)
{
	struct exception_probes *p = calloc(1, sizeof(*p));
	pthread_condattr_t monotonic;

	*ret = NULL;
	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->settled, &monotonic);
	pthread_condattr_destroy(&monotonic);
	TAILQ_INIT(&p->probes);
	p->n_users = 1;
	p->fds = (struct exception_fds){
		.program = duplicate(fds->program),
		.is_multi = fds->is_multi,
		.arguments = duplicate(fds->arguments),
		.whats = duplicate(fds->whats),
	};
	if (p->fds.program < 0 || p->fds.arguments < 0 || p->fds.whats < 0) {
		exception_probes_drop(p);
		return -EMFILE;
	}
	*ret = p;
	return 0;
}

struct exception_probes *exception_probes_hold(struct exception_probes *p)
{
	if (!p)
		return NULL;
	pthread_mutex_lock(&p->lock);
	p->n_users++;
	pthread_mutex_unlock(&p->lock);
	return p;
}

struct exception_probes *exception_probes_drop(struct exception_probes *p)
{
	bool is_last;

	if (!p)
		return NULL;
	pthread_mutex_lock(&p->lock);
	is_last = --p->n_users == 0;
	pthread_mutex_unlock(&p->lock);
	if (!is_last)
		return NULL;
	close_fd(&p->fds.program);
	close_fd(&p->fds.arguments);
	close_fd(&p->fds.whats);
	pthread_cond_destroy(&p->settled);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return NULL;
}

static void close_links(int links[CXX_N_THROWS])
{
	for (size_t i = 0; i < CXX_N_THROWS; i++)
		close_fd(&links[i]);
}

/* With the lock held. */
static void drop_lists(struct exception_probe *probe)
{
	for (size_t i = 0; i < probe->n; i++)
		exception_lists_drop(&probe->all->lists, (uint32_t)probe->lists[i]);
	probe->n = 0;
}

/* With the lock held. Only when no hit can use its lists any more may others take their place. */
static int take_list(struct exception_probe *probe, const struct cxx_runtime *runtime,
		     enum cxx_throw which)
{
	struct exception_probes *p = probe->all;
	bool is_new;
	int number = exception_lists_take(&p->lists, runtime, which, &is_new);
	uint32_t key = (uint32_t)number;

	if (number < 0)
		return number;
	probe->offsets[probe->n] = runtime->throws[which].offset;
	probe->counters[probe->n] = runtime->throws[which].counter;
	probe->lists[probe->n++] = key;
	if (is_new &&
	    (bpf_map_update_elem(p->fds.arguments, &key, &p->lists.of[key].arguments, BPF_ANY) <
		     0 ||
	     bpf_map_update_elem(p->fds.whats, &key, &p->lists.of[key].whats, BPF_ANY) < 0))
		return -errno;
	return 0;
}

static int take_lists(struct exception_probe *probe, const struct cxx_runtime *runtime)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < CXX_N_THROWS; i++)
		if (runtime->throws[i].address)
			err = take_list(probe, runtime, i);
	if (err < 0)
		drop_lists(probe);
	return err;
}

static void say_refused(struct exception_probes *p, const char *path, const char *why)
{
	bool is_shown;

	pthread_mutex_lock(&p->lock);
	is_shown = p->n_refused++ < SHOWN_FILES;
	pthread_mutex_unlock(&p->lock);
	log_message(is_shown ? LOG_WARNING : LOG_DEBUG,
		    "the C++ exceptions that %s throws are not seen: %s", path, why);
}

static bool is_overlay(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

static struct exception_probe *probe_new(struct exception_probes *p, int fd, const struct stat *st,
					 const char *path)
{
	struct exception_probe *probe = calloc(1, sizeof(*probe) + strlen(path) + 1);

	if (!probe)
		return NULL;
	strcpy(probe->path, path);
	probe->n_users = 1;
	probe->file = *st;
	probe->is_overlay = is_overlay(fd);
	memset(probe->links, -1, sizeof(probe->links));
	probe->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (probe->fd < 0) {
		free(probe);
		return NULL;
	}
	probe->all = exception_probes_hold(p);
	return probe;
}

static void probe_destroy(struct exception_probe *probe)
{
	struct exception_probes *p = probe->all;

	close_links(probe->links);
	close_fd(&probe->fd);
	pthread_mutex_lock(&p->lock);
	drop_lists(probe);
	pthread_mutex_unlock(&p->lock);
	free(probe);
	exception_probes_drop(p);
}

/*
 * Does the kernel take both for the same file? It sets probes in what is below an overlay
 * (d_real_inode(), kernel/events/uprobes.c and kernel/trace/bpf_trace.c), and several containers
 * may show the same there, on a device of each, but with its inode and times
 * (Documentation/filesystems/overlayfs.rst, "Inode properties").
 */
static bool is_same_file(const struct exception_probe *a, const struct exception_probe *b)
{
	const struct stat *x = &a->file, *y = &b->file;

	if (x->st_ino != y->st_ino)
		return false;
	return x->st_dev == y->st_dev ||
	       ((a->is_overlay || b->is_overlay) && x->st_size == y->st_size &&
		file_time_is_same(&x->st_mtim, &y->st_mtim) &&
		file_time_is_same(&x->st_ctim, &y->st_ctim));
}

/* With the lock held. One that was written to since may throw elsewhere. */
static struct exception_probe *find(struct exception_probes *p, const struct exception_probe *made,
				    uint64_t offset)
{
	struct exception_probe *probe = TAILQ_FIRST(&p->probes);

	while (probe && (probe->offsets[0] != offset || !is_same_file(probe, made)))
		probe = TAILQ_NEXT(probe, next);
	return probe;
}

/* Fills links. 0 or a negative errno. */
static int attach(const struct exception_fds *fds, const struct exception_probe *probe,
		  int links[CXX_N_THROWS])
{
	struct uprobe_places places = UPROBE_PLACES_NONE;

	snprintf(places.link, sizeof(places.link), "/proc/self/fd/%d", probe->fd);
	places.offsets = (uint64_t *)probe->offsets;
	places.counters = (uint64_t *)probe->counters;
	places.cookies = (uint64_t *)probe->lists;
	places.n = probe->n;
	for (size_t i = 0; i < (fds->is_multi ? 1 : places.n); i++) {
		int link = fds->is_multi ? uprobe_attach_multi(fds->program, &places, 0) :
					   uprobe_attach_one(fds->program, &places, i, 0);

		if (link < 0)
			return link;
		links[i] = link;
	}
	return 0;
}

/* The kernel sets the probes of a file, which the caller has claimed by its state. */
static int set(struct exception_probe *probe)
{
	struct exception_probes *p = probe->all;
	int links[CXX_N_THROWS];
	int err;

	memset(links, -1, sizeof(links));
	err = attach(&p->fds, probe, links);
	if (err < 0)
		close_links(links);
	pthread_mutex_lock(&p->lock);
	if (!p->has_stopped) {
		memcpy(probe->links, links, sizeof(links));
		memset(links, -1, sizeof(links));
	}
	p->n_set += err == 0;
	if (err == -EACCES || err == -EPERM)
		p->err = err;
	pthread_mutex_unlock(&p->lock);
	close_links(links);
	close_fd(&probe->fd);
	if (err == 0)
		log_debug("%s: its C++ exceptions are seen at 0x%lx", probe->path,
			  (unsigned long)probe->offsets[0]);
	return err;
}

/* With the lock held: another use of the one that is there, or this one. */
static struct exception_probe *insert(struct exception_probes *p, struct exception_probe *made,
				      const struct cxx_runtime *runtime, int *ret_err)
{
	struct exception_probe *known = find(p, made, runtime->throws[CXX_THROW].offset);

	*ret_err = 0;
	if (known) {
		known->n_users++;
		return known;
	}
	*ret_err = take_lists(made, runtime);
	if (*ret_err < 0)
		return NULL;
	TAILQ_INSERT_TAIL(&p->probes, made, next);
	return made;
}

static const char *explain(int err)
{
	return err == -E2BIG ? "there are too many different C++ runtimes" : strerror(-err);
}

/* Nobody waits for the end of the thread. 0 or a negative errno. */
static int run_apart(void *(*fn)(void *arg), void *arg)
{
	pthread_t thread;
	sigset_t old;
	int err;

	signals_block(&old);
	err = pthread_create(&thread, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err == 0)
		pthread_detach(thread);
	return -err;
}

/* Claims the next one that waits to be set, with a use of it. NULL: its thread ends. */
static struct exception_probe *next_waiting(struct exception_probes *p)
{
	struct exception_probe *probe;

	pthread_mutex_lock(&p->lock);
	probe = p->has_stopped ? NULL : TAILQ_FIRST(&p->probes);
	while (probe && probe->state != PROBE_WAITS)
		probe = TAILQ_NEXT(probe, next);
	if (probe) {
		probe->state = PROBE_IS_SET;
		probe->n_users++;
	} else {
		p->n_setters--;
		pthread_cond_broadcast(&p->settled);
	}
	pthread_mutex_unlock(&p->lock);
	return probe;
}

static void *set_waiting(void *arg)
{
	struct exception_probes *p = arg;
	struct exception_probe *probe;

	while ((probe = next_waiting(p))) {
		int err = set(probe);

		if (err < 0)
			say_refused(p, probe->path, explain(err));
		exception_probe_free(probe);
	}
	return exception_probes_drop(p);
}

/* With the lock held: another thread for what waits, if there may be one. 0 or a negative errno. */
static int start_setter(struct exception_probes *p)
{
	int err;

	if (p->n_setters == EXCEPTIONS_MAX_SETTERS)
		return 0;
	p->n_setters++;
	p->n_users++;
	err = run_apart(set_waiting, p);
	if (err < 0) {
		p->n_setters--;
		p->n_users--;
	}
	return p->n_setters > 0 ? 0 : err;
}

void exception_probes_set(struct exception_probes *p, int fd, bool is_local, const char *path,
			  const struct cxx_runtime *runtime, struct exception_probe **ret)
{
	struct exception_probe *made, *probe;
	struct stat st;
	int err;

	*ret = NULL;
	if (runtime->is_hidden) {
		say_refused(p, path, "it has a C++ runtime, but is stripped of its symbols");
		return;
	}
	if (!is_local) {
		say_refused(p, path, "its file system may not answer the kernel");
		return;
	}
	err = file_stat(fd, &st);
	made = err == 0 ? probe_new(p, fd, &st, path) : NULL;
	if (!made) {
		say_refused(p, path, strerror(err < 0 ? -err : ENOMEM));
		return;
	}
	pthread_mutex_lock(&p->lock);
	probe = insert(p, made, runtime, &err);
	if (probe == made && p->runs && !p->has_stopped)
		err = start_setter(p);
	pthread_mutex_unlock(&p->lock);
	if (probe != made)
		probe_destroy(made);
	if (err < 0)
		say_refused(p, path, explain(err));
	*ret = probe;
}

static void *destroy(void *probe)
{
	probe_destroy(probe);
	return NULL;
}

struct exception_probe *exception_probe_free(struct exception_probe *probe)
{
	struct exception_probes *p;
	bool is_last, is_set;

	if (!probe)
		return NULL;
	p = probe->all;
	pthread_mutex_lock(&p->lock);
	is_last = --probe->n_users == 0;
	is_set = probe->links[0] >= 0;
	if (is_last)
		TAILQ_REMOVE(&p->probes, probe, next);
	pthread_mutex_unlock(&p->lock);
	/* The kernel may wait for processes to remove a probe, too. */
	if (is_last && (!is_set || run_apart(destroy, probe) < 0))
		probe_destroy(probe);
	return NULL;
}

/* With the lock held: until there are no such threads. False: that takes too long. */
static bool wait_for(struct exception_probes *p, const size_t *n_threads)
{
	uint64_t end_ns = clock_now_ns() + EXCEPTIONS_PATIENCE_NS;
	const struct timespec end = { (time_t)(end_ns / 1000000000), (long)(end_ns % 1000000000) };
	int err = 0;

	while (*n_threads > 0 && err == 0)
		err = pthread_cond_timedwait(&p->settled, &p->lock, &end);
	return *n_threads == 0;
}

int exception_probes_start(struct exception_probes *p)
{
	const struct exception_probe *probe;
	bool is_late;
	int err = 0;

	pthread_mutex_lock(&p->lock);
	p->runs = true;
	for (probe = TAILQ_FIRST(&p->probes); probe && err == 0; probe = TAILQ_NEXT(probe, next))
		if (probe->state == PROBE_WAITS)
			err = start_setter(p);
	is_late = !wait_for(p, &p->n_setters);
	if (err == 0)
		err = p->err;
	pthread_mutex_unlock(&p->lock);
	if (err == -EACCES || err == -EPERM)
		permission_explain_uprobe(err);
	else if (err < 0)
		log_error("cannot set probes of exceptions: %s", strerror(-err));
	else if (is_late)
		log_warning("some C++ exceptions are not seen yet: the kernel waits for processes "
			    "to set probes");
	return err;
}

/* The links of some file, with the lock held. False: there are none any more. */
static bool take_links(struct exception_probes *p, int ret[CXX_N_THROWS])
{
	struct exception_probe *probe = TAILQ_FIRST(&p->probes);

	while (probe && probe->links[0] < 0)
		probe = TAILQ_NEXT(probe, next);
	if (!probe)
		return false;
	memcpy(ret, probe->links, sizeof(probe->links));
	memset(probe->links, -1, sizeof(probe->links));
	return true;
}

static void *remove_all(void *arg)
{
	struct exception_probes *p = arg;
	int links[CXX_N_THROWS];

	pthread_mutex_lock(&p->lock);
	while (take_links(p, links)) {
		pthread_mutex_unlock(&p->lock);
		close_links(links);
		pthread_mutex_lock(&p->lock);
	}
	p->n_removers--;
	pthread_cond_broadcast(&p->settled);
	pthread_mutex_unlock(&p->lock);
	return exception_probes_drop(p);
}

/* False: it takes too long. */
static bool remove_links(struct exception_probes *p)
{
	bool is_done;

	pthread_mutex_lock(&p->lock);
	p->n_removers++;
	p->n_users++;
	pthread_mutex_unlock(&p->lock);
	if (run_apart(remove_all, p) < 0)
		remove_all(p);
	pthread_mutex_lock(&p->lock);
	is_done = wait_for(p, &p->n_removers);
	pthread_mutex_unlock(&p->lock);
	return is_done;
}

void exception_probes_stop(struct exception_probes *p)
{
	const struct exception_probe *probe;
	size_t n_set, n_refused, n_waiting = 0;
	bool is_end;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	is_end = p->runs && !p->has_stopped;
	p->has_stopped = true;
	n_set = p->n_set;
	n_refused = p->n_refused;
	for (probe = TAILQ_FIRST(&p->probes); probe; probe = TAILQ_NEXT(probe, next))
		n_waiting += probe->state == PROBE_WAITS;
	pthread_mutex_unlock(&p->lock);
	if (!is_end)
		return;
	if (!remove_links(p))
		log_warning("probes of C++ exceptions are still being removed: the kernel waits "
			    "for processes");
	if (n_waiting > 0)
		log_warning(
			"the exceptions that %zu files throw are not seen: the kernel waits for "
			"processes to set probes",
			n_waiting);
	if (n_set == 0)
		log_warning("no C++ exceptions could be seen: no process has had a C++ runtime "
			    "that can be probed");
	if (n_refused > SHOWN_FILES)
		log_warning("the exceptions that %zu more files throw are not seen (-v names them)",
			    n_refused - SHOWN_FILES);
}
