// SPDX-License-Identifier: Apache-2.0
#include "binaries/binary_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binaries/foreign_file.h"
#include "binaries/load.h"
#include "kernel/exception_probes.h"
#include "kernel/proc_maps.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "sandbox/finders.h"
#include "sandbox/parsers.h"
#include "sandbox/process_user.h"

void binary_store_init(struct binary_store *store, struct pool *pool, struct names *names)
{
	*store = (struct binary_store){ .names = names };
	STAILQ_INIT(&store->deferred);
	STAILQ_INIT(&store->done);
	table_store_init(&store->tables, pool);
}

/* More workers would hardly help, as they read from the same disk. */
#define MAX_WORKERS 4
/* Each finished job has a mapped file or an image. */
#define MAX_DONE 64

void binary_store_start_workers(struct binary_store *store)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = n_cpus < 1 ? 1 : n_cpus > MAX_WORKERS ? MAX_WORKERS : (size_t)n_cpus;
	int err = workers_new(n, MAX_DONE, &store->workers);

	if (err < 0)
		log_debug("tables are built without worker threads: %s", strerror(-err));
	else
		workers_set_budget(store->workers, store->cpu_budget);
}

void binary_store_done(struct binary_store *store)
{
	struct binary *b, *next;

	load_end(store);
	HASH_CLEAR(by_build_id, store->originals);
	HASH_ITER(hh, store->binaries, b, next) {
		load_forget(store, b);
		binary_free(b);
	}
	while ((b = store->closed) != NULL) {
		store->closed = b->next_closed;
		binary_free(b);
	}
	binary_free(store->vdso);
	file_budget_done(&store->files);
	table_store_done(&store->tables);
}

/* How long one update may rebuild tables before the rings are read again. */
#define MAKE_NS UINT64_C(5000000)

/*
 * An unmapped binary is kept for a while, as its program may be restarted, but only
 * BINARIES_MAX_IDLE of them.
 */
#define IDLE_NS (60 * UINT64_C(1000000000))
#define LOOK_NS UINT64_C(1000000000)

/* Other copies use the table that was built from it. */
static bool is_needed_by_copies(const struct binary *b)
{
	return b->table && b->table->binary == b && b->table->n_binaries > 1;
}

static void binary_let_go(struct binary_store *store, struct binary *b)
{
	struct binary *original;

	load_forget(store, b);
	HASH_FIND(by_build_id, store->originals, b->elf.origin.build_id,
		  sizeof(b->elf.origin.build_id), original);
	if (original == b)
		HASH_DELETE(by_build_id, store->originals, b);
	if (b->table && --b->table->n_binaries == 0)
		table_free(&store->tables, b->table);
	b->table = NULL;
	if (!b->is_sampled) {
		binary_free(b);
		return;
	}
	binary_unmap(b);
	b->probe = exception_probe_free(b->probe);
	b->closed_ns = clock_now_ns();
	b->next_closed = store->closed;
	store->closed = b;
	/* The file stays open if memory for the message is short or a report has failed. */
	if (store->users)
		(void)store->users->close(store->users->arg, b->module);
	else
		module_close(b->module, store->symbols);
}

static void free_object(void *object)
{
	binary_free(object);
}

/* Frees closed binaries that nothing refers to any more. */
static void free_closed(struct binary_store *store)
{
	const struct module_users *users = store->users;
	struct binary **at = &store->closed, *b;
	uint64_t oldest = users && *at ? users->oldest_ns(users->arg) : 0;

	while ((b = *at) != NULL) {
		struct binary *next = b->next_closed;

		if (!module_is_let_go(b->module, b->closed_ns, oldest)) {
			at = &b->next_closed;
			continue;
		}
		if (users->release(users->arg, free_object, b) < 0)
			return;
		*at = next;
	}
}

/* A copy of what was in memory is never found again. */
static bool may_come_back(const struct binary *b, uint64_t time)
{
	return b->object_size == 0 && b->idle_from + IDLE_NS > time;
}

