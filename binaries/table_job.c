// SPDX-License-Identifier: Apache-2.0
#include "binaries/table_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "base/write_all.h"
#include "binaries/file_budget.h"
#include "binaries/foreign_file.h"
#include "binaries/image_cache.h"
#include "cache/stored_file.h"
#include "elf/debug_search.h"
#include "elf/mapped_file.h"
#include "kernel/exception_probes.h"
#include "log/clock.h"
#include "log/log.h"
#include "sandbox/finders.h"
#include "sandbox/process_user.h"

static uint64_t nanoseconds(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

static void file_id_init(struct file_id *ret, const struct stat *st, uint64_t *ret_changed_ns)
{
	memset(ret, 0, sizeof(*ret));
	ret->device = st->st_dev;
	ret->inode = st->st_ino;
	ret->size = (uint64_t)st->st_size;
	ret->mtime_ns = nanoseconds(&st->st_mtim);
	*ret_changed_ns = nanoseconds(&st->st_ctim);
}

int file_identify(int fd, bool may_wait, struct file_id *ret, uint64_t *ret_changed_ns)
{
	struct stat st;
	int err = 0;

	if (!may_wait)
		err = file_stat(fd, &st);
	else if (fstat(fd, &st) < 0)
		err = -errno;
	if (err == 0)
		file_id_init(ret, &st, ret_changed_ns);
	return err;
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
	j->fd = j->path_fd = j->original_fd = j->frames_fd = j->module_fd = j->debug_fd = -1;
	return j;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(steal_fd(fd));
}

static void close_files(struct table_job *j)
{
	close_fd(&j->fd);
	close_fd(&j->frames_fd);
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
	exception_probe_free(j->probe);
	exception_probes_drop(j->exceptions);
	parsers_drop(j->parsers);
	free(j->path);
	free(j);
	return NULL;
}

/* Why no parser has answered; NULL: one has. */
static const char *parser_failure(int err)
{
	return err == -EAGAIN ? "parser could not be started" : parsers_failure(err);
}

/* Why a file was not opened (finders.h), if that is neither for lack of it nor of rights. */
static const char *file_failure(int err)
{
	switch (err) {
	case -ETIMEDOUT:
		return "file system does not answer";
	case -EBUSY:
		return "user has others on file systems that do not answer";
	default:
		return NULL;
	}
}

/* Later, it may be better. */
static int tell_failure(struct table_job *j, const char *lacks, int err)
{
	const char *why = j->parsers ? file_failure(err) : NULL;

	if (!why)
		return err;
	parsers_note_failure(j->parsers, j->path ? j->path : "a file", lacks, why);
	return -EAGAIN;
}

/* What a file costs itself, or has its debug file cost it, if it is not parsed. */
static const char *loss(enum parse_kind kind, int other)
{
	static const char *const so[PARSE_N_KINDS] = {
		[PARSE_FACTS] = "has no table",
		[PARSE_IMAGE] = "has no table",
		[PARSE_SAME] = "is not compared with a file of the same build id",
		[PARSE_DEBUG] = "is used without a debug file that may be its own",
		[PARSE_OBJECT] = "has neither tables nor names",
		[PARSE_DUMP] = "gives generated code no table",
		[PARSE_TABLE_DIGEST] = "has a table that is not kept on disk",
		[PARSE_CXX] = "throws exceptions that are not seen, if it does",
		[PARSE_ALLOCATOR] = "makes allocations that are not seen, if it does",
	};

	return other >= 0 && (kind == PARSE_FACTS || kind == PARSE_IMAGE) ?
		       "is used without its debug file" :
		       so[kind];
}

/* Whatever a file does to its parser, the file has no table. */
static int ask(struct table_job *j, enum parse_kind kind, int fd, int other,
	       struct parse_result *ret)
{
	const struct parse_request request = {
		.kind = kind,
		.fd = fd,
		.other = other,
		.user = j->user,
		.ends = j->job.ends,
	};
	int err = parsers_ask(j->parsers, &request, &j->job.clock, ret);
	const char *why = parser_failure(err);

	if (!why)
		return tell_failure(j, loss(kind, other), err);
	parsers_note_failure(j->parsers, j->path ? j->path : "a file", loss(kind, other), why);
	/* Somebody may have ended it, or memory have been short. */
	return err == -ECONNABORTED || err == -EAGAIN ? -EAGAIN : -EBADMSG;
}

static bool is_given_up(const struct table_job *j)
{
	return j->job.ends && __atomic_load_n(j->job.ends, __ATOMIC_RELAXED);
}

static int ask_facts(struct table_job *j, int frames_fd, struct parse_result *ret)
{
	if (j->memory)
		return parse_memory(PARSE_FACTS, j->memory, j->memory_size, ret);
	return ask(j, PARSE_FACTS, j->fd, frames_fd, ret);
}

/* Whether the file is the debug file of the job's. */
static bool is_debug_file(void *arg, int fd, const struct debug_wanted *wanted)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	struct table_job *j = arg;

	(void)wanted;
	return ask(j, PARSE_DEBUG, j->fd, fd, &result) == 0 && result.is_so;
}

