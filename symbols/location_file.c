// SPDX-License-Identifier: Apache-2.0
#include "symbols/location_file.h"

#include <assert.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"

/* "dpplaces" in the machine's byte order: another machine's are not taken. */
#define MAGIC UINT64_C(0x736563616c707064)

/* What the locations are of: of use only where all of this is the same. */
struct origin {
	char maker[DISK_CACHE_ID_SIZE];    /* the program's own build id */
	char build_id[DISK_CACHE_ID_SIZE]; /* the binary's */
	char libdw[16];                    /* its version */
	struct disk_cache_source source;
	uint32_t demangle; /* enum names_demangle */
	uint32_t no_inlines, no_lines;
	uint32_t zero;
};

struct head {
	uint64_t magic;
	uint32_t version;
	uint32_t crc; /* CRC-32, as zlib's, of all that is behind it */
	uint64_t n_addresses, n_locations, names_size;
	struct origin origin;
};

struct address {
	uint64_t address;
	uint32_t n_locations;
	uint32_t lines;
};

/* Names are bytes from the first one's start; at 0 there is none. */
struct kept_location {
	uint32_t function, file;
	uint32_t line;
	uint32_t column; /* INLINED is a bit of it */
};

#define INLINED (UINT32_C(1) << 31)

static_assert(sizeof(struct origin) == 2 * DISK_CACHE_ID_SIZE + 64, "no padding");
static_assert(sizeof(struct head) == 40 + sizeof(struct origin), "no padding");

/* The file's name, and what it is to be of. */
static int describe(const struct disk_cache *disk, const struct names_options *options,
		    const char *build_id, int fd, struct origin *ret, char *ret_name)
{
	int err;

	*ret = (struct origin){
		.demangle = options->demangle,
		.no_inlines = options->no_inlines,
		.no_lines = options->no_lines,
	};
	err = disk_cache_source(fd, &ret->source);
	if (err < 0)
		return err;
	snprintf(ret->maker, sizeof(ret->maker), "%s", disk->maker);
	snprintf(ret->build_id, sizeof(ret->build_id), "%s", build_id);
	snprintf(ret->libdw, sizeof(ret->libdw), "%s", dwfl_version(NULL));
	snprintf(ret_name, DISK_CACHE_NAME_SIZE, "%s-%" PRIx64 "-v%d-%u%u%u" DISK_CACHE_LOCATIONS,
		 ret->build_id, ret->source.inode, LOCATION_FILE_VERSION, ret->demangle,
		 ret->no_inlines, ret->no_lines);
	return 0;
}

static uint32_t checksum(const struct head *head, const void *rest, size_t size)
{
	const size_t from = offsetof(struct head, crc) + sizeof(head->crc);
	uLong crc = crc32_z(0, (const Bytef *)head + from, sizeof(*head) - from);

	return (uint32_t)crc32_z(crc, rest, size);
}

/* What is behind the head, as it was read. */
struct body {
	const struct address *addresses;
	const struct kept_location *locations;
	const char *names;
	uint64_t names_size;
};

/* Bytes behind the head; none if the numbers make no sense. */
static uint64_t body_size(const struct head *head)
{
	const uint64_t max = UINT32_MAX;

	if (head->n_addresses > LOCATION_CACHE_MAX || head->n_locations > max ||
	    head->names_size > max)
		return 0;
	return head->n_addresses * sizeof(struct address) +
	       head->n_locations * sizeof(struct kept_location) + head->names_size;
}

static bool is_sound(const struct head *head, const struct body *b)
{
	uint64_t n = 0;

	if (b->names_size == 0 || b->names[b->names_size - 1] != '\0')
		return false;
	for (uint64_t i = 0; i < head->n_addresses; i++) {
		if (b->addresses[i].n_locations > LOCATION_MAX || b->addresses[i].lines > 1)
			return false;
		n += b->addresses[i].n_locations;
	}
	for (uint64_t i = 0; i < head->n_locations; i++)
		if (b->locations[i].function >= b->names_size ||
		    b->locations[i].file >= b->names_size)
			return false;
	return n == head->n_locations;
}

static int add_address(const struct body *b, const struct address *a,
		       const struct kept_location *kept, struct location_cache *locations)
{
	struct source_location shown[LOCATION_MAX];

	for (uint32_t i = 0; i < a->n_locations; i++)
		shown[i] = (struct source_location){
			.function = kept[i].function ? b->names + kept[i].function : NULL,
			.file = kept[i].file ? b->names + kept[i].file : NULL,
			.line = kept[i].line,
			.column = kept[i].column & ~INLINED,
			.inlined = kept[i].column & INLINED,
		};
	return location_cache_add_shown(locations, a->address, a->lines, shown, a->n_locations);
}

static int add_all(const struct head *head, const void *bytes, struct location_cache *locations)
{
	const struct address *addresses = bytes;
	const struct kept_location *kept = (const void *)(addresses + head->n_addresses);
	const struct body b = { addresses, kept, (const char *)(kept + head->n_locations),
				head->names_size };
	int err = 0;

	if (!is_sound(head, &b))
		return -EBADMSG;
	for (uint64_t i = 0; err == 0 && i < head->n_addresses; i++) {
		err = add_address(&b, &addresses[i], kept, locations);
		kept += addresses[i].n_locations;
	}
	return err;
}

