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
enum { ADDRESSES, LOCATIONS, NAMES, SOURCES };

/* A file that the names were made of. */
struct kept_source {
	struct file_version version;
	uint64_t path; /* offset in names; 0: the binary */
};

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

static_assert(sizeof(struct kept_source) == sizeof(struct digest) + 8 * 8, "no padding");
static_assert(sizeof(struct origin) == sizeof(((struct kept_key *)NULL)->own), "fits");
static_assert(KEPT_N_SECTIONS == SOURCES + 1, "all are used");

/* Returns the file's name, and the key that it must have. */
static void describe(const struct disk_cache *disk, const struct names_options *options,
		     const struct location_place *place, struct kept_key *ret, char *ret_name)
{
	const struct digest path = digest_of(place->path, strlen(place->path));
	struct origin origin = {
		.demangle = options->demangle,
		.no_inlines = options->no_inlines,
		.no_lines = options->no_lines,
	};
	uint64_t number;

	kept_key_init(ret, disk, "names", LOCATION_FILE_VERSION, &path);
	snprintf(origin.libdw, sizeof(origin.libdw), "%s", dwfl_version(NULL));
	memcpy(ret->own, &origin, sizeof(origin));
	memcpy(&number, path.bytes, sizeof(number));
	snprintf(ret_name, DISK_CACHE_NAME_SIZE,
		 "%s-%016" PRIx64 "-v%d-%" PRIu64 "%" PRIu64 "%" PRIu64 DISK_CACHE_LOCATIONS,
		 place->build_id, number, LOCATION_FILE_VERSION, origin.demangle, origin.no_inlines,
		 origin.no_lines);
}

/* The sections that were read. */
struct body {
	const struct address *addresses;
	const struct kept_location *locations;
	const char *names;
	struct kept_source *sources;
	uint64_t n_addresses, n_locations, names_size, n_sources;
};

/* False: the sections' sizes are invalid. */
static bool body_init(struct body *ret, const struct iovec *sections)
{
	const struct iovec *addresses = &sections[ADDRESSES], *locations = &sections[LOCATIONS];
	const struct iovec *sources = &sections[SOURCES];

	*ret = (struct body){
		.addresses = addresses->iov_base,
		.locations = locations->iov_base,
		.names = sections[NAMES].iov_base,
		.n_addresses = addresses->iov_len / sizeof(struct address),
		.n_locations = locations->iov_len / sizeof(struct kept_location),
		.names_size = sections[NAMES].iov_len,
		.sources = sources->iov_base,
		.n_sources = sources->iov_len / sizeof(struct kept_source),
	};
	return addresses->iov_len % sizeof(struct address) == 0 &&
	       locations->iov_len % sizeof(struct kept_location) == 0 &&
	       sources->iov_len % sizeof(struct kept_source) == 0 &&
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
	for (uint64_t i = 0; i < b->n_sources; i++)
		if (b->sources[i].path >= b->names_size)
			return false;
	return n == b->n_locations && b->n_sources > 0 && b->sources[0].path == 0;
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

static int add_all(const struct body *b, struct name_files *files, struct location_cache *locations)
{
	const struct kept_location *kept = b->locations;
	int err = 0;

	for (uint64_t i = 0; i < b->n_sources; i++)
		name_files_add_kept(files, b->names + b->sources[i].path, &b->sources[i].version);
	for (uint64_t i = 0; err == 0 && i < b->n_addresses; i++) {
		err = add_address(b, &b->addresses[i], kept, locations);
		kept += b->addresses[i].n_locations;
	}
	return err;
}

/* Whether a file has the bytes that the names were made of. */
static bool is_unchanged(struct kept_source *source, const char *path, int binary,
			 const struct name_files *files)
{
	_cleanup_close_ int fd = -1;

	if (source->path == 0)
		return name_file_is_same(files, binary, &source->version);
	fd = name_file_open(path);
	return fd >= 0 && name_file_is_same(files, fd, &source->version);
}

/* Whether all files are; *ret_moved: one has another identity now. */
static bool are_unchanged(const struct body *b, int binary, const struct name_files *files,
			  bool *ret_moved)
{
	*ret_moved = false;
	for (uint64_t i = 0; i < b->n_sources; i++) {
		struct kept_source *source = &b->sources[i];
		struct file_identity *now = &source->version.identity, before = *now;

		if (!is_unchanged(source, b->names + source->path, binary, files))
			return false;
		*ret_moved |= memcmp(&before, now, sizeof(before)) != 0;
	}
	return true;
}

int location_file_read(struct disk_cache *disk, const struct names_options *options,
		       const struct location_place *place, struct name_files *files,
		       struct location_cache *locations)
{
	_cleanup_(kept_file_done) struct kept_file file = { 0 };
	char name[DISK_CACHE_NAME_SIZE];
	struct kept_key key;
	struct body b;
	bool moved;
	int err;

	describe(disk, options, place, &key, name);
	err = kept_file_read(disk, name, &key, &file);
	if (err < 0)
		return err;
	if (!body_init(&b, file.sections) || !is_sound(&b))
		return -EBADMSG;
	if (!are_unchanged(&b, place->fd, files, &moved))
		return -ESTALE;
	/* The next run need not hash them. */
	if (moved)
		(void)kept_file_write(disk, name, &key, file.sections);
	return add_all(&b, files, locations);
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
	struct kept_source *sources;
	size_t n_addresses, addresses_size, n_locations, locations_size, n_names, names_size;
	size_t n_sources;
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
	free(w->sources);
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

static int write_sources(struct writer *w, const struct name_files *files)
{
	int err = 0;

	w->sources = calloc(files->n, sizeof(*w->sources));
	if (!w->sources)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < files->n; i++) {
		const struct name_file *file = &files->list[i];
		uint32_t path = 0;

		if (file->path[0])
			err = add_name(w, file->path, &path);
		w->sources[w->n_sources++] = (struct kept_source){ file->version, path };
	}
	return err;
}

int location_file_write(struct disk_cache *disk, const struct names_options *options,
			const struct location_place *place, const struct name_files *files,
			const struct location_cache *locations)
{
	_cleanup_(writer_done) struct writer w = { 0 };
	char name[DISK_CACHE_NAME_SIZE];
	struct kept_key key;
	int err;

	if (locations->n_entries == 0)
		return 0;
	if (files->n == 0)
		return -ESTALE;
	describe(disk, options, place, &key, name);
	err = append_bytes(&w, "", 1);
	if (err == 0)
		err = write_sources(&w, files);
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
			[SOURCES] = { w.sources, w.n_sources * sizeof(*w.sources) },
		});
}