static int open_debug_file(void *arg, const struct debug_place *place, int root)
{
	struct table_job *j = arg;

	if (is_given_up(j))
		return -ECANCELED;
	return finders_open_debug(parsers_finders(j->parsers), j->user, place, root);
}

/* What a debug file does to its parser costs only what it has. */
static void add_frames(struct table_job *j, struct parse_result *result)
{
	_cleanup_(parse_result_done) struct parse_result both = { 0 };
	struct parse_result own = *result;

	if (ask_facts(j, j->frames_fd, &both) < 0) {
		close_fd(&j->frames_fd);
		return;
	}
	*result = both;
	both = own;
}

/* What the file is, and whether a debug file has the unwind information that it lacks. */
static int parse(struct table_job *j, struct parse_result *ret)
{
	const struct debug_reader reader = { is_debug_file, open_debug_file, j };
	struct debug_wanted wanted;
	int err = ask_facts(j, -1, ret);

	if (err < 0)
		return err;
	if (ret->lacks_cfi && j->fd >= 0) {
		wanted = (struct debug_wanted){ ret->facts.origin.build_id, ret->debug_link,
						ret->debug_link_checksum };
		j->frames_fd = debug_search(j->fd, &wanted, &reader);
	}
	if (j->frames_fd >= 0)
		add_frames(j, ret);
	/* It may have a debug file that was not looked at. */
	if (is_given_up(j))
		return -ECANCELED;
	j->origin = ret->facts.origin;
	j->is_parsed = true;
	return 0;
}

/*
 * A file could take over the parser that compares, and have its own table taken for another
 * user's file. Root's files and the user's own do no such thing.
 */
static bool is_original_trusted(const struct table_job *j)
{
	struct stat original, own;

	return fstat(j->original_fd, &original) == 0 && fstat(j->fd, &own) == 0 &&
	       (original.st_uid == 0 || original.st_uid == own.st_uid);
}

/* Two files that get their unwind information from debug files are not compared. */
static bool is_copy(struct table_job *j)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };

	return j->original_fd >= 0 && j->frames_fd < 0 && is_original_trusted(j) &&
	       ask(j, PARSE_SAME, j->fd, j->original_fd, &result) == 0 && result.is_so;
}

static bool is_refusal(int err)
{
	return err == -EACCES || err == -EPERM;
}

/* By its name as the process sees it, else as this one does. */
static int look_up(struct table_job *j, struct finders *finders, struct found_file *ret)
{
	const struct file_mapping *at = &j->mapping;
	_cleanup_close_ int root = process_root_open(at->pid);
	int inside = root, outside;

	if (root >= 0)
		inside = finders_look_up(finders, j->user, root, j->path, at->inode, ret);
	if (inside == 0 || file_failure(inside))
		return inside;
	outside = finders_look_up(finders, j->user, -1, j->path, at->inode, ret);
	if (outside == 0)
		return 0;
	/* The way that was refused may have been the only one to lead to it. */
	return is_refusal(inside) || is_refusal(outside) ||
			       mapped_file_is_refused(at->pid, at->start, at->end) ?
		       -EACCES :
		       outside;
}

