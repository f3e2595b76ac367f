// SPDX-License-Identifier: Apache-2.0
#include "agent/left_spools.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/cleanup.h"
#include "base/directory.h"
#include "deliver/spool.h"
#include "log/clock.h"
#include "log/log.h"

#define SECOND UINT64_C(1000000000)
/* An agent that begins to deliver there waits for ten times as long. */
#define HOLD_NS UINT64_C(100000000)

struct look {
	const struct left_spools *before;
	const char *path;
	bool is_news;
	int err; /* the first */
	struct left_counts found;
};

/* The spool that is looked at. */
struct place {
	int fd, lock;
	uint64_t locked_ns;
	bool may_remove; /* until something fails there */
};

/* Says what fails, unless it did before, too. */
static void fail(struct look *look, const char *what, const char *name, int err)
{
	if (look->err != 0)
		return;
	look->err = err;
	if (err != look->before->err)
		log_warning("cannot %s %s in %s: %s", what, name, look->path, strerror(err));
}

/* Whoever delivers from it has it locked, and cannot begin to while it is locked here. */
static bool lock_left(struct look *look, struct place *place, const char *name)
{
	place->lock = openat(place->fd, "lock", O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (place->lock >= 0 && flock(place->lock, LOCK_EX | LOCK_NB) == 0) {
		place->locked_ns = clock_now_ns();
		return true;
	}
	/* ENOENT: it has never been delivered from. */
	if (errno != EWOULDBLOCK && errno != ENOENT)
		fail(look, "lock", name, errno);
	return false;
}

static void unlock(struct place *place)
{
	cleanup_close(&place->lock);
	place->lock = -1;
}

/* Whether it is left for so long. It must be locked, so that nobody opens it while that is noted. */
static bool is_left(struct look *look, const struct place *place, const char *name)
{
	uint64_t now = clock_real_ns(), since;
	struct stat st;
	int fd;

	if (fstatat(place->fd, SPOOL_LEFT, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		since = (uint64_t)st.st_mtim.tv_sec * SECOND;
		if (since <= now)
			return now - since >= LEFT_SPOOLS_KNOWN_NS;
		/* The clock was set back. */
		(void)utimensat(place->fd, SPOOL_LEFT, NULL, AT_SYMLINK_NOFOLLOW);
		return false;
	}
	fd = openat(place->fd, SPOOL_LEFT, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		fail(look, "mark", name, errno);
	else
		close(fd);
	return false;
}

static bool is_old(const struct stat *st)
{
	int64_t now = (int64_t)(clock_real_ns() / SECOND);

	return st->st_mtim.tv_sec < now - (int64_t)(LEFT_SPOOLS_AGE_NS / SECOND);
}

/* Returns if it is gone. */
static bool remove_request(struct look *look, struct place *place, const char *name)
{
	if (unlinkat(place->fd, name, 0) == 0) {
		look->found.removed++;
		return true;
	}
	if (errno == ENOENT)
		return true;
	fail(look, "remove", name, errno);
	place->may_remove = false;
	return false;
}

static void look_at_file(struct look *look, struct place *place, const char *name)
{
	struct stat st;

	if (!spool_is_request(name))
		return;
	if (fstatat(place->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			fail(look, "look at", name, errno);
		return;
	}
	if (!S_ISREG(st.st_mode))
		return;
	if (!place->may_remove || clock_now_ns() - place->locked_ns > HOLD_NS)
		unlock(place);
	if (place->lock >= 0 && is_old(&st) && remove_request(look, place, name))
		return;
	look->found.n++;
	look->found.bytes += (uint64_t)st.st_size;
}

/* The next entry, or NULL at the end and after an error. */
static const struct dirent *next_entry(struct look *look, DIR *dir, const char *name)
{
	int err;
	const struct dirent *e = directory_next(dir, &err);

	if (err < 0)
		fail(look, "read", name, -err);
	return e;
}

static void look_at_locked(struct look *look, struct place *place, DIR *dir, const char *name)
{
	const struct dirent *e;

	place->may_remove = is_left(look, place, name) && !look->is_news;
	if (!place->may_remove)
		unlock(place);
	while ((e = next_entry(look, dir, name)))
		look_at_file(look, place, e->d_name);
}

static void look_at_spool(struct look *look, int parent, const char *name)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct place place = { .lock = -1 };

	/* agent/backend.c. Other directories are not ours. */
	if (strncmp(name, "otlp-", 5) != 0 && strncmp(name, "pyroscope-", 10) != 0)
		return;
	dir = directory_open_at(parent, name, O_NOFOLLOW);
	if (!dir) {
		if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
			fail(look, "open", name, errno);
		return;
	}
	place.fd = dirfd(dir);
	if (lock_left(look, &place, name))
		look_at_locked(look, &place, dir, name);
	unlock(&place);
}

static void look_at_all(struct look *look)
{
	_cleanup_closedir_ DIR *dir = directory_open_at(AT_FDCWD, look->path, 0);
	const struct dirent *e;

	if (!dir) {
		if (errno != ENOENT)
			fail(look, "open", "spools", errno);
		return;
	}
	while ((e = next_entry(look, dir, "spools")))
		look_at_spool(look, dirfd(dir), e->d_name);
}

static void say(const struct look *look, bool is_news)
{
	if (look->found.removed > 0)
		log_warning("removed %" PRIu64
			    " requests from %s: no agent has delivered them for a week",
			    look->found.removed, look->path);
	if (is_news && look->found.n > 0)
		log_warning("no agent delivers the spools in %s with %" PRIu64
			    " pending requests (%" PRIu64
			    " bytes); they are removed when they are a week old",
			    look->path, look->found.n, look->found.bytes);
}

static void keep(struct left_spools *left, const struct look *look)
{
	left->n = look->found.n;
	left->bytes = look->found.bytes;
	left->removed += look->found.removed;
	left->err = look->err;
}

void left_spools_look(struct left_spools *left, const struct agent_options *o, bool is_news)
{
	struct look look = { .before = left, .path = o->spool, .is_news = is_news };
	uint64_t now = clock_now_ns();

	if (!is_news && now - left->looked_ns < LEFT_SPOOLS_LOOK_NS)
		return;
	left->looked_ns = now;
	if (o->spool) {
		look_at_all(&look);
		say(&look, is_news);
	}
	keep(left, &look);
}

struct left_counts left_spools_counts(struct left_spools *left)
{
	return (struct left_counts){ .n = left->n, .bytes = left->bytes, .removed = left->removed };
}
