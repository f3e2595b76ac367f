// SPDX-License-Identifier: Apache-2.0
#include "agent/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/seldom.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/directory.h"
#include "log/clock.h"
#include "log/log.h"

#define EXTENSION ".dwarfprof"
#define PART EXTENSION ".part"
/* How often removals are said, and what cannot be removed. */
#define SAY_NS UINT64_C(3600000000000)
/* On a full disk a recording makes room for itself, but not in place of all others. */
#define REMOVALS_MAX 8
/* So many that cannot be removed are enough to give up for now. */
#define REFUSALS_MAX 8

struct kept {
	char name[40];
	uint64_t size, ended_real_ns;
};

struct store {
	char *path;
	int fd;
	pthread_mutex_t lock; /* protects all that follows */
	struct store_limits limits;
	struct kept *kept; /* oldest first */
	size_t n_kept, kept_size;
	uint64_t n_begun;
	uint64_t n_said; /* of what was removed */
	struct seldom removals, full, refused;
	struct store_state state;
};

/* What a recording is written through. */
struct stream {
	struct store *store;
	int fd;
	unsigned int n_removed; /* of older ones */
};

static bool may_say(struct seldom *s)
{
	return seldom_may_say(s, SAY_NS, &(uint64_t){ 0 });
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

static int keep(struct store *s, const char *name, const struct stat *st)
{
	struct kept *k;

	if (array_reserve(s->kept, s->n_kept, s->kept_size) < 0)
		return -ENOMEM;
	k = &s->kept[s->n_kept++];
	*k = (struct kept){ .size = (uint64_t)st->st_size,
			    .ended_real_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000 +
					     (uint64_t)st->st_mtim.tv_nsec };
	snprintf(k->name, sizeof(k->name), "%s", name);
	s->state.n++;
	s->state.size += k->size;
	return 0;
}

/*
 * A clock that was set back leaves times in the future, whose age would not grow until then, nor that
 * of those behind them: it counts from now on.
 */
static void bound_times(struct store *s, uint64_t until_real_ns)
{
	for (size_t i = 0; i < s->n_kept; i++)
		if (s->kept[i].ended_real_ns > until_real_ns)
			s->kept[i].ended_real_ns = until_real_ns;
}

/* Names sort by time. */
static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct kept *)a)->name, ((const struct kept *)b)->name);
}