static int find_file(struct table_job *j, struct found_file *ret)
{
	struct finders *finders = parsers_finders(j->parsers);
	const struct file_mapping *at = &j->mapping;

	if (finders && process_user(j->asker, &j->user) < 0)
		j->user = FINDERS_NOBODY;
	if (j->path_fd < 0)
		j->path_fd = mapped_file_find(at->pid, at->start, at->end, at->inode, j->path);
	if (j->path_fd == -EAGAIN)
		return look_up(j, finders, ret);
	return j->path_fd < 0 ? j->path_fd : finders_open(finders, j->user, j->path_fd, ret);
}

/* The facts about the file are those at the time of opening it. */
static int open_file(struct table_job *j)
{
	struct found_file found;
	int err = find_file(j, &found);

	if (err < 0)
		return err;
	j->fd = found.fd;
	j->is_foreign = found.is_foreign;
	j->has_own_inode = !found.is_foreign && stored_file_has_own_inode(j->fd);
	file_id_init(&j->id, &found.st, &j->changed_ns);
	if (!file_budget_allows(j->fd))
		return -EMFILE;
	close_fd(&j->path_fd);
	j->module_fd = fcntl(j->fd, F_DUPFD_CLOEXEC, 0);
	return j->module_fd < 0 ? -errno : 0;
}

/* As it is now. Only a helper asks a server. */
static int identify_again(struct table_job *j, uint64_t *ret_changed_ns)
{
	struct found_file found;
	int err;

	if (!file_is_reference(j->fd))
		return file_identify(j->fd, true, &j->id, ret_changed_ns);
	err = finders_open(parsers_finders(j->parsers), j->user, j->fd, &found);
	if (err < 0)
		return tell_failure(j, "has no table", err);
	file_id_init(&j->id, &found.st, ret_changed_ns);
	close(found.fd);
	return 0;
}

/* From here on, the program that a parser makes of it is the file. */
static int link_object(struct table_job *j)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int file = memfd_create("jit", MFD_CLOEXEC);
	enum parse_kind kind = j->is_dump ? PARSE_DUMP : PARSE_OBJECT;
	int err = file < 0 ? -errno : ask(j, kind, j->fd, -1, &result);

	if (err == 0)
		err = write_all(file, result.object, result.object_size);
	if (err == 0)
		err = file_identify(file, true, &j->id, &j->changed_ns);
	if (err < 0)
		return err;
	if (j->is_foreign) {
		foreign_file_close(steal_fd(&j->fd));
		foreign_file_close(steal_fd(&j->module_fd));
		j->is_foreign = false;
	}
	close_fd(&j->module_fd);
	j->module_fd = fcntl(file, F_DUPFD_CLOEXEC, 0);
	close_fd(&j->fd);
	j->fd = steal_fd(&file);
	return j->module_fd < 0 ? -errno : 0;
}

static int read_file(struct table_job *j)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	const struct debug_reader reader = { is_debug_file, open_debug_file, j };
	struct debug_wanted wanted;
	int err = j->memory ? 0 : open_file(j);

	j->is_unopened = err < 0 && !file_failure(err);
	err = tell_failure(j, "has no table", err);
	if (err == 0 && j->is_object)
		err = link_object(j);
	if (err == 0)
		err = parse(j, &result);
	if (err < 0)
		return err;
	wanted = (struct debug_wanted){ result.facts.origin.build_id, result.debug_link,
					result.debug_link_checksum };
	if (j->pid != 0)
		j->debug_fd = debug_search_process(j->pid, j->fd, j->path, &wanted, &reader);
	if (j->debug_fd >= 0 && !file_budget_allows(j->debug_fd))
		close_fd(&j->debug_fd);
	j->facts = result.facts;
	result.facts = (struct elf_facts){ 0 };
	return 0;
}

