// SPDX-License-Identifier: Apache-2.0
#include "binaries/load.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "elf/code_pages.h"
#include "kernel/exception_probes.h"
#include "log/clock.h"
#include "log/log.h"

static void finish(struct binary_store *store, struct table_job *j);

static struct binary *find_original(const struct binary_store *store, const struct binary *b)
{
	struct binary *original;

	HASH_FIND(by_build_id, store->originals, b->elf.origin.build_id,
		  sizeof(b->elf.origin.build_id), original);
	return original;
}

static void forget_original(struct binary_store *store, struct binary *b)
{
	if (find_original(store, b) == b)
		HASH_DELETE(by_build_id, store->originals, b);
}

/* Jobs that have begun go first: they have a file open. */
static void submit(struct binary_store *store, struct table_job *j)
{
	if (!store->workers || j->memory) {
		table_job_run(j);
		finish(store, j);
		return;
	}
	workers_add(store->workers, &j->job, j->is_parsed);
}

static struct table_job *new_job(struct binary_store *store, struct binary *b,
				 enum table_job_step step)
{
	struct table_job *j = table_job_new(step);

	if (!j)
		return NULL;
	j->binary = b;
	j->memory = b->module->memory;
	j->memory_size = b->module->memory_size;
	j->changed_ns = b->changed_ns;
	j->job.source = b->id.device;
	j->job.user = b->user;
	j->parsers = parsers_hold(store->parsers);
	if (store->cache && b->object_size == 0) {
		if (!store->job_cache)
			store->job_cache = job_cache_new(store->cache);
		j->cache = job_cache_hold(store->job_cache);
	}
	store->n_jobs++;
	binary_hold(b);
	return j;
}

static void end_job(struct binary_store *store, struct table_job *j)
{
	binary_drop(j->original);
	binary_drop(j->binary);
	table_job_free(j);
	store->n_jobs--;
}

void load_forget(struct binary_store *store, struct binary *b)
{
	mapped_id_forget(store, b);
	HASH_DEL(store->binaries, b);
	file_budget_give_object(&store->files, b->user, b->object_size);
}

/* Removes a binary that could not be loaded from the store; the next mapping tries again. */
static void fail(struct binary_store *store, struct binary *b, int err)
{
	b->is_loading = false;
	b->err = err;
	forget_original(store, b);
	if (HASH_IS_ADDED(hh, b))
		load_forget(store, b);
}

/* Mapping the file does not read it. One that is only referred to cannot be mapped. */
static void map_bytes(struct binary *b)
{
	void *bytes = b->module->memory;
	size_t size = bytes ? b->module->memory_size : b->id.size;

	if (!bytes)
		bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, b->module->fd, 0);
	if (bytes == MAP_FAILED)
		return;
	b->bytes = bytes;
	b->n_bytes = size;
}

/*
 * Builds the first table. Of several copies of a file, only one is built at a time; the others are
 * compared with it. Without a build id, copies are not recognised. Files whose server may not
 * answer are not compared, since a job may wait only for its own device.
 */
static void make_first_table(struct binary_store *store, struct table_job *j)
{
	struct binary *b = j->binary, *original = NULL;
	bool may_be_copy = b->elf.origin.build_id[0] != '\0' && !b->is_foreign;

	if (may_be_copy)
		original = find_original(store, b);
	if (original && original->is_loading && original != b) {
		STAILQ_INSERT_TAIL(&store->deferred, &j->job, next);
		return;
	}
	if (original && original->module->fd >= 0) {
		j->original_fd = fcntl(original->module->fd, F_DUPFD_CLOEXEC, 0);
		j->original = original;
		binary_hold(original);
	} else if (!original && may_be_copy) {
		HASH_ADD(by_build_id, store->originals, elf.origin.build_id,
			 sizeof(b->elf.origin.build_id), b);
	}
	submit(store, j);
}

/* The binary that they waited for has a table now, or none. */
static void resume_deferred(struct binary_store *store)
{
	STAILQ_HEAD(, job) jobs = STAILQ_HEAD_INITIALIZER(jobs);
	struct job *job;

	STAILQ_CONCAT(&jobs, &store->deferred);
	while ((job = STAILQ_FIRST(&jobs)) != NULL) {
		STAILQ_REMOVE_HEAD(&jobs, next);
		make_first_table(store, (struct table_job *)job);
	}
}

/*
 * Called when the file has been opened. If it is the file of another known binary, that one
 * replaces this one, which is removed from the store.
 */
static bool is_known_as_another(struct binary_store *store, struct table_job *j)
{
	struct binary *b = j->binary, *known;

	b->changed_ns = j->changed_ns;
	if (b->module->memory || memcmp(&b->id, &j->id, sizeof(b->id)) == 0)
		return false;
	load_forget(store, b);
	HASH_FIND(hh, store->binaries, &j->id, sizeof(j->id), known);
	b->id = j->id;
	j->job.source = b->id.device;
	if (!known)
		HASH_ADD(hh, store->binaries, id, sizeof(b->id), b);
	if (!known && HASH_IS_ADDED(hh, b)) {
		file_budget_take_object(&store->files, b->user, b->object_size);
		return false;
	}
	b->is_loading = false;
	b->err = known ? 0 : -ENOMEM;
	b->same = known;
	binary_hold(known);
	return true;
}