static int look_at(struct store *s, const char *name, uint64_t *size_cleaned)
{
	struct stat st;

	if (fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (name[0] == '.' && ends_with(name, PART)) {
		if (unlinkat(s->fd, name, 0) < 0)
			return -errno;
		s->state.n_cleaned++;
		*size_cleaned += (uint64_t)st.st_size;
		return 0;
	}
	if (name[0] == '.' || !ends_with(name, EXTENSION) || strlen(name) >= sizeof(s->kept->name))
		return 0;
	return keep(s, name, &st);
}

static int look_around(struct store *s)
{
	_cleanup_closedir_ DIR *dir = directory_open_at(s->fd, ".", 0);
	const struct dirent *entry;
	uint64_t size_cleaned = 0;
	int err = 0;

	if (!dir)
		return -errno;
	while (err == 0 && (entry = directory_next(dir, &err)))
		err = look_at(s, entry->d_name, &size_cleaned);
	if (s->n_kept > 0)
		qsort(s->kept, s->n_kept, sizeof(*s->kept), compare_names);
	if (s->state.n_cleaned > 0)
		log_warning("the last run ended abnormally: its last interval is lost "
			    "(%" PRIu64 " incomplete files, %" PRIu64 " bytes, removed from %s)",
			    s->state.n_cleaned, size_cleaned, s->path);
	return err;
}

static int open_directory(struct store *s)
{
	if (mkdir(s->path, 0700) < 0 && errno != EEXIST)
		return -errno;
	s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->fd < 0)
		return -errno;
	if (flock(s->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return look_around(s);
}

int store_open(const char *path, const struct store_limits *limits, struct store **ret)
{
	struct store *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	*ret = NULL;
	if (!s)
		return err;
	pthread_mutex_init(&s->lock, NULL);
	s->fd = -1;
	s->limits = *limits;
	s->path = strdup(path);
	if (s->path)
		err = open_directory(s);
	if (err < 0) {
		log_error("cannot keep recordings in %s: %s", path,
			  err == -EBUSY ? "another agent does" : strerror(-err));
		store_close(s);
		return err;
	}
	*ret = s;
	return 0;
}

struct store *store_close(struct store *s)
{
	if (!s)
		return NULL;
	if (s->fd >= 0)
		close(s->fd);
	pthread_mutex_destroy(&s->lock);
	free(s->kept);
	free(s->path);
	free(s);
	return NULL;
}

void store_set_limits(struct store *s, const struct store_limits *limits)
{
	pthread_mutex_lock(&s->lock);
	s->limits = *limits;
	pthread_mutex_unlock(&s->lock);
}

static void say_removals(struct store *s)
{
	if (s->state.n_removed == s->n_said || !may_say(&s->removals))
		return;
	log_info("removed %" PRIu64
		 " old recordings from %s, because of --store-size and --store-age "
		 "(%" PRIu64 " so far, %" PRIu64 " bytes)",
		 s->state.n_removed - s->n_said, s->path, s->state.n_removed,
		 s->state.size_removed);
	s->n_said = s->state.n_removed;
}

/* False: it stays. */
static bool remove_kept(struct store *s, const struct kept *k)
{
	if (unlinkat(s->fd, k->name, 0) < 0 && errno != ENOENT) {
		if (may_say(&s->refused))
			log_warning("cannot remove %s/%s: %s", s->path, k->name, strerror(errno));
		return false;
	}
	s->state.n--;
	s->state.size -= k->size;
	s->state.n_removed++;
	s->state.size_removed += k->size;
	return true;
}

static bool has_no_room(const struct store *s, const struct kept *k, uint64_t now_real_ns)
{
	return (s->limits.age_ns && k->ended_real_ns + s->limits.age_ns < now_real_ns) ||
	       (s->limits.size && s->state.size > s->limits.size);
}

/* The newest one stays, whatever its size, and those that cannot be removed. */
static void make_room(struct store *s, uint64_t now_real_ns)
{
	size_t n = 0, i;

	for (i = 0; i + 1 < s->n_kept && n < REFUSALS_MAX; i++) {
		if (!has_no_room(s, &s->kept[i], now_real_ns))
			break;
		if (!remove_kept(s, &s->kept[i]))
			s->kept[n++] = s->kept[i];
	}
	if (s->n_kept > i)
		memmove(s->kept + n, s->kept + i, (s->n_kept - i) * sizeof(*s->kept));
	s->n_kept -= i - n;
	say_removals(s);
}

/* The disk is full: the oldest that can be removed gives way. False: none does. */
static bool give_way(struct store *s, unsigned int *n_removed)
{
	size_t i = 0;
	bool is_removed = false;

	if (*n_removed == REMOVALS_MAX)
		return false;
	pthread_mutex_lock(&s->lock);
	if (s->n_kept > 0 && may_say(&s->full))
		log_warning("the disk of %s is full: the oldest recordings are removed", s->path);
	while (!is_removed && i < s->n_kept && i < REFUSALS_MAX)
		is_removed = remove_kept(s, &s->kept[i++]);
	if (is_removed) {
		memmove(s->kept + i - 1, s->kept + i, (s->n_kept - i) * sizeof(*s->kept));
		s->n_kept--;
		(*n_removed)++;
	}
	pthread_mutex_unlock(&s->lock);
	return is_removed;
}

static bool is_full(int err)
{
	return err == ENOSPC || err == EDQUOT;
}

static ssize_t stream_write(void *arg, const char *bytes, size_t size)
{
	struct stream *w = arg;
	size_t done = 0;

	while (done < size) {
		ssize_t n = write(w->fd, bytes + done, size - done);
		int err = n < 0 ? errno : EIO;

		if (n > 0)
			done += (size_t)n;
		else if (err != EINTR && !(is_full(err) && give_way(w->store, &w->n_removed))) {
			errno = err;
			break;
		}
	}
	return (ssize_t)done;
}

static int stream_close(void *arg)
{
	struct stream *w = arg;
	int err = close(w->fd);

	free(w);
	return err;
}

static int open_part(struct store *s, const char *name, struct stream *w)
{
	do
		w->fd = openat(s->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			       0600);
	while (w->fd < 0 && is_full(errno) && give_way(s, &w->n_removed));
	return w->fd < 0 ? -errno : 0;
}

int store_begin(struct store *s, struct store_file *ret)
{
	static const cookie_io_functions_t functions = { .write = stream_write,
							 .close = stream_close };
	struct stream *w = calloc(1, sizeof(*w));
	uint64_t number;
	int err;

	pthread_mutex_lock(&s->lock);
	number = s->n_begun++;
	pthread_mutex_unlock(&s->lock);
	*ret = (struct store_file){ 0 };
	if (!w)
		return -ENOMEM;
	w->store = s;
	snprintf(ret->name, sizeof(ret->name), ".%d-%" PRIu64 PART, getpid(), number);
	err = open_part(s, ret->name, w);
	if (err < 0) {
		free(w);
		return err;
	}
	ret->fd = w->fd;
	ret->to = fopencookie(w, "w", functions);
	if (ret->to)
		return 0;
	(void)stream_close(w);
	unlinkat(s->fd, ret->name, 0);
	return -ENOMEM;
}

void store_drop(struct store *s, struct store_file *file)
{
	if (!file->to)
		return;
	fclose(file->to);
	file->to = NULL;
	unlinkat(s->fd, file->name, 0);
}

static void name_file(uint64_t real_ns, char *name, size_t size)
{
	time_t seconds = (time_t)(real_ns / 1000000000);
	struct tm tm = { 0 };
	char text[sizeof("20261231T235959")] = "";

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &tm);
	snprintf(name, size, "%s.%06uZ" EXTENSION, text, (unsigned int)(real_ns / 1000 % 1000000));
}

static int give_name(struct store *s, const char *from, const char *to)
{
	unsigned int n_removed = 0;
	int err;

	do
		err = renameat(s->fd, from, s->fd, to) < 0 ? -errno : 0;
	while (is_full(-err) && give_way(s, &n_removed));
	return err;
}

int store_end(struct store *s, struct store_file *file, uint64_t started_real_ns)
{
	char name[40];
	struct stat st;
	int err = 0;

	/* Otherwise its name may be on disk before its contents: ext4 delays those. */
	if (fflush(file->to) != 0 || fdatasync(file->fd) < 0 || fstat(file->fd, &st) < 0)
		err = -errno;
	name_file(started_real_ns, name, sizeof(name));
	if (err == 0)
		err = give_name(s, file->name, name);
	if (err < 0) {
		store_drop(s, file);
		return err;
	}
	fclose(file->to);
	file->to = NULL;
	pthread_mutex_lock(&s->lock);
	err = keep(s, name, &st);
	/* It would neither count nor ever be removed. */
	if (err < 0)
		unlinkat(s->fd, name, 0);
	if (s->n_kept > 1 &&
	    s->kept[s->n_kept - 2].ended_real_ns > s->kept[s->n_kept - 1].ended_real_ns)
		bound_times(s, s->kept[s->n_kept - 1].ended_real_ns);
	make_room(s, clock_real_ns());
	pthread_mutex_unlock(&s->lock);
	return err;
}

struct store_state store_state(struct store *s)
{
	struct store_state state;

	pthread_mutex_lock(&s->lock);
	state = s->state;
	pthread_mutex_unlock(&s->lock);
	return state;
}