static int make_image(void *arg, struct image *ret)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	struct table_job *j = arg;
	int err = j->memory ? parse_memory(PARSE_IMAGE, j->memory, j->memory_size, &result) :
			      ask(j, PARSE_IMAGE, j->fd, j->frames_fd, &result);

	if (err < 0)
		return err;
	*ret = result.image;
	result.image = (struct image){ 0 };
	return 0;
}

static int read_digest(void *arg, int fd, struct file_digest *ret)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	const struct table_job *j = arg;
	uint64_t begun = clock_now_ns();
	int err = ask(arg, PARSE_TABLE_DIGEST, fd, -1, &result);

	*ret = result.digest;
	log_debug("%s: hashed in %.3f ms", j->path, (double)(clock_now_ns() - begun) / 1e6);
	return err;
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
	/* To see where a foreign file is may wait. It is not believed, and not kept. */
	const struct cached_source source = { j->is_foreign ? -1 : j->fd, read_digest, j };
	struct disk_cache cache = { .fd = -1 };
	uint64_t before = 0;
	int err;

	if (shared) {
		cache = shared->cache;
		cache.budget = before = __atomic_load_n(&shared->budget, __ATOMIC_RELAXED);
	}
	err = image_cache_get(shared ? &cache : NULL, &j->origin, &source, make_image, j,
			      &j->image);
	if (shared)
		update_budget(shared, before, cache.budget);
	j->is_kept = err > 0;
	return err < 0 ? err : 0;
}

/* Its table is kept as the file's own. */
static int get_image_alone(struct table_job *j, bool is_changed)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	int err;

	close_fd(&j->frames_fd);
	err = ask_facts(j, -1, &result);
	if (err < 0)
		return err;
	j->origin = result.facts.origin;
	return get_image(j, is_changed);
}

/* Whether or not it has a table. */
static void probe_exceptions(struct table_job *j)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };

	if (ask(j, PARSE_CXX, j->fd, -1, &result) < 0)
		return;
	exception_probes_set(j->exceptions, j->fd, !j->is_foreign && stored_file_is_local(j->fd),
			     j->path, &result.cxx, &j->probe);
}

static void probe_allocations(struct table_job *j)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };

	if (ask(j, PARSE_ALLOCATOR, j->fd, -1, &result) < 0)
		return;
	exception_probes_set_allocator(j->exceptions, j->fd,
				       !j->is_foreign && stored_file_is_local(j->fd), j->path,
				       &result.allocator, &j->probe);
}

static int make_table(struct table_job *j)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	uint64_t start = clock_now_ns(), changed_ns = j->changed_ns;
	int err = j->is_parsed ? 0 : parse(j, &result);

	if (err == 0 && j->fd >= 0)
		err = identify_again(j, &changed_ns);
	if (err < 0)
		return err;
	j->is_copy = is_copy(j);
	if (j->is_copy)
		return 0;
	err = get_image(j, changed_ns != j->changed_ns);
	if (err < 0 && err != -ENOMEM && j->frames_fd >= 0)
		err = get_image_alone(j, changed_ns != j->changed_ns);
	j->took = clock_now_ns() - start;
	return err;
}

void table_job_run(struct table_job *j)
{
	if (j->step == TABLE_JOB_MAKE && j->exceptions && j->fd >= 0) {
		if (exception_probes_are_allocs(j->exceptions))
			probe_allocations(j);
		else
			probe_exceptions(j);
	}
	j->err = j->step == TABLE_JOB_READ ? read_file(j) : make_table(j);
	if (j->err < 0 || j->step == TABLE_JOB_MAKE)
		close_files(j);
	/* Closing a file may wait for its server, too. */
	if (j->err < 0)
		close_fd(&j->module_fd);
}
