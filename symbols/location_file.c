// SPDX-License-Identifier: Apache-2.0
#include "symbols/location_file.h"

#include <assert.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "cache/kept_file.h"

/* The specific part of the key: the file is usable only if all of this is equal. */
struct origin {
	char libdw[16];    /* its version */
	uint64_t demangle; /* enum names_demangle */
	uint64_t no_inlines, no_lines;
	uint64_t zero;
};

/* The file's sections. */
enum { ADDRESSES, LOCATIONS, NAMES };

struct address {
	uint64_t address;
	uint32_t n_locations;
	uint32_t lines;
};

/* Names are offsets from the first one; 0: no name. */
struct kept_location {
	uint32_t function, file;
	uint32_t line;
	uint32_t column; /* with the bit INLINED */
};

#define INLINED (UINT32_C(1) << 31)

static_assert(sizeof(struct origin) == sizeof(((struct kept_key *)NULL)->own), "fits");
static_assert(KEPT_N_SECTIONS == NAMES + 1, "all are used");

/* Returns the file's name, and the key that it must have. */
static int describe(const struct disk_cache *disk, const struct names_options *options,
		    const char *build_id, int fd, struct kept_key *ret, char *ret_name)
{
	struct origin origin = {
		.demangle = options->demangle,
		.no_inlines = options->no_inlines,
		.no_lines = options->no_lines,
	};
	int err = kept_key_init(ret, disk, "names", LOCATION_FILE_VERSION, build_id, fd);

	if (err < 0)
		return err;
	snprintf(origin.libdw, sizeof(origin.libdw), "%s", dwfl_version(NULL));
	memcpy(ret->own, &origin, sizeof(origin));
	snprintf(ret_name, DISK_CACHE_NAME_SIZE,
		 "%s-%" PRIx64 "-v%d-%" PRIu64 "%" PRIu64 "%" PRIu64 DISK_CACHE_LOCATIONS,
		 ret->build_id, ret->source.inode, LOCATION_FILE_VERSION, origin.demangle,
		 origin.no_inlines, origin.no_lines);
	return 0;
}

/* The sections that were read. */
struct body {
	const struct address *addresses;
	const struct kept_location *locations;
	const char *names;
	uint64_t n_addresses, n_locations, names_size;
};

/* False: the sections' sizes are invalid. */
static bool body_init(struct body *ret, const struct iovec *sections)
{
	const struct iovec *addresses = &sections[ADDRESSES], *locations = &sections[LOCATIONS];

	*ret = (struct body){
		.addresses = addresses->iov_base,
		.locations = locations->iov_base,
		.names = sections[NAMES].iov_base,
		.n_addresses = addresses->iov_len / sizeof(struct address),
		.n_locations = locations->iov_len / sizeof(struct kept_location),
		.names_size = sections[NAMES].iov_len,
	};
	return addresses->iov_len % sizeof(struct address) == 0 &&
	       locations->iov_len % sizeof(struct kept_location) == 0 &&
	       ret->n_addresses <= LOCATION_CACHE_MAX;
}

static bool is_sound(const struct body *b)
{
	uint64_t n = 0;

	if (b->names_size == 0 || b->names[b->names_size - 1] != '\0')
		return false;
	for (uint64_t i = 0; i < b->n_addresses; i++) {
		if (b->addresses[i].n_locations > LOCATION_MAX || b->addresses[i].lines > 1)
			return false;
		n += b->addresses[i].n_locations;
	}
	for (uint64_t i = 0; i < b->n_locations; i++)
		if (b->locations[i].function >= b->names_size ||
		    b->locations[i].file >= b->names_size)
			return false;
	return n == b->n_locations;
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

static int add_all(const struct iovec *sections, struct location_cache *locations)
{
	const struct kept_location *kept;
	struct body b;
	int err = 0;

	if (!body_init(&b, sections) || !is_sound(&b))
		return -EBADMSG;
	kept = b.locations;
	for (uint64_t i = 0; err == 0 && i < b.n_addresses; i++) {
		err = add_address(&b, &b.addresses[i], kept, locations);
		kept += b.addresses[i].n_locations;
	}
	return err;
}

int location_file_read(const struct disk_cache *disk, const struct names_options *options,
		       const char *build_id, int fd, struct location_cache *locations)
{
	_cleanup_(kept_file_done) struct kept_file file = { 0 };
	char name[DISK_CACHE_NAME_SIZE];
	struct kept_key key;
	int err = describe(disk, options, build_id, fd, &key, name);

	if (err == 0)
		err = kept_file_read(disk, name, &key, &file);
	return err == 0 ? add_all(file.sections, locations) : err;
}

/* A name that was already written, by its address in memory: each has a single copy. */
struct met {
	UT_hash_handle hh;
	const char *name;
	uint32_t at;
};

/* The sections being written. */
struct writer {
	struct address *addresses;
	struct kept_location *locations;
	char *names;
	size_t n_addresses, addresses_size, n_locations, locations_size, n_names, names_size;
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
		if (err == 0 && array_reserve(w->locations, w->n_locations, w->locations_size) < 0)
			err = -ENOMEM;
		if (err == 0)
			w->locations[w->n_locations++] = kept;
	}
	return err;
}

int location_file_write(struct disk_cache *disk, const struct names_options *options,
			const char *build_id, int fd, const struct location_cache *locations)
{
	_cleanup_(writer_done) struct writer w = { 0 };
	char name[DISK_CACHE_NAME_SIZE];
	struct kept_key key;
	int err = describe(disk, options, build_id, fd, &key, name);

	if (err < 0 || locations->n_entries == 0)
		return err;
	err = append_bytes(&w, "", 1);
	if (err == 0)
		err = location_cache_for_each(locations, write_address, &w);
	if (err < 0)
		return err;
	return kept_file_write(
		disk, name, &key,
		(struct iovec[KEPT_N_SECTIONS]){
			[ADDRESSES] = { w.addresses, w.n_addresses * sizeof(*w.addresses) },
			[LOCATIONS] = { w.locations, w.n_locations * sizeof(*w.locations) },
			[NAMES] = { w.names, w.n_names },
		});
}
