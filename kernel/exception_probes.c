// SPDX-License-Identifier: Apache-2.0
#include "kernel/exception_probes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/cond.h"
#include "base/file_stat.h"
#include "base/signals.h"
#include "kernel/exception_lists.h"
#include "kernel/exception_places.h"
#include "kernel/permission.h"
#include "kernel/removal.h"
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
	int fd;                     /* until it is set */
	struct exception_places at; /* cookies: of exceptions, numbers of their lists */
	int links[EXCEPTION_LINKS]; /* -1: none */
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
	size_t n_setters; /* threads */
	int err;          /* there is no permission to set any; or 0 */
	size_t n_set;     /* files */
	size_t n_refused; /* files whose throws cannot be seen */
};

static bool are_allocs(const struct exception_probes *p)
{
	return p->fds.returns >= 0;
}

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

	*ret = NULL;
	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	cond_init_monotonic(&p->settled);
	TAILQ_INIT(&p->probes);
	p->n_users = 1;
	p->fds = (struct exception_fds){
		.program = duplicate(fds->program),
		.returns = fds->returns < 0 ? -1 : duplicate(fds->returns),
		.is_multi = fds->is_multi,
		.arguments = duplicate(fds->arguments),
		.whats = duplicate(fds->whats),
	};
	if (p->fds.program < 0 ||
	    (fds->returns < 0 ? p->fds.arguments < 0 || p->fds.whats < 0 : p->fds.returns < 0)) {
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
	close_fd(&p->fds.returns);
	close_fd(&p->fds.arguments);
	close_fd(&p->fds.whats);
	pthread_cond_destroy(&p->settled);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return NULL;
}

static void close_links(int links[EXCEPTION_LINKS])
{
	for (size_t i = 0; i < EXCEPTION_LINKS; i++)
		close_fd(&links[i]);
}

