// SPDX-License-Identifier: Apache-2.0
#include "binaries/binary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "kernel/proc_maps.h"
#include "log/clock.h"
#include "log/log.h"

static void binary_free(struct binary *binary)
{
	if (!binary)
		return;
	if (binary->elf.elf)
		elf_file_done(&binary->elf);
	module_free(binary->module); /* whose memory the vDSO's is */
	free(binary);
}

DEFINE_CLEANUP(struct binary *, binary_free)

void binary_store_init(struct binary_store *store, struct pool *pool, struct names *names)
{
	*store = (struct binary_store){ .names = names };
	table_store_init(&store->tables, pool);
}

void binary_hold(struct binary *b)
{
	if (!b)
		return;
	b->n_users++;
	table_hold(b->table);
}

void binary_drop(struct binary *b)
{
	if (!b)
		return;
	b->n_users--;
	table_drop(b->table);
}

void binary_store_done(struct binary_store *store)
{
	struct binary *b, *next;

	HASH_CLEAR(by_build_id, store->originals);
	HASH_ITER(hh, store->binaries, b, next) {
		HASH_DEL(store->binaries, b);
		binary_free(b);
	}
	while ((b = store->closed) != NULL) {
		store->closed = b->next_closed;
		binary_free(b);
	}
	binary_free(store->vdso);
	table_store_done(&store->tables);
}

/* Tables are made again for so long, or one of them, before the rings are looked at again. */
#define MAKE_NS UINT64_C(5000000)

/*
 * A binary that nobody maps is kept for a while, as it may be started again;
 * but no more than so many.
 */
#define IDLE_NS (60 * UINT64_C(1000000000))
#define MAX_IDLE 512
#define LOOK_NS UINT64_C(1000000000)

/* Code of more bytes than this has its unwind information written out. */
#define MAX_KNOWN_CODE (64 << 10)

