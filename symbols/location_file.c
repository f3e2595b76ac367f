// SPDX-License-Identifier: Apache-2.0
#include "symbols/location_file.h"

#include <assert.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbols/location_list.h"

/* The specific part of the key: the file is usable only if all of this is equal. */
struct origin {
	char libdw[16];    /* its version */
	uint64_t demangle; /* enum names_demangle */
	uint64_t no_inlines, no_lines;
	uint64_t zero;
};

static_assert(sizeof(struct origin) == sizeof(((struct cached_key *)NULL)->own), "fits");
static_assert(CACHED_N_SECTIONS == LOCATION_N_SECTIONS, "all are used");

/* Returns the file's name, and the key that it must have. */
static int describe(struct disk_cache *disk, const struct names_options *options,
		    const struct cached_source *source, struct cached_key *ret, char *ret_name)
{
	struct origin origin = {
		.demangle = options->demangle,
		.no_inlines = options->no_inlines,
		.no_lines = options->no_lines,
	};
	struct stored_file file;
	char suffix[32];
	int err = cached_key_init(ret, disk, "names", LOCATION_FILE_VERSION, source, &file);

	if (err < 0)
		return err;
	snprintf(origin.libdw, sizeof(origin.libdw), "%s", dwfl_version(NULL));
	memcpy(ret->own, &origin, sizeof(origin));
	snprintf(suffix, sizeof(suffix), "-%u%u%u" DISK_CACHE_LOCATIONS, options->demangle,
		 options->no_inlines, options->no_lines);
	cached_key_name(ret, suffix, ret_name);
	return 0;
}

int location_file_read(struct disk_cache *disk, const struct names_options *options,
		       const struct cached_source *source, struct location_cache *locations)
{
	_cleanup_(cached_file_done) struct cached_file file = { 0 };
	struct cached_source known = *source;
	char name[DISK_CACHE_NAME_SIZE];
	struct cached_key key;
	int err;

	/* Of most binaries there are no names, as these are looked up fast. */
	known.is_costly = true;
	err = describe(disk, options, &known, &key, name);

	if (err == 0)
		err = cached_file_read(disk, name, &key, &file);
	return err == 0 ? location_list_read(file.sections, LOCATION_LINES, locations) : err;
}

static int write_address(void *arg, uint64_t address, bool lines,
			 const struct source_location *locations, size_t n)
{
	return location_list_add(arg, address, lines ? LOCATION_LINES : 0, locations, n);
}

int location_file_write(struct disk_cache *disk, const struct names_options *options,
			const struct cached_source *source, const struct location_cache *locations)
{
	_cleanup_(location_list_done) struct location_list list = { 0 };
	struct iovec sections[CACHED_N_SECTIONS];
	char name[DISK_CACHE_NAME_SIZE];
	struct cached_key key;
	struct cached_source lasting = *source;
	int err;

	lasting.must_last = true;
	err = describe(disk, options, &lasting, &key, name);
	if (err < 0 || locations->n_entries == 0)
		return err;
	err = location_cache_for_each(locations, write_address, &list);
	if (err < 0)
		return err;
	location_list_sections(&list, sections);
	return cached_file_write(disk, name, &key, sections);
}