int location_file_read(const struct disk_cache *disk, const struct names_options *options,
		       const char *build_id, int fd, struct location_cache *locations)
{
	char name[DISK_CACHE_NAME_SIZE];
	_cleanup_close_ int file = -1;
	_cleanup_free_ void *bytes = NULL;
	struct origin origin;
	struct head head;
	uint64_t size;
	int err = describe(disk, options, build_id, fd, &origin, name);

	if (err < 0)
		return err;
	file = disk_cache_open_file(disk, name, &size);
	if (file < 0)
		return file;
	err = disk_cache_read(file, &head, sizeof(head), 0);
	if (err < 0)
		return err;
	if (head.magic != MAGIC || head.version != LOCATION_FILE_VERSION ||
	    memcmp(&head.origin, &origin, sizeof(origin)) != 0)
		return -ESTALE;
	if (body_size(&head) == 0 || size - sizeof(head) != body_size(&head))
		return -EBADMSG;
	size -= sizeof(head);
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	err = disk_cache_read(file, bytes, size, sizeof(head));
	if (err == 0 && head.crc != checksum(&head, bytes, size))
		err = -EBADMSG;
	if (err == 0)
		err = add_all(&head, bytes, locations);
	if (err == 0)
		disk_cache_used(file);
	return err;
}

/* A name that was met, by where it is in memory: of each there is one copy. */
struct met {
	UT_hash_handle hh;
	const char *name;
	uint32_t at;
};

/* What will be behind the head. */
struct writer {
	struct address *addresses;
	struct kept_location *locations;
	char *names;
	size_t n_addresses, addresses_size, n_locations, places_size, n_names, names_size;
	struct met *met;
};

static void writer_done(struct writer *w)
{
	struct met *m, *next;

	HASH_ITER(hh, w->met, m, next) {
		HASH_DEL(w->met, m);
		free(m);
	}
	free(w->addresses);
	free(w->locations);
	free(w->names);
}

static int append_bytes(struct writer *w, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (array_reserve(w->names, w->n_names, w->names_size) < 0)
			return -ENOMEM;
		w->names[w->n_names++] = bytes[i];
	}
	return 0;
}

static int add_name(struct writer *w, const char *name, uint32_t *ret)
{
	struct met *m;
	int err;

	*ret = 0;
	if (!name)
		return 0;
	HASH_FIND_PTR(w->met, &name, m);
	if (!m) {
		m = calloc(1, sizeof(*m));
		if (!m)
			return -ENOMEM;
		m->name = name;
		m->at = (uint32_t)w->n_names;
		HASH_ADD_PTR(w->met, name, m);
		if (!HASH_IS_ADDED(hh, m)) {
			free(m);
			return -ENOMEM;
		}
		err = append_bytes(w, name, strlen(name) + 1);
		if (err == 0 && w->n_names > UINT32_MAX)
			err = -EFBIG;
		if (err < 0)
			return err;
	}
	*ret = m->at;
	return 0;
}

static int write_address(void *arg, uint64_t address, bool lines,
			 const struct source_location *locations, size_t n)
{
	struct writer *w = arg;
	int err = 0;

	if (array_reserve(w->addresses, w->n_addresses, w->addresses_size) < 0)
		return -ENOMEM;
	w->addresses[w->n_addresses++] = (struct address){ address, (uint32_t)n, lines };
	for (size_t i = 0; err == 0 && i < n; i++) {
		struct kept_location kept = { .line = locations[i].line,
					      .column = locations[i].column & ~INLINED };

		if (locations[i].inlined)
			kept.column |= INLINED;
		err = add_name(w, locations[i].function, &kept.function);
		if (err == 0)
			err = add_name(w, locations[i].file, &kept.file);
		if (err == 0 && array_reserve(w->locations, w->n_locations, w->places_size) < 0)
			err = -ENOMEM;
		if (err == 0)
			w->locations[w->n_locations++] = kept;
	}
	return err;
}

static int put(struct disk_cache *disk, const char *name, const struct origin *origin,
	       const struct writer *w)
{
	struct head head = {
		.magic = MAGIC,
		.version = LOCATION_FILE_VERSION,
		.n_addresses = w->n_addresses,
		.n_locations = w->n_locations,
		.names_size = w->n_names,
		.origin = *origin,
	};
	_cleanup_free_ char *rest = malloc(body_size(&head));
	char *to = rest;

	if (!rest)
		return -ENOMEM;
	to = mempcpy(to, w->addresses, w->n_addresses * sizeof(*w->addresses));
	if (w->n_locations > 0)
		to = mempcpy(to, w->locations, w->n_locations * sizeof(*w->locations));
	memcpy(to, w->names, w->n_names);
	head.crc = checksum(&head, rest, body_size(&head));
	return disk_cache_put(
		disk, name, (struct iovec[]){ { &head, sizeof(head) }, { rest, body_size(&head) } },
		2);
}

int location_file_write(struct disk_cache *disk, const struct names_options *options,
			const char *build_id, int fd, const struct location_cache *locations)
{
	_cleanup_(writer_done) struct writer w = { 0 };
	char name[DISK_CACHE_NAME_SIZE];
	struct origin origin;
	int err = describe(disk, options, build_id, fd, &origin, name);

	if (err < 0 || locations->n_entries == 0)
		return err;
	err = append_bytes(&w, "", 1);
	if (err == 0)
		err = location_cache_for_each(locations, write_address, &w);
	return err == 0 ? put(disk, name, &origin, &w) : err;
}
