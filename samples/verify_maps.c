// SPDX-License-Identifier: Apache-2.0
#include "samples/verify_maps.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "base/write_all.h"
#include "binaries/foreign_file.h"
#include "cache/stored_file.h"
#include "sandbox/process_user.h"

const struct verify_mapping *verify_maps_find(const struct verify_maps *maps, uint64_t address)
{
	size_t lo = 0, hi = maps->n_mappings;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (maps->mappings[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || address >= maps->mappings[lo - 1].end)
		return NULL;
	return &maps->mappings[lo - 1];
}

static void file_free(struct verify_file *file)
{
	if (file->is_foreign)
		foreign_file_close(file->fd);
	else if (file->fd >= 0)
		close(file->fd);
	free(file);
}

static void file_let_go(struct verify_file *file)
{
	binary_unpin(file->binary);
	file->binary = NULL;
}

static void file_drop(struct verify_maps_store *store, struct verify_file *file)
{
	if (--file->n_maps > 0)
		return;
	HASH_DEL(store->files, file);
	store->n_bytes -= file->n_bytes;
	file_let_go(file);
	file_free(file);
}

/* Without its bytes, libdwfl finds nothing in it. */
static void file_take_bytes(struct verify_file *file, const struct binary *b)
{
	if (!b->bytes)
		return;
	if (b->module->fd >= 0) {
		file->fd = fcntl(b->module->fd, F_DUPFD_CLOEXEC, 0);
		return;
	}
	/* libdwfl may keep what it has opened for longer than the file is known. */
	file->fd = memfd_create("memory", MFD_CLOEXEC);
	if (file->fd >= 0 && write_all(file->fd, b->bytes, b->n_bytes) < 0)
		close(steal_fd(&file->fd));
	if (file->fd >= 0)
		file->n_bytes += b->n_bytes;
}

/* What is in memory is the kernel's. */
static uid_t find_maker(const struct verify_file *file, const struct binary *b)
{
	struct stat st;

	if (file->fd < 0 || b->module->fd < 0)
		return 0;
	if (file->is_foreign || file_stat(file->fd, &st) < 0)
		return VERIFY_MAPS_ANYBODY;
	if (st.st_uid == 0 &&
	    ((st.st_mode & (S_IWGRP | S_IWOTH)) || stored_file_is_on_disk_of_user(file->fd)))
		return VERIFY_MAPS_ANYBODY;
	return st.st_uid;
}

static struct verify_file *file_new(struct binary *b)
{
	struct verify_file *file = calloc(1, sizeof(*file));
	const struct elf_segment *s = b->elf.segments;

	if (!file)
		return NULL;
	file->number = b->number;
	file->n_bytes = sizeof(*file);
	file->has_segments = b->elf.n_segments > 0;
	if (file->has_segments)
		file->start = s->align > 1 ? s->address & -s->align : s->address;
	file->fd = -1;
	file->is_foreign = b->is_foreign;
	file_take_bytes(file, b);
	file->maker = find_maker(file, b);
	file->binary = b;
	binary_pin(b);
	return file;
}

static struct verify_file *file_get(struct verify_maps_store *store, struct binary *b)
{
	struct verify_file *file;

	HASH_FIND(hh, store->files, &b->number, sizeof(b->number), file);
	if (!file) {
		file = file_new(b);
		if (!file)
			return NULL;
		HASH_ADD(hh, store->files, number, sizeof(file->number), file);
		if (!HASH_IS_ADDED(hh, file)) {
			file_let_go(file);
			file_free(file);
			return NULL;
		}
		store->n_bytes += file->n_bytes;
	}
	file->n_maps++;
	return file;
}

static size_t maps_size(const struct verify_maps *maps)
{
	return sizeof(*maps) + maps->n_mappings * sizeof(*maps->mappings);
}

static void maps_free(struct verify_maps_store *store, struct verify_maps *maps)
{
	for (size_t i = 0; i < maps->n_mappings; i++)
		if (maps->mappings[i].file)
			file_drop(store, maps->mappings[i].file);
	free(maps->mappings);
	free(maps);
}

static bool are_of_user(const struct verify_maps *maps, uid_t user)
{
	for (size_t i = 0; i < maps->n_mappings; i++) {
		const struct verify_file *file = maps->mappings[i].file;

		if (file && file->maker != 0 && file->maker != user)
			return false;
	}
	return true;
}

static struct verify_maps *maps_new(struct verify_maps_store *store,
				    const struct snapshot *snapshot)
{
	struct verify_maps *maps = calloc(1, sizeof(*maps));
	size_t n = snapshot->n_mappings;

	if (!maps)
		return NULL;
	maps->number = ++store->n_made;
	maps->pid = snapshot->pid;
	if (process_user(maps->pid, &maps->user) < 0)
		maps->user = VERIFY_MAPS_ANYBODY;
	maps->snapshot = snapshot->id;
	maps->mappings = calloc(n ? n : 1, sizeof(*maps->mappings));
	for (size_t i = 0; maps->mappings && i < n; i++) {
		const struct mapping *m = &snapshot->mappings[i];
		struct verify_mapping *to = &maps->mappings[i];

		*to = (struct verify_mapping){ .start = m->start, .end = m->end, .bias = m->bias };
		if (m->binary) {
			to->file = file_get(store, m->binary);
			to->module = m->binary->module;
			if (!to->file)
				break;
		}
		maps->n_mappings++;
	}
	if (!are_of_user(maps, maps->user))
		maps->user = VERIFY_MAPS_ANYBODY;
	if (maps->n_mappings == n && maps->mappings)
		return maps;
	maps_free(store, maps);
	return NULL;
}

static void forget(struct verify_maps_store *store, struct verify_maps *maps)
{
	DL_DELETE(store->kept, maps);
	store->n_kept--;
	HASH_DEL(store->maps, maps);
	store->n_bytes -= maps_size(maps);
	maps_free(store, maps);
}

static void keep(struct verify_maps_store *store, struct verify_maps *maps, uint64_t now_ns)
{
	maps->since_ns = now_ns;
	DL_APPEND(store->kept, maps);
	store->n_kept++;
	if (store->n_kept > VERIFY_MAPS_KEPT)
		forget(store, store->kept);
}

static struct verify_maps *add(struct verify_maps_store *store, const struct snapshot *snapshot)
{
	struct verify_maps *maps = maps_new(store, snapshot);

	if (!maps)
		return NULL;
	HASH_ADD(hh, store->maps, snapshot, sizeof(maps->snapshot), maps);
	if (!HASH_IS_ADDED(hh, maps)) {
		maps_free(store, maps);
		return NULL;
	}
	store->n_bytes += maps_size(maps);
	return maps;
}

const struct verify_maps *verify_maps_get(struct verify_maps_store *store,
					  const struct snapshot *snapshot)
{
	struct verify_maps *maps;

	HASH_FIND(hh, store->maps, &snapshot->id, sizeof(snapshot->id), maps);
	if (!maps) {
		maps = add(store, snapshot);
	} else if (maps->n_users == 0) {
		DL_DELETE(store->kept, maps);
		store->n_kept--;
	}
	if (maps)
		maps->n_users++;
	return maps;
}

void verify_maps_drop(struct verify_maps_store *store, const struct verify_maps *maps,
		      uint64_t now_ns)
{
	struct verify_maps *own;

	HASH_FIND(hh, store->maps, &maps->snapshot, sizeof(maps->snapshot), own);
	if (own && --own->n_users == 0)
		keep(store, own, now_ns);
}

void verify_maps_expire(struct verify_maps_store *store, uint64_t now_ns, uint64_t age_ns)
{
	while (store->kept && now_ns - store->kept->since_ns >= age_ns)
		forget(store, store->kept);
}

void verify_maps_let_go(struct verify_maps_store *store)
{
	struct verify_file *file, *next;

	HASH_ITER(hh, store->files, file, next)
		file_let_go(file);
}

void verify_maps_done(struct verify_maps_store *store)
{
	struct verify_maps *maps, *next;

	HASH_ITER(hh, store->maps, maps, next) {
		HASH_DEL(store->maps, maps);
		maps_free(store, maps);
	}
}