/* If memory is short, reports find them. */
static void set_pages(struct binary *b)
{
	struct code_pages *pages;
	size_t n;

	if (code_pages_of(b->elf.segments, b->elf.n_segments, &pages, &n) == 0)
		module_set_pages(b->module, pages, n);
}

static void finish_reading(struct binary_store *store, struct table_job *j)
{
	struct binary *b = j->binary;

	b->is_unopened = j->is_unopened;
	if (j->err < 0)
		fail(store, b, j->err);
	if (j->err < 0 || is_known_as_another(store, j)) {
		end_job(store, j);
		return;
	}
	if (j->module_fd >= 0)
		module_set_file(b->module, steal_fd(&j->module_fd));
	b->elf = j->facts;
	j->facts = (struct elf_facts){ 0 };
	b->is_foreign = j->is_foreign;
	b->has_own_inode = j->has_own_inode;
	b->module->user = j->user;
	module_set_build_id(b->module, b->elf.origin.build_id);
	set_pages(b);
	if (j->debug_fd > 0)
		b->module->debug_fd = steal_fd(&j->debug_fd);
	map_bytes(b);
	j->step = TABLE_JOB_MAKE;
	make_first_table(store, j);
}

static void log_table(const struct binary *b, const struct table_job *j)
{
	const struct image_stats *stats = &j->image.stats;

	log_debug("%s: %" PRIu64 " rows, %zu bytes, %.1f ms%s", b->module->path, stats->n_rows,
		  (size_t)j->image.n_cells * DP_CELL_SIZE, (double)j->took / 1e6,
		  j->is_kept ? ", from the cache" : "");
	for (int i = RULE_NONE + 1; i < RULE_N_REFUSALS; i++)
		if (stats->refused[i].rows > 0)
			log_debug("%s: %" PRIu64 " rows (%" PRIu64 " bytes of code) refused: %s",
				  b->module->path, stats->refused[i].rows, stats->refused[i].bytes,
				  rule_refusal_sentence(i));
}

static void log_no_room(struct binary_store *store, const struct binary *b)
{
	if (!store->has_warned)
		log_warning("no room for all tables: some stacks will end with table_evicted; a "
			    "larger --table-memory avoids this");
	store->has_warned = true;
	log_debug("%s: no room for its table of %zu bytes", b->module->path,
		  (size_t)b->table->n_cells * DP_CELL_SIZE);
}

/* From now on, holders of the binary also hold its table. */
static void set_table(struct binary *b, struct table *t)
{
	b->table = t;
	t->n_mappings += b->n_users;
}

static void fill_table(struct binary_store *store, struct table *t, const struct table_job *j)
{
	table_fill(&store->tables, t, j->image.cells, j->took);
	store->tables.n_from_cache += j->is_kept;
}

static int take_first_table(struct binary_store *store, struct table_job *j)
{
	struct binary *b = j->binary;
	struct table *t;
	int err;

	if (j->is_copy) {
		set_table(b, j->original->table);
		b->table->n_binaries++;
		log_debug("%s: shares the table of %s", b->module->path, j->original->module->path);
		load_again(store, b);
		return 0;
	}
	err = table_new(&store->tables, b, j->image.n_cells, j->took, &t);
	if (err < 0)
		return err;
	set_table(b, t);
	store->n_rows += j->image.stats.n_rows;
	store->n_cells += j->image.n_cells;
	if (table_find_room(&store->tables, t) == 0)
		fill_table(store, t, j);
	else
		log_no_room(store, b);
	log_table(b, j);
	return 0;
}

/* A binary without unwind information, or with too much, is no error: it still has names. */
static void finish_first_table(struct binary_store *store, struct table_job *j)
{
	struct binary *b = j->binary;
	int err = j->err;

	b->is_loading = false;
	b->probe = steal_ptr(j->probe);
	if (err == -ENODATA)
		log_debug("%s has no unwind information", b->module->path);
	else if (err == -EFBIG)
		log_warning("cannot build a table for %s, but its functions have names: %s",
			    b->module->path, strerror(-err));
	else if (err == 0)
		err = take_first_table(store, j);
	if (err < 0)
		forget_original(store, b);
	if (err < 0 && err != -ENODATA && err != -EFBIG)
		fail(store, b, err);
}