/* Is the code the same that gets rules by its bytes? */
static bool is_same_code(const struct image_extent *a, const struct image_extent *b)
{
	if (a->n_ranges != b->n_ranges)
		return false;
	for (size_t i = 0; i < a->n_ranges; i++) {
		const struct code_range *x = &a->ranges[i], *y = &b->ranges[i];

		if (x->address != y->address || x->size != y->size)
			return false;
		/* Of Go's code, any function may load the stack pointer, and is read then. */
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
 * Does the same table come of both? A build id stays the same when a file is
 * changed afterwards, and anyone can write one: what the table is made of is
 * compared, which is quick beside making it.
 */
static bool is_same_table(const struct elf_file *a, const struct elf_file *b)
{
	return is_same_section(&a->cfi, &b->cfi) &&
	       is_same_section(&a->code.beside, &b->code.beside) &&
	       is_same_go(&a->code.go, &b->code.go) && is_same_code(&a->code, &b->code);
}

/* What tells the file apart, and when anything of it was last changed. */
static int file_identify(int fd, struct file_id *ret, uint64_t *ret_changed_ns)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	memset(ret, 0, sizeof(*ret));
	ret->device = st.st_dev;
	ret->inode = st.st_ino;
	ret->size = (uint64_t)st.st_size;
	ret->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	*ret_changed_ns = (uint64_t)st.st_ctim.tv_sec * 1000000000 + (uint64_t)st.st_ctim.tv_nsec;
	return 0;
}

/* Put a table back into the pool, where it has room. */
static void table_fill_again(struct binary_store *store, struct table *t)
{
	struct table_store *tables = &store->tables;
	_cleanup_(image_done) struct image image = { 0 };
	uint64_t start = clock_now_ns();
	const struct binary *b = t->binary;
	struct disk_cache *cache = store->cache;
	struct file_id id = b->id;
	uint64_t changed_ns = 0;
	int err = 0;

	/* What was found out about a file may not be true of a changed one: keep nothing of it. */
	if (b->module->fd >= 0)
		err = file_identify(b->module->fd, &id, &changed_ns);
	if (changed_ns != b->changed_ns)
		cache = NULL;
	if (err == 0)
		err = image_cache_get(cache, &b->elf, b->module->fd, &image);
	/* Nor is one that was written to what processes have mapped. */
	t->is_lost = err != -ENOMEM && (err < 0 || image.n_cells != t->n_cells ||
					memcmp(&id, &b->id, sizeof(id)) != 0);
	if (err < 0 || t->is_lost) {
		table_give_room_back(tables, t);
		return;
	}
	table_fill(tables, t, image.cells, clock_now_ns() - start);
	log_debug("%s: its table is back, %.1f ms", b->module->path, (double)t->made_in / 1e6);
}

/* A process maps a binary that is known: its table may have gone meanwhile. */
static void binary_load_again(struct binary_store *store, struct binary *b)
{
	struct table *t = b->table;

	table_use(t, clock_now_ns());
	if (t && table_may_be_made(&store->tables, t) && table_find_room(&store->tables, t) == 0)
		table_fill_again(store, t);
}

/* Copies of it live on, whose table is made of it. */
static bool is_needed_by_copies(const struct binary *b)
{
	return b->table && b->table->binary == b && b->table->n_binaries > 1;
}

static void binary_let_go(struct binary_store *store, struct binary *b)
{
	struct binary *original;

	HASH_DEL(store->binaries, b);
	HASH_FIND(by_build_id, store->originals, b->elf.build_id, sizeof(b->elf.build_id),
		  original);
	if (original == b)
		HASH_DELETE(by_build_id, store->originals, b);
	if (b->table && --b->table->n_binaries == 0)
		table_free(&store->tables, b->table);
	b->table = NULL;
	if (!b->is_sampled) {
		binary_free(b);
		return;
	}
	elf_file_close(&b->elf);
	b->closed_ns = clock_now_ns();
	b->next_closed = store->closed;
	store->closed = b;
	/* Without memory for the message, or after a report has failed, it stays open. */
	if (store->users)
		(void)store->users->close(store->users->arg, b->module);
	else
		module_close(b->module, store->symbols);
}

static void free_object(void *object)
{
	binary_free(object);
}

/* Those that no report refers to any more: the first of them, and all that were let go before it. */
static void free_closed(struct binary_store *store)
{
	const struct module_users *users = store->users;
	struct binary **at = &store->closed, *b;
	uint64_t oldest = users && *at ? users->oldest_ns(users->arg) : 0;

	while ((b = *at) != NULL && b->closed_ns >= oldest)
		at = &b->next_closed;
	while ((b = *at) != NULL) {
		struct binary *next = b->next_closed;

		if (users->release(users->arg, free_object, b) < 0)
			return;
		*at = next;
	}
}

/* The hash keeps its order: the oldest ones come first. */
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
		    (n_idle <= MAX_IDLE && b->idle_from + IDLE_NS > time))
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
	while (clock_now_ns() < end && (t = table_store_next(&store->tables)) != NULL)
		table_fill_again(store, t);
}

static void log_table(const struct binary *b, const struct image *image, uint64_t took, bool cached)
{
	log_debug("%s: %" PRIu64 " rows, %zu bytes, %.1f ms%s", b->module->path,
		  image->stats.n_rows, (size_t)image->n_cells * DP_CELL_SIZE, (double)took / 1e6,
		  cached ? ", from the cache" : "");
	for (int i = RULE_NONE + 1; i < RULE_N_REFUSALS; i++)
		if (image->stats.refused[i].rows > 0)
			log_debug("%s: %" PRIu64 " rows (%" PRIu64 " bytes of code) refused: %s",
				  b->module->path, image->stats.refused[i].rows,
				  image->stats.refused[i].bytes, rule_refusal_sentence(i));
}

static void log_no_room(struct binary_store *store, const struct binary *b)
{
	if (!store->has_warned)
		log_warning("no room for all tables: some stacks will end with table_evicted, or "
			    "fewer with more --table-memory");
	store->has_warned = true;
	log_debug("%s: no room for its table, of %zu bytes", b->module->path,
		  (size_t)b->table->n_cells * DP_CELL_SIZE);
}

/*
 * Build the table and put it into the pool. A binary without unwind information,
 * or with too much, is no error: it still has names.
 */