/* The hash keeps the order of insertion, so the oldest ones come first. */
static void let_idle_go(struct binary_store *store, uint64_t time)
{
	struct binary *b, *next;
	size_t n_idle = 0;

	if (time < store->looked + LOOK_NS)
		return;
	store->looked = time;
	HASH_ITER(hh, store->binaries, b, next) {
		if (b->n_users > 0)
			b->idle_from = 0;
		else if (b->idle_from == 0)
			b->idle_from = time;
		n_idle += b->n_users == 0;
	}
	HASH_ITER(hh, store->binaries, b, next) {
		if (b->n_users > 0 || is_needed_by_copies(b) ||
		    (n_idle <= BINARIES_MAX_IDLE && may_come_back(b, time)))
			continue;
		binary_let_go(store, b);
		n_idle--;
	}
	free_closed(store);
}

void binary_store_update(struct binary_store *store, uint64_t time)
{
	uint64_t end = clock_now_ns() + MAKE_NS;
	struct table *t;

	table_store_update(&store->tables, time);
	let_idle_go(store, time);
	/* At least one, however long this thread has waited for a CPU. */
	do {
		t = table_store_next(&store->tables);
		if (t)
			load_table(store, t);
	} while (t && clock_now_ns() < end);
}

bool binary_store_collect(struct binary_store *store)
{
	return load_collect(store);
}

bool binary_store_wait(struct binary_store *store, int timeout_ms)
{
	if (!store->workers || store->n_jobs == 0)
		return false;
	workers_wait(store->workers, timeout_ms);
	return load_collect(store);
}

bool binary_store_is_cancelled(const struct binary_store *store)
{
	return store->is_interrupted && store->is_interrupted(store->interrupt_arg);
}

static struct binary *binary_new(struct binary_store *store, const char *path)
{
	struct binary *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->number = ++store->n_known;
	b->n_unknown_runtimes = &store->n_unknown_runtimes;
	b->n_third_runtimes = &store->n_third_runtimes;
	b->module = module_new(store->names, path, "", -1);
	if (b->module)
		return b;
	free(b);
	return NULL;
}

/*
 * Loads a new binary. If loading has failed already, the binary is freed. *ret is the other binary
 * of the same file, if it is already known to have one.
 */
static int binary_load(struct binary_store *store, struct binary *b, pid_t pid, int path_fd,
		       const struct file_mapping *mapping, struct binary **ret)
{
	int err;

	binary_hold(b);
	err = load_binary(store, b, pid, path_fd, mapping);
	if (err < 0) { /* no job was created */
		if (HASH_IS_ADDED(hh, b))
			load_forget(store, b);
		b->err = err;
	}
	err = b->err;
	if (err == 0)
		*ret = b->same ? b->same : b;
	binary_drop(b);
	return err;
}

static uid_t user_of(pid_t pid)
{
	uid_t user;

	return process_user(pid, &user) < 0 ? FINDERS_NOBODY : user;
}

/* What a compiler says of generated code. */
struct generated {
	uint64_t size; /* 0: it is a file like others */
	bool is_dump;  /* in a jitdump */
};

static int add_binary(struct binary_store *store, const struct file_id *id, pid_t pid, int fd,
		      const struct file_mapping *mapping, const char *path,
		      struct generated generated, struct binary **ret)
{
	_cleanup_close_ int own = fd;
	struct binary *b;
	uid_t user = user_of(pid);
	int err = 0;

	if (generated.size > 0)
		err = file_budget_check_object(&store->files, user, fd, generated.size);
	else if (!file_budget_has_room(&store->files, user, fd))
		err = -EMFILE;
	if (err < 0)
		return err;
	if (binary_store_is_cancelled(store))
		return -ECANCELED;
	b = binary_new(store, path);
	if (!b)
		return -ENOMEM;
	b->id = *id;
	b->user = user;
	b->object_size = generated.size;
	b->is_dump = generated.is_dump;
	HASH_ADD(hh, store->binaries, id, sizeof(*id), b);
	if (!HASH_IS_ADDED(hh, b)) {
		binary_free(b);
		return -ENOMEM;
	}
	file_budget_take_object(&store->files, user, generated.size);
	return binary_load(store, b, pid, steal_fd(&own), mapping, ret);
}

int binary_store_get(struct binary_store *store, pid_t pid, int fd, const char *path,
		     struct binary **ret)
{
	_cleanup_close_ int own = fd;
	struct binary *b;
	struct file_id id;
	uint64_t changed_ns;
	int err;

