// SPDX-License-Identifier: Apache-2.0
#include "deliver/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/write_all.h"

/* A number, whose digits are so many that names are in order, and how many events are in it. */
#define NAME_FORMAT "%020" PRIu64 "-%" PRIu64
#define NAME_DIGITS 20
#define NAME_SIZE (NAME_DIGITS + 1 + 20 + 1)
#define NAME_NEW "new" /* incomplete */
#define NAME_LOCK "lock"

struct entry {
	uint64_t number, n_events;
	size_t size;
	void *data; /* owned; NULL: in a file */
};

struct spool {
	int directory; /* -1: in memory */
	int lock_fd;
	uint64_t max_bytes;
	pthread_mutex_t lock;  /* protects what follows, and NAME_NEW */
	struct entry *entries; /* oldest first */
	size_t n, size;
	bool is_taken;
	size_t at; /* the one that is */
	uint64_t next_number;
	/* Never held while the disk works, for which whoever counts does not wait. */
	pthread_mutex_t counts_lock;
	struct spool_counts counts; /* changed with both locks, read with either */
};

static void make_name(const struct entry *entry, char ret[NAME_SIZE])
{
	snprintf(ret, NAME_SIZE, NAME_FORMAT, entry->number, entry->n_events);
}

static bool is_digits(const char *text, size_t n)
{
	return n > 0 && strspn(text, "0123456789") == n && text[n] == '\0';
}

/* Of an older version, it has the number alone. */
static bool is_old_name(const char *name)
{
	return strlen(name) == NAME_DIGITS && is_digits(name, NAME_DIGITS);
}

bool spool_is_request(const char *name)
{
	return is_old_name(name) ||
	       (strspn(name, "0123456789") == NAME_DIGITS && name[NAME_DIGITS] == '-' &&
		is_digits(name + NAME_DIGITS + 1, strlen(name + NAME_DIGITS + 1)));
}

static bool parse_name(const char *name, struct entry *ret)
{
	if (!spool_is_request(name))
		return false;
	errno = 0;
	ret->number = strtoull(name, NULL, 10);
	ret->n_events = is_old_name(name) ? 0 : strtoull(name + NAME_DIGITS + 1, NULL, 10);
	return errno == 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void count_added(struct spool *spool, const struct entry *entry)
{
	pthread_mutex_lock(&spool->counts_lock);
	spool->counts.n++;
	spool->counts.bytes += entry->size;
	spool->counts.events += entry->n_events;
	pthread_mutex_unlock(&spool->counts_lock);
}

static void count_removed(struct spool *spool, const struct entry *entry, bool is_dropped)
{
	pthread_mutex_lock(&spool->counts_lock);
	spool->counts.n--;
	spool->counts.bytes -= entry->size;
	spool->counts.events -= entry->n_events;
	spool->counts.dropped += is_dropped;
	spool->counts.dropped_events += is_dropped ? entry->n_events : 0;
	pthread_mutex_unlock(&spool->counts_lock);
}

static void count_refused(struct spool *spool, uint64_t n_events)
{
	pthread_mutex_lock(&spool->counts_lock);
	spool->counts.dropped++;
	spool->counts.dropped_events += n_events;
	pthread_mutex_unlock(&spool->counts_lock);
}

static int append(struct spool *spool, const struct entry *entry)
{
	if (array_reserve(spool->entries, spool->n, spool->size) < 0)
		return -ENOMEM;
	spool->entries[spool->n++] = *entry;
	count_added(spool, entry);
	if (entry->number >= spool->next_number)
		spool->next_number = entry->number + 1;
	return 0;
}

static int rename_old(const struct spool *spool, const char *name, const struct entry *entry)
{
	char new[NAME_SIZE];

	make_name(entry, new);
	return is_old_name(name) ? renameat(spool->directory, name, spool->directory, new) : 0;
}

/* Reads what an earlier process left. */
static int read_directory(struct spool *spool)
{
	_cleanup_closedir_ DIR *directory = NULL;
	const struct dirent *e;
	int fd = dup(spool->directory);

	directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	while ((e = readdir(directory))) {
		struct entry entry = { 0 };
		struct stat st;

		if (!parse_name(e->d_name, &entry) ||
		    fstatat(spool->directory, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode) || rename_old(spool, e->d_name, &entry) < 0)
			continue;
		entry.size = (size_t)st.st_size;
		if (append(spool, &entry) < 0)
			return -ENOMEM;
	}
	if (spool->n > 0)
		qsort(spool->entries, spool->n, sizeof(*spool->entries), compare_entries);
	return 0;
}

#define LOCK_TRIES 100
#define LOCK_WAIT_NS 10000000

/* Somebody who only looks at what is left has it locked for a moment. */
static int lock_directory(int fd)
{
	const struct timespec wait = { .tv_nsec = LOCK_WAIT_NS };

	for (unsigned int tries = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; tries++) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (tries == LOCK_TRIES)
			return -EBUSY;
		nanosleep(&wait, NULL);
	}
	return 0;
}