static int binary_load(struct binary_store *store, struct binary *b)
{
	_cleanup_(image_done) struct image image = { 0 };
	uint64_t start = clock_now_ns(), took;
	struct binary *original;
	bool cached;
	int err;

	HASH_FIND(by_build_id, store->originals, b->elf.build_id, sizeof(b->elf.build_id),
		  original);
	if (original && is_same_table(&b->elf, &original->elf)) {
		b->table = original->table;
		b->table->n_binaries++;
		log_debug("%s: the same as %s", b->module->path, original->module->path);
		binary_load_again(store, b);
		return 0;
	}
	err = image_cache_get(store->cache, &b->elf, b->module->fd, &image);
	cached = err > 0;
	if (err == -ENODATA) {
		log_debug("%s has no unwind information", b->module->path);
		return 0;
	}
	if (err == -EFBIG) {
		log_warning("no table for %s, which still has names: %s", b->module->path,
			    strerror(-err));
		return 0;
	}
	took = clock_now_ns() - start;
	if (err >= 0)
		err = table_new(&store->tables, b, image.n_cells, took, &b->table);
	if (err < 0)
		return err;
	if (b->elf.build_id[0] != '\0' && !original)
		HASH_ADD(by_build_id, store->originals, elf.build_id, sizeof(b->elf.build_id), b);
	store->n_rows += image.stats.n_rows;
	store->n_cells += image.n_cells;
	if (table_find_room(&store->tables, b->table) == 0)
		table_fill(&store->tables, b->table, image.cells, took);
	else
		log_no_room(store, b);
	log_table(b, &image, took, cached);
	return 0;
}

bool binary_store_is_cancelled(const struct binary_store *store)
{
	return store->is_interrupted && store->is_interrupted(store->interrupt_arg);
}

int binary_store_get(struct binary_store *store, int fd, const char *path, struct binary **ret)
{
	_cleanup_(binary_freep) struct binary *b = NULL;
	_cleanup_close_ int own = fd;
	struct binary *known;
	struct file_id id;
	uint64_t changed_ns;
	int err;

	err = file_identify(fd, &id, &changed_ns);
	if (err < 0)
		return err;
	HASH_FIND(hh, store->binaries, &id, sizeof(id), known);
	if (known) {
		binary_load_again(store, known);
		*ret = known;
		return 0;
	}
	if (binary_store_is_cancelled(store))
		return -ECANCELED;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->id = id;
	b->number = ++store->n_known;
	b->changed_ns = changed_ns;
	err = elf_file_init_fd(&b->elf, own);
	if (err < 0)
		return err;
	b->module = module_new(store->names, path, b->elf.build_id, steal_fd(&own));
	if (!b->module)
		return -ENOMEM;
	HASH_ADD(hh, store->binaries, id, sizeof(id), b);
	if (!HASH_IS_ADDED(hh, b))
		return -ENOMEM;
	err = binary_load(store, b);
	if (err < 0) {
		HASH_DEL(store->binaries, b);
		return err;
	}
	*ret = steal_ptr(b);
	return 0;
}

/* While its descriptor is held, no other file of its file system gets its inode. */
struct binary *binary_store_find(const struct binary_store *store, uint64_t inode, const char *path)
{
	struct file_id id;
	struct binary *b, *next;
	uint64_t changed_ns;

	HASH_ITER(hh, store->binaries, b, next)
		if (b->id.inode == inode && strcmp(b->module->path, path) == 0 &&
		    file_identify(b->module->fd, &id, &changed_ns) == 0 &&
		    memcmp(&id, &b->id, sizeof(id)) == 0)
			return b;
	return NULL;
}

/* Copy this process's own vDSO. */
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

/* Of a copy of it, which is the module's from here on. */
static int make_vdso(struct binary_store *store, struct binary **ret)
{
	_cleanup_free_ void *copy = NULL; /* which *b reads, and so goes after it */
	_cleanup_(binary_freep) struct binary *b = calloc(1, sizeof(*b));
	size_t size;
	int err;

	if (!b)
		return -ENOMEM;
	err = copy_vdso(&copy, &size);
	if (err < 0)
		return err;
	store->vdso_tried = true;
	err = elf_file_init_memory(&b->elf, copy, size);
	if (err < 0)
		return err;
	b->module = module_new(store->names, "[vdso]", b->elf.build_id, -1);
	if (!b->module)
		return -ENOMEM;
	b->module->memory = steal_ptr(copy);
	b->module->memory_size = size;
	err = binary_load(store, b);
	if (err < 0)
		return err;
	*ret = steal_ptr(b);
	return 0;
}

int binary_store_get_vdso(struct binary_store *store, struct binary **ret)
{
	int err;

	if (store->vdso) {
		binary_load_again(store, store->vdso);
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