/* With the lock held. */
static void drop_lists(struct exception_probe *probe)
{
	for (size_t i = 0; !are_allocs(probe->all) && i < probe->at.n; i++)
		exception_lists_drop(&probe->all->lists, (uint32_t)probe->at.cookies[i]);
	probe->at.n = 0;
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
	probe->at.offsets[probe->at.n] = runtime->throws[which].offset;
	probe->at.counters[probe->at.n] = runtime->throws[which].counter;
	probe->at.cookies[probe->at.n++] = key;
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

static const char *noun(const struct exception_probes *p)
{
	return are_allocs(p) ? "allocations" : "exceptions";
}

static void say_refused(struct exception_probes *p, const char *path, const char *why)
{
	bool is_shown;

	pthread_mutex_lock(&p->lock);
	is_shown = p->n_refused++ < SHOWN_FILES;
	pthread_mutex_unlock(&p->lock);
	log_message(is_shown ? LOG_WARNING : LOG_DEBUG, "the %s that %s %s are not seen: %s",
		    noun(p), path, are_allocs(p) ? "makes" : "throws", why);
}

static struct exception_probe *probe_new(struct exception_probes *p, int fd, const struct stat *st,
					 const char *path)
{
	struct exception_probe *probe = calloc(1, sizeof(*probe) + strlen(path) + 1);

	if (!probe)
		return NULL;
	strcpy(probe->path, path);
	probe->n_users = 1;
	exception_places_init(&probe->at, fd, st);
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

/* With the lock held. One that was written to since may throw elsewhere. */
static struct exception_probe *find(struct exception_probes *p, const struct exception_probe *made,
				    uint64_t offset)
{
	struct exception_probe *probe = TAILQ_FIRST(&p->probes);

	while (probe && (probe->at.offsets[0] != offset ||
			 !exception_places_share_file(&probe->at, &made->at)))
		probe = TAILQ_NEXT(probe, next);
	return probe;
}

/* The kernel sets the probes of a file, which the caller has claimed by its state. */
static int set(struct exception_probe *probe)
{
	struct exception_probes *p = probe->all;
	int links[EXCEPTION_LINKS];
	int err;

	memset(links, -1, sizeof(links));
	err = exception_places_attach(&probe->at, &p->fds, probe->fd, links);
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
		log_debug("%s: its %s are seen at 0x%lx", probe->path, noun(p),
			  (unsigned long)probe->at.offsets[0]);
	return err;
}

/* The offset of what take_lists() takes first. */
static uint64_t first_place(const struct cxx_runtime *runtime)
{
	for (size_t i = 0; i < CXX_N_THROWS; i++)
		if (runtime->throws[i].address)
			return runtime->throws[i].offset;
	return 0;
}

/* With the lock held: another use of the one that is there, or this one. */
static struct exception_probe *insert(struct exception_probes *p, struct exception_probe *made,
				      const struct cxx_runtime *runtime, int *ret_err)
{
	struct exception_probe *known =
		find(p, made, runtime ? first_place(runtime) : made->at.offsets[0]);

	*ret_err = 0;
	if (known) {
		known->n_users++;
		return known;
	}
	*ret_err = runtime ? take_lists(made, runtime) : 0;
	if (*ret_err < 0)
		return NULL;
	TAILQ_INSERT_TAIL(&p->probes, made, next);
	return made;
}

static const char *explain(int err)
{
	return err == -E2BIG ? "there are too many different runtimes" : strerror(-err);
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

/* Those of a file, to be filled in; NULL: there can be none, which is said. */
static struct exception_probe *make(struct exception_probes *p, int fd, bool is_local,
				    const char *path)
{
	struct exception_probe *made = NULL;
	struct stat st;
	int err = is_local ? file_stat(fd, &st) : 0;

	if (is_local && err == 0)
		made = probe_new(p, fd, &st, path);
	if (!made)
		say_refused(p, path,
			    !is_local ? "its file system may not answer the kernel" :
					strerror(err < 0 ? -err : ENOMEM));
	return made;
}

/* runtime: of exceptions; NULL: the places are there. */
static struct exception_probe *add(struct exception_probes *p, struct exception_probe *made,
				   const struct cxx_runtime *runtime)
{
	struct exception_probe *probe;
	int err;

	pthread_mutex_lock(&p->lock);
	probe = insert(p, made, runtime, &err);
	if (probe == made && p->runs && !p->has_stopped)
		err = start_setter(p);
	pthread_mutex_unlock(&p->lock);
	if (err < 0)
		say_refused(p, made->path, explain(err));
	if (probe != made)
		probe_destroy(made);
	return probe;
}

void exception_probes_set(struct exception_probes *p, int fd, bool is_local, const char *path,
			  const struct cxx_runtime *runtime, struct exception_probe **ret)
{
	struct exception_probe *made = NULL;

	if (runtime->hides)
		say_refused(p, path,
			    runtime->hides == CXX_HIDES_CXX ?
				    "it has a C++ runtime, but is stripped of its symbols" :
				    "it has a Python, but is stripped of its symbols");
	if (cxx_runtime_throws(runtime))
		made = make(p, fd, is_local, path);
	*ret = made ? add(p, made, runtime) : NULL;
}

void exception_probes_set_allocator(struct exception_probes *p, int fd, bool is_local,
				    const char *path, const struct allocator *allocator,
				    struct exception_probe **ret)
{
	struct exception_probe *made = make(p, fd, is_local, path);

	for (size_t i = 0; made && i < allocator->n; i++) {
		made->at.offsets[i] = allocator->places[i].offset;
		made->at.cookies[i] = allocator->places[i].how;
		made->at.n_returns += allocator->places[i].how < DP_ALLOC_NEW;
		made->at.n_exits += allocator->places[i].how == DP_ALLOC_EXIT;
	}
	if (made)
		made->at.n = allocator->n;
	*ret = made ? add(p, made, NULL) : NULL;
}

bool exception_probes_are_allocs(const struct exception_probes *p)
{
	return are_allocs(p);
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

/* With the lock held: until nobody sets probes any more. False: that takes too long. */
static bool wait_for_setters(struct exception_probes *p)
{
	uint64_t end_ns = clock_now_ns() + EXCEPTIONS_PATIENCE_NS;
	int err = 0;

	while (p->n_setters > 0 && err == 0)
		err = cond_wait_until(&p->settled, &p->lock, end_ns);
	return p->n_setters == 0;
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
	is_late = !wait_for_setters(p);
	if (err == 0)
		err = p->err;
	pthread_mutex_unlock(&p->lock);
	if (err == -EACCES || err == -EPERM)
		permission_explain_uprobe(err);
	else if (err < 0)
		log_error("cannot set probes of %s: %s", noun(p), strerror(-err));
	else if (is_late)
		log_warning(
			"some %s are not seen yet: the kernel waits for processes to set probes",
			noun(p));
	return err;
}

/* The links of some file, with the lock held. False: there are none any more. */
static bool take_links(struct exception_probes *p, int ret[EXCEPTION_LINKS])
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

/* False: it takes too long. */
static bool remove_links(struct exception_probes *p)
{
	struct removal_links all = { 0 };
	int links[EXCEPTION_LINKS];
	size_t size = 0;

	pthread_mutex_lock(&p->lock);
	while (take_links(p, links))
		for (size_t i = 0; i < EXCEPTION_LINKS; i++)
			if (links[i] >= 0 && array_reserve(all.fds, all.n_fds, size) == 0)
				all.fds[all.n_fds++] = steal_fd(&links[i]);
			else
				close_fd(&links[i]);
	pthread_mutex_unlock(&p->lock);
	return removal_run(&all);
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
		log_warning("probes of %s are still being removed: the kernel waits for processes",
			    noun(p));
	if (n_waiting > 0)
		log_warning(
			"the %s of %zu files are not seen: the kernel waits for processes to set "
			"probes",
			noun(p), n_waiting);
	if (n_set == 0)
		log_warning("no %s could be seen: no process has had %s that can be probed",
			    noun(p),
			    are_allocs(p) ? "an allocator" : "a C++ runtime, Python or HotSpot");
	if (n_refused > SHOWN_FILES)
		log_warning("the %s of %zu more files are not seen (-v names them)", noun(p),
			    n_refused - SHOWN_FILES);
}