static int open_directory(struct spool *spool, const char *path)
{
	int err;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	spool->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (spool->directory < 0)
		return -errno;
	spool->lock_fd = openat(spool->directory, NAME_LOCK,
				O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (spool->lock_fd < 0)
		return -errno;
	err = lock_directory(spool->lock_fd);
	if (err < 0)
		return err;
	(void)unlinkat(spool->directory, SPOOL_LEFT, 0);
	return read_directory(spool);
}

int spool_open(const char *path, uint64_t max_bytes, struct spool **ret)
{
	struct spool *spool = calloc(1, sizeof(*spool));
	int err = 0;

	if (!spool)
		return -ENOMEM;
	spool->max_bytes = max_bytes;
	spool->directory = spool->lock_fd = -1;
	pthread_mutex_init(&spool->lock, NULL);
	pthread_mutex_init(&spool->counts_lock, NULL);
	if (path)
		err = open_directory(spool, path);
	if (err < 0)
		spool = spool_free(spool);
	*ret = spool;
	return err;
}

struct spool *spool_free(struct spool *spool)
{
	if (!spool)
		return NULL;
	for (size_t i = 0; i < spool->n; i++)
		free(spool->entries[i].data);
	free(spool->entries);
	cleanup_close(&spool->directory);
	cleanup_close(&spool->lock_fd);
	pthread_mutex_destroy(&spool->lock);
	pthread_mutex_destroy(&spool->counts_lock);
	free(spool);
	return NULL;
}

static void remove_entry(struct spool *spool, size_t i, bool is_dropped)
{
	struct entry *entry = &spool->entries[i];
	char name[NAME_SIZE];

	if (!entry->data) {
		make_name(entry, name);
		unlinkat(spool->directory, name, 0);
	}
	free(entry->data);
	count_removed(spool, entry, is_dropped);
	spool->n--;
	memmove(entry, entry + 1, (spool->n - i) * sizeof(*entry));
}

/* The oldest that is not on its way, which there has to be. Returns its size. */
static size_t drop_oldest(struct spool *spool)
{
	size_t i = spool->is_taken && spool->at == 0 ? 1 : 0;
	size_t size = spool->entries[i].size;

	remove_entry(spool, i, true);
	if (spool->is_taken && i < spool->at)
		spool->at--;
	return size;
}

static void make_room(struct spool *spool, size_t size)
{
	while (spool->n > spool->is_taken && spool->counts.bytes + size > spool->max_bytes)
		drop_oldest(spool);
}

/* The disk is full: the oldest ones of that size together go. */
static bool give_way(struct spool *spool, size_t size)
{
	size_t removed = 0;

	while (spool->n > spool->is_taken && removed < size)
		removed += drop_oldest(spool);
	return removed > 0;
}

/* Written beside, and renamed when it is on disk. */
static int write_file(struct spool *spool, const struct entry *entry, const void *data)
{
	_cleanup_close_ int fd =
		openat(spool->directory, NAME_NEW,
		       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	char name[NAME_SIZE];
	int err;

	if (fd < 0)
		return -errno;
	err = write_all(fd, data, entry->size);
	if (err == 0 && fdatasync(fd) < 0)
		err = -errno;
	make_name(entry, name);
	if (err == 0 && renameat(spool->directory, NAME_NEW, spool->directory, name) < 0)
		err = -errno;
	if (err < 0)
		unlinkat(spool->directory, NAME_NEW, 0);
	return err;
}

static int add(struct spool *spool, const void *data, size_t size, uint64_t n_events)
{
	struct entry entry = { spool->next_number, n_events, size, NULL };
	size_t kept = spool->is_taken ? spool->entries[spool->at].size : 0;
	int err;

	/* For it, the others would be dropped in vain. */
	if (kept + size > spool->max_bytes)
		return -EFBIG;
	make_room(spool, size);
	if (array_reserve(spool->entries, spool->n, spool->size) < 0)
		return -ENOMEM;
	if (spool->directory < 0) {
		entry.data = malloc(size + 1);
		if (!entry.data)
			return -ENOMEM;
		memcpy(entry.data, data, size);
		return append(spool, &entry);
	}
	err = write_file(spool, &entry, data);
	if ((err == -ENOSPC || err == -EDQUOT) && give_way(spool, size))
		err = write_file(spool, &entry, data);
	return err == 0 ? append(spool, &entry) : err;
}

int spool_add(struct spool *spool, const void *data, size_t size, uint64_t n_events)
{
	int err;

	pthread_mutex_lock(&spool->lock);
	err = add(spool, data, size, n_events);
	if (err < 0)
		count_refused(spool, n_events);
	pthread_mutex_unlock(&spool->lock);
	return err;
}

void spool_set_limit(struct spool *spool, uint64_t max_bytes)
{
	pthread_mutex_lock(&spool->lock);
	spool->max_bytes = max_bytes;
	make_room(spool, 0);
	pthread_mutex_unlock(&spool->lock);
}

static int read_entry(const struct spool *spool, const struct entry *entry, void *to)
{
	_cleanup_close_ int fd = -1;
	char name[NAME_SIZE];
	size_t n = 0;

	if (entry->data) {
		memcpy(to, entry->data, entry->size);
		return 0;
	}
	make_name(entry, name);
	fd = openat(spool->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	while (n < entry->size) {
		ssize_t got = read(fd, (char *)to + n, entry->size - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		n += (size_t)got;
	}
	return 0;
}

int spool_take(struct spool *spool, size_t i, struct spool_request *ret)
{
	_cleanup_free_ void *data = NULL;
	int err = -ENOENT;

	pthread_mutex_lock(&spool->lock);
	if (i < spool->n) {
		data = malloc(spool->entries[i].size + 1);
		err = data ? read_entry(spool, &spool->entries[i], data) : -ENOMEM;
		if (err == 0) {
			spool->is_taken = true;
			spool->at = i;
			ret->size = spool->entries[i].size;
			ret->n_events = spool->entries[i].n_events;
			ret->data = steal_ptr(data);
		} else if (err != -ENOMEM) {
			remove_entry(spool, i, true);
			err = err == -ENOENT ? -EIO : err;
		}
	}
	pthread_mutex_unlock(&spool->lock);
	return err;
}

void spool_done(struct spool *spool, bool is_done)
{
	pthread_mutex_lock(&spool->lock);
	if (is_done)
		remove_entry(spool, spool->at, false);
	spool->is_taken = false;
	pthread_mutex_unlock(&spool->lock);
}

uint64_t spool_oldest(struct spool *spool)
{
	uint64_t number;

	pthread_mutex_lock(&spool->lock);
	number = spool->n > 0 ? spool->entries[0].number : UINT64_MAX;
	pthread_mutex_unlock(&spool->lock);
	return number;
}

void spool_counts(struct spool *spool, struct spool_counts *ret)
{
	pthread_mutex_lock(&spool->counts_lock);
	*ret = spool->counts;
	pthread_mutex_unlock(&spool->counts_lock);
}
