// SPDX-License-Identifier: Apache-2.0
#include "binaries/table_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "binaries/foreign_file.h"
#include "binaries/image_cache.h"
#include "elf/mapped_file.h"
#include "elf/process_debug_file.h"
#include "log/clock.h"

/* Larger code always has complete unwind information, so its bytes do not matter. */
#define MAX_KNOWN_CODE (64 << 10)

int file_identify(int fd, bool may_wait, struct file_id *ret, uint64_t *ret_changed_ns)
{
	struct stat st;
	int err = 0;

	if (!may_wait)
		err = file_stat(fd, &st);
	else if (fstat(fd, &st) < 0)
		err = -errno;
	if (err < 0)
		return err;
	memset(ret, 0, sizeof(*ret));
	ret->device = st.st_dev;
	ret->inode = st.st_ino;
	ret->size = (uint64_t)st.st_size;
	ret->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	*ret_changed_ns = (uint64_t)st.st_ctim.tv_sec * 1000000000 + (uint64_t)st.st_ctim.tv_nsec;
	return 0;
}

/* Only the budget and the number of users change. */
struct job_cache {
	struct disk_cache cache; /* but for its budget */
	uint64_t budget;
	unsigned int n_users;
};

struct job_cache *job_cache_new(const struct disk_cache *cache)
{
	struct job_cache *c = cache ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	c->n_users = 1;
	c->cache = *cache;
	c->budget = cache->budget;
	c->cache.fd = fcntl(cache->fd, F_DUPFD_CLOEXEC, 0);
	return c->cache.fd < 0 ? job_cache_drop(c) : c;
}

struct job_cache *job_cache_hold(struct job_cache *c)
{
	if (c)
		__atomic_add_fetch(&c->n_users, 1, __ATOMIC_RELAXED);
	return c;
}

struct job_cache *job_cache_drop(struct job_cache *c)
{
	if (!c || __atomic_sub_fetch(&c->n_users, 1, __ATOMIC_ACQ_REL) > 0)
		return NULL;
	if (c->cache.fd >= 0)
		close(c->cache.fd);
	free(c);
	return NULL;
}

static void run(struct job *job)
{
	table_job_run((struct table_job *)job);
}

static void drop(struct job *job)
{
	table_job_free((struct table_job *)job);
}

struct table_job *table_job_new(enum table_job_step step)
{
	struct table_job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->job.run = run;
	j->job.drop = drop;
	j->step = step;
	j->fd = j->path_fd = j->original_fd = j->module_fd = j->debug_fd = -1;
	return j;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(steal_fd(fd));
}

static void close_files(struct table_job *j)
{
	elf_file_done(&j->elf);
	close_fd(&j->fd);
	close_fd(&j->path_fd);
	close_fd(&j->original_fd);
}

struct table_job *table_job_free(struct table_job *j)
{
	if (!j)
		return NULL;
	/* The caller must not wait for the server. */
	if (j->is_foreign) {
		foreign_file_close(steal_fd(&j->fd));
		foreign_file_close(steal_fd(&j->module_fd));
	}
	close_files(j);
	close_fd(&j->module_fd);
	close_fd(&j->debug_fd);
	elf_facts_done(&j->facts);
	image_done(&j->image);
	job_cache_drop(j->cache);
	free(j->path);
	free(j);
	return NULL;
}

/* Whether code that gets its rules from its bytes is equal. */
static bool is_same_code(const struct image_extent *a, const struct image_extent *b)
{
	if (a->n_ranges != b->n_ranges)
		return false;
	for (size_t i = 0; i < a->n_ranges; i++) {
		const struct code_range *x = &a->ranges[i], *y = &b->ranges[i];

		if (x->address != y->address || x->size != y->size)
			return false;
		/*
		 * In Go code, any function may load the stack pointer, so its bytes always matter.
		 */
		if (x->size > 0 && (x->size <= MAX_KNOWN_CODE || a->go.size > 0) &&
		    memcmp(x->bytes, y->bytes, x->size) != 0)
			return false;
	}
	return a->start == b->start && a->end == b->end && a->entry == b->entry;
}

