// SPDX-License-Identifier: Apache-2.0
#include "symbols/location_file.h"

#include <assert.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cache/kept_file.h"
#include "symbols/location_list.h"

/* The specific part of the key: the file is usable only if all of this is equal. */
struct origin {
	char libdw[16];    /* its version */
	uint64_t demangle; /* enum names_demangle */
	uint64_t no_inlines, no_lines;
	uint64_t zero;
};

static_assert(sizeof(struct origin) == sizeof(((struct kept_key *)NULL)->own), "fits");
static_assert(KEPT_N_SECTIONS == LOCATION_N_SECTIONS, "all are used");

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

int location_file_read(const struct disk_cache *disk, const struct names_options *options,
		       const char *build_id, int fd, struct location_cache *locations)
{
	_cleanup_(kept_file_done) struct kept_file file = { 0 };
	char name[DISK_CACHE_NAME_SIZE];
	struct kept_key key;
	int err = describe(disk, options, build_id, fd, &key, name);

	if (err == 0)
		err = kept_file_read(disk, name, &key, &file);
	return err == 0 ? location_list_read(file.sections, LOCATION_LINES, locations) : err;
}

static int write_address(void *arg, uint64_t address, bool lines,
			 const struct source_location *locations, size_t n)
{
	return location_list_add(arg, address, lines ? LOCATION_LINES : 0, locations, n);
}

int location_file_write(struct disk_cache *disk, const struct names_options *options,
			const char *build_id, int fd, const struct location_cache *locations)
{
	_cleanup_(location_list_done) struct location_list list = { 0 };
	struct iovec sections[KEPT_N_SECTIONS];
	char name[DISK_CACHE_NAME_SIZE];
	struct kept_key key;
	int err = describe(disk, options, build_id, fd, &key, name);

	if (err < 0 || locations->n_entries == 0)
		return err;
	err = location_cache_for_each(locations, write_address, &list);
	if (err < 0)
		return err;
	location_list_sections(&list, sections);
	return kept_file_write(disk, name, &key, sections);
}