	err = file_identify(fd, false, &id, &changed_ns);
	if (err < 0)
		return err;
	HASH_FIND(hh, store->binaries, &id, sizeof(id), b);
	if (!b)
		return add_binary(store, &id, pid, steal_fd(&own), NULL, path,
				  (struct generated){ 0 }, ret);
	load_again(store, b);
	*ret = b;
	return 0;
}

int binary_store_get_object(struct binary_store *store, pid_t pid, int fd, struct binary **ret)
{
	_cleanup_close_ int own = fd;
	uint64_t changed_ns;
	struct file_id id;
	int err = file_identify(fd, false, &id, &changed_ns);

	return err < 0 ? err :
			 add_binary(store, &id, pid, steal_fd(&own), NULL, MODULE_JIT,
				    (struct generated){ id.size, false }, ret);
}

/* A unique id, on a device of its user's own, identifies a file until what counts of it is known. */
static struct file_id make_id(const struct binary_store *store, pid_t pid, uint64_t inode)
{
	struct file_id id;

	memset(&id, 0, sizeof(id));
	id.device = UINT64_MAX - (uint64_t)user_of(pid);
	id.inode = inode;
	id.size = store->n_known;
	return id;
}

int binary_store_get_dump(struct binary_store *store, pid_t pid, int fd, uint64_t size,
			  struct binary **ret)
{
	const struct file_id id = make_id(store, pid, 0);

	return add_binary(store, &id, pid, fd, NULL, MODULE_JIT, (struct generated){ size, true },
			  ret);
}

/* Who makes jobs wait for the lock of a process's mappings does so to those of their own processes alone. */
int binary_store_find_later(struct binary_store *store, const struct file_mapping *mapping,
			    const char *path, struct binary **ret)
{
	const struct file_id id = make_id(store, mapping->pid, mapping->inode);

	return add_binary(store, &id, mapping->pid, -1, mapping, path, (struct generated){ 0 },
			  ret);
}

static bool is_still(const struct binary *b)
{
	return b->module->fd < 0 || binary_is_unchanged(b);
}

struct binary *binary_store_find(const struct binary_store *store, uint64_t inode, const char *path)
{
	struct binary *b, *next;

	HASH_ITER(hh, store->binaries, b, next)
		if (b->id.inode == inode && strcmp(b->module->path, path) == 0 && is_still(b))
			return b;
	return NULL;
}

/* Copies this process's own vDSO. */
static int copy_vdso(void **ret, size_t *ret_size)
{
	_cleanup_(proc_maps_close) struct proc_maps maps = { 0 };
	struct proc_map map;
	int err = proc_maps_open(&maps, getpid());

	if (err < 0)
		return err;
	while ((err = proc_maps_next(&maps, &map)) > 0) {
		if (strcmp(map.name, "[vdso]") != 0)
			continue;
		*ret_size = map.end - map.start;
		*ret = malloc(*ret_size);
		if (!*ret)
			return -ENOMEM;
		memcpy(*ret, (const void *)map.start, *ret_size);
		return 0;
	}
	return err < 0 ? err : -ENOENT;
}

/* The binary of the vDSO is in the module's memory, so loading it never waits. */
static int make_vdso(struct binary_store *store, struct binary **ret)
{
	_cleanup_free_ void *copy = NULL;
	struct binary *b;
	size_t size;
	int err;

	err = copy_vdso(&copy, &size);
	if (err < 0)
		return err;
	store->vdso_tried = true;
	b = binary_new(store, "[vdso]");
	if (!b)
		return -ENOMEM;
	b->module->memory = steal_ptr(copy);
	b->module->memory_size = size;
	return binary_load(store, b, 0, -1, NULL, ret);
}

int binary_store_get_vdso(struct binary_store *store, struct binary **ret)
{
	int err;

	if (store->vdso) {
		load_again(store, store->vdso);
		*ret = store->vdso;
		return 0;
	}
	if (store->vdso_tried)
		return -ENOEXEC;
	err = make_vdso(store, &store->vdso);
	if (err == 0)
		*ret = store->vdso;
	return err;
}