static bool is_same_section(const struct cfi_section *a, const struct cfi_section *b)
{
	return a->address == b->address && a->size == b->size &&
	       (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static bool is_same_go(const struct pclntab *a, const struct pclntab *b)
{
	return a->size == b->size && a->text == b->text &&
	       (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/*
 * Whether both files result in the same table. A build id does not change when a file is modified
 * later, and anyone can set one. So the table's inputs are compared, which is fast compared to
 * building it.
 */
static bool is_same_table(const struct elf_file *a, const struct elf_file *b)
{
	return is_same_section(&a->cfi, &b->cfi) &&
	       is_same_section(&a->code.beside, &b->code.beside) &&
	       is_same_go(&a->code.go, &b->code.go) && is_same_code(&a->code, &b->code);
}

static bool is_copy(const struct table_job *j)
{
	struct elf_file original;
	bool is_same;

	if (j->original_fd < 0 || elf_file_init_fd(&original, j->original_fd) < 0)
		return false;
	is_same = is_same_table(&j->elf, &original);
	elf_file_done(&original);
	return is_same;
}

static int open_elf(struct table_job *j)
{
	if (j->memory)
		return elf_file_init_memory(&j->elf, j->memory, j->memory_size);
	return elf_file_init_fd(&j->elf, j->fd);
}

/* The facts about the file are those at the time of opening it. */
static int open_file(struct table_job *j)
{
	const struct file_mapping *at = &j->mapping;

	j->fd = j->path_fd >= 0 ? file_reopen(j->path_fd) :
				  mapped_file_open(at->pid, at->start, at->end, at->inode, j->path);
	if (j->fd < 0)
		return j->fd;
	close_fd(&j->path_fd);
	j->module_fd = fcntl(j->fd, F_DUPFD_CLOEXEC, 0);
	return j->module_fd < 0 ? -errno : file_identify(j->fd, true, &j->id, &j->changed_ns);
}

static int read_file(struct table_job *j)
{
	int err = j->memory ? 0 : open_file(j);

	j->is_unopened = err < 0;
	if (err == 0)
		err = open_elf(j);
	if (err < 0)
		return err;
	j->is_foreign = j->fd >= 0 && disk_cache_is_foreign(j->fd);
	if (j->pid != 0)
		j->debug_fd = process_debug_file_open(j->pid, j->path, &j->elf);
	return elf_facts_init(&j->facts, &j->elf);
}

/* A job has scanned the directory, or added to it, while other jobs may have done the same. */
static void update_budget(struct job_cache *c, uint64_t before, uint64_t left)
{
	uint64_t now = __atomic_load_n(&c->budget, __ATOMIC_RELAXED), next;
	uint64_t added = left < before ? before - left : 0;

	do
		next = left > before ? left : now - (added < now ? added : now);
	while (!__atomic_compare_exchange_n(&c->budget, &now, next, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
}

/* Facts about a file may not hold after it has changed, so its image is not kept. */
static int get_image(struct table_job *j, bool is_changed)
{
	struct job_cache *shared = is_changed ? NULL : j->cache;
	struct disk_cache cache = { .fd = -1 };
	uint64_t before = 0;
	int err;

	if (shared) {
		cache = shared->cache;
		cache.budget = before = __atomic_load_n(&shared->budget, __ATOMIC_RELAXED);
	}
	err = image_cache_get(shared ? &cache : NULL, &j->elf, j->fd, &j->image);
	if (shared)
		update_budget(shared, before, cache.budget);
	j->is_kept = err > 0;
	return err < 0 ? err : 0;
}

static int make_table(struct table_job *j)
{
	uint64_t start = clock_now_ns(), changed_ns = j->changed_ns;
	int err = j->elf.bytes ? 0 : open_elf(j);

	if (err == 0 && j->fd >= 0)
		err = file_identify(j->fd, true, &j->id, &changed_ns);
	if (err < 0)
		return err;
	j->is_copy = is_copy(j);
	if (j->is_copy)
		return 0;
	err = get_image(j, changed_ns != j->changed_ns);
	j->took = clock_now_ns() - start;
	return err;
}

void table_job_run(struct table_job *j)
{
	j->err = j->step == TABLE_JOB_READ ? read_file(j) : make_table(j);
	if (j->err < 0 || j->step == TABLE_JOB_MAKE)
		close_files(j);
	/* Closing a file may wait for its server, too. */
	if (j->err < 0)
		close_fd(&j->module_fd);
}