static void finish_table(struct binary_store *store, struct table_job *j)
{
	const struct binary *b = j->binary;
	struct table *t = j->table;
	/* Nor can it be built if the file was written to after processes mapped it. */
	bool is_other = j->err == 0 && (j->image.n_cells != t->n_cells ||
					memcmp(&j->id, &b->id, sizeof(j->id)) != 0);

	if (j->err < 0 || is_other) {
		table_fail(&store->tables, t, j->err != -ENOMEM && j->err != -EAGAIN);
		return;
	}
	fill_table(store, t, j);
	log_debug("%s: table rebuilt, %.1f ms", b->module->path, (double)t->made_in / 1e6);
}

/* With this much room, the order in which tables get it does not matter. */
#define PLENTY_OF_CELLS ((UINT64_C(256) << 20) / DP_CELL_SIZE)
/* A binary that takes longer to load loses its place in the queue. */
#define ORDER_NS UINT64_C(1000000000)

/*
 * If room is short, binaries get it in the order of requests, not of finished jobs. Whether an
 * earlier one is still loading.
 */
static bool has_to_queue(const struct binary_store *store, const struct table_job *j)
{
	const struct binary *mine = j->binary, *b, *next;
	uint64_t now = clock_now_ns();

	if (!mine->is_loading || pool_room(store->tables.pool) >= PLENTY_OF_CELLS)
		return false;
	HASH_ITER(hh, store->binaries, b, next)
		if (b->is_loading && b->number < mine->number && b->asked_ns + ORDER_NS > now)
			return true;
	return false;
}

/* Continues with finished jobs that had to wait for others, now finished or too slow. */
static void resume_done(struct binary_store *store)
{
	struct job *job, *next;

	for (job = STAILQ_FIRST(&store->done); job; job = next) {
		struct table_job *j = (struct table_job *)job;

		next = STAILQ_NEXT(job, next);
		if (has_to_queue(store, j))
			continue;
		STAILQ_REMOVE(&store->done, job, job, next);
		finish(store, j);
		next = STAILQ_FIRST(&store->done);
	}
}

static void finish(struct binary_store *store, struct table_job *j)
{
	if (j->step == TABLE_JOB_READ) {
		finish_reading(store, j);
		return;
	}
	if (has_to_queue(store, j)) {
		STAILQ_INSERT_TAIL(&store->done, &j->job, next);
		return;
	}
	if (j->table)
		finish_table(store, j);
	else
		finish_first_table(store, j);
	end_job(store, j);
	resume_deferred(store);
}

int load_binary(struct binary_store *store, struct binary *b, pid_t pid, int path_fd,
		const struct file_mapping *mapping)
{
	_cleanup_close_ int own = path_fd;
	struct table_job *j = new_job(store, b, TABLE_JOB_READ);

	if (!j)
		return -ENOMEM;
	j->path = strdup(b->module->path);
	if (!j->path) {
		end_job(store, j);
		return -ENOMEM;
	}
	j->path_fd = steal_fd(&own);
	if (mapping)
		j->mapping = *mapping;
	j->asker = pid;
	j->is_object = b->object_size > 0;
	j->is_dump = b->is_dump;
	j->pid = store->symbols && !j->is_object ? pid : 0;
	j->exceptions = j->is_object ? NULL : exception_probes_hold(store->exceptions);
	b->is_loading = true;
	b->asked_ns = clock_now_ns();
	submit(store, j);
	return 0;
}

void load_table(struct binary_store *store, struct table *t)
{
	const struct module *module = t->binary->module;
	struct table_job *j = new_job(store, t->binary, TABLE_JOB_MAKE);

	if (j && !j->memory)
		j->fd = fcntl(module->fd, F_DUPFD_CLOEXEC, 0);
	if (j && (j->memory || j->fd >= 0)) {
		j->table = t;
		j->user = module->user;
		j->is_foreign = t->binary->is_foreign;
		submit(store, j);
		return;
	}
	if (j)
		end_job(store, j);
	table_give_room_back(&store->tables, t);
}

void load_again(struct binary_store *store, struct binary *b)
{
	struct table *t = b->table;

	table_use(t, clock_now_ns());
	if (t && table_may_be_made(&store->tables, t) && table_find_room(&store->tables, t) == 0)
		load_table(store, t);
}

bool load_collect(struct binary_store *store)
{
	bool is_any = false;
	struct job *job;

	/* Asked for after each wake-up. With none left, the workers' descriptor is not readable. */
	if (!store->workers || store->n_jobs == 0)
		return false;
	while ((job = workers_take(store->workers)) != NULL) {
		is_any = true;
		finish(store, (struct table_job *)job);
	}
	workers_look(store->workers);
	if (!STAILQ_EMPTY(&store->done)) {
		is_any = true;
		resume_done(store);
	}
	return is_any;
}

void load_end(struct binary_store *store)
{
	struct job *job;

	store->workers = workers_free(store->workers);
	STAILQ_CONCAT(&store->deferred, &store->done);
	while ((job = STAILQ_FIRST(&store->deferred)) != NULL) {
		STAILQ_REMOVE_HEAD(&store->deferred, next);
		job->drop(job);
	}
	store->job_cache = job_cache_drop(store->job_cache);
}
