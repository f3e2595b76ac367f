// SPDX-License-Identifier: Apache-2.0
/*
 * Names kept on disk are read as written. They are refused if they belong to another binary or
 * other options, or are damaged with a matching checksum.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "symbols/names.h"
#include "symbols/location_file.h"

/* The C library as a binary, and a cache of its own. */
static char directory[64];
static struct disk_cache disk;
static struct cached_source binary;
static struct names_options options;

static void begin(void)
{
	Dl_info info;

	snprintf(directory, sizeof(directory), "/tmp/location_file.XXXXXX");
	cr_assert(mkdtemp(directory));
	cr_assert(disk_cache_open(directory, 16 << 20, &disk) == 0);
	cr_assert(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info));
	binary.fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	cr_assert(binary.fd >= 0);
}

static void end(void)
{
	_cleanup_free_ char *command = NULL;

	disk_cache_close(&disk);
	close(binary.fd);
	cr_assert(asprintf(&command, "rm -rf '%s'", directory) > 0 && system(command) == 0);
}

TestSuite(location_file, .init = begin, .fini = end);

static const struct source_location inlined[] = {
	{ .function = "inner", .file = "/a/inner.h", .line = 7, .column = 3, .inlined = true },
	{ .function = "middle<int>", .line = INT32_MAX, .column = INT32_MAX, .inlined = true },
	{ .function = "outer", .file = "/a/inner.h", .line = 9 },
};
static const struct source_location nothing[] = { { .function = NULL } };

/* Four addresses, one of them without a location. */
static void fill(struct location_cache *locations)
{
	cr_assert(location_cache_add(locations, 0x1000, true, inlined, 3) == 0);
	cr_assert(location_cache_add(locations, 0x2000, false, &inlined[2], 1) == 0);
	cr_assert(location_cache_add(locations, 0x3000, true, NULL, 0) == 0);
	cr_assert(location_cache_add(locations, UINT64_MAX, true, nothing, 1) == 0);
}

static void write_locations(void)
{
	struct location_cache locations = { 0 };

	fill(&locations);
	cr_assert(location_file_write(&disk, &options, &binary, &locations) == 0);
	location_cache_done(&locations);
}

static bool equals(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static int expect_same(void *arg, uint64_t address, bool lines,
		       const struct source_location *wanted, size_t n)
{
	const struct source_location *found;
	size_t n_found;

	cr_assert(location_cache_find(arg, address, lines, &found, &n_found) && n_found == n);
	cr_assert(lines || !location_cache_find(arg, address, true, &found, &n_found));
	for (size_t i = 0; i < n; i++) {
		cr_expect(equals(found[i].function, wanted[i].function));
		cr_expect(equals(found[i].file, wanted[i].file));
		cr_expect(found[i].line == wanted[i].line && found[i].column == wanted[i].column);
		cr_expect(found[i].inlined == wanted[i].inlined && !found[i].dir);
	}
	return 0;
}

Test(location_file, has_what_was_written)
{
	struct location_cache written = { 0 }, read = { 0 };

	cr_assert(location_file_read(&disk, &options, &binary, &read) == -ENOENT);
	write_locations();
	fill(&written);
	cr_assert(location_file_read(&disk, &options, &binary, &read) == 0);
	cr_assert(read.n_entries == written.n_entries);
	location_cache_for_each(&written, expect_same, &read);
	/* Writes what was read. */
	cr_assert(location_file_write(&disk, &options, &binary, &read) == 0);
	location_cache_done(&read);
	cr_assert(location_file_read(&disk, &options, &binary, &read) == 0);
	location_cache_for_each(&written, expect_same, &read);
	location_cache_done(&written);
	location_cache_done(&read);
}

Test(location_file, is_of_one_binary_one_program_and_one_way_to_show_names)
{
	struct location_cache read = { 0 };
	_cleanup_close_ int shell = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	const struct cached_source other = { shell };

	write_locations();
	cr_expect(location_file_read(&disk, &options, &other, &read) == -ENOENT);
	options = ((struct names_options){ .demangle = NAMES_DEMANGLE_FULL });
	cr_expect(location_file_read(&disk, &options, &binary, &read) == -ENOENT);
	options = ((struct names_options){ .no_inlines = true });
	cr_expect(location_file_read(&disk, &options, &binary, &read) == -ENOENT);
	options = ((struct names_options){ .no_lines = true });
	cr_expect(location_file_read(&disk, &options, &binary, &read) == -ENOENT);
	options = ((struct names_options){ 0 });
	disk.maker[0] ^= 1;
	cr_expect(location_file_read(&disk, &options, &binary, &read) == -ENOENT);
	disk.maker[0] ^= 1;
	cr_expect(location_file_read(&disk, &options, &binary, &read) == 0 && read.n_entries == 4);
	location_cache_done(&read);
}

/* Any file gives only valid locations, with terminated names. */
static int look_at(void *arg, uint64_t address, bool lines, const struct source_location *locations,
		   size_t n)
{
	size_t *size = arg;

	cr_assert(n <= LOCATION_MAX);
	for (size_t i = 0; i < n; i++) {
		*size += locations[i].function ? strlen(locations[i].function) : 0;
		*size += locations[i].file ? strlen(locations[i].file) : 0;
	}
	return 0;
}

/* The only file of the cache. */
static char *find_file(void)
{
	_cleanup_free_ char *pattern = NULL;
	glob_t found;
	char *path;

	cr_assert(asprintf(&pattern, "%s/*" DISK_CACHE_LOCATIONS, directory) > 0);
	cr_assert(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1);
	path = strdup(found.gl_pathv[0]);
	globfree(&found);
	return path;
}

/* Does not truncate the file first: ext4 would then flush it to disk on close. */
static void file_rewrite(const char *path, const char *bytes, size_t size)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert(fd >= 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size);
	cr_assert(ftruncate(fd, (off_t)size) == 0);
}

/* The checksum covers everything behind it. */
#define SUM_AT 12

static void set_sum(char *bytes, size_t size)
{
	uint32_t sum = (uint32_t)crc32_z(0, (const Bytef *)bytes + SUM_AT + 4,
					 size > SUM_AT + 4 ? size - SUM_AT - 4 : 0);

	memcpy(bytes + SUM_AT, &sum, sizeof(sum));
}

#define MAX_SIZE 4096

/* Writes a file and reads its bytes. Returns their number. */
static size_t file_bytes(char **ret_path, char bytes[MAX_SIZE])
{
	FILE *file;
	size_t size;

	write_locations();
	*ret_path = find_file();
	file = fopen(*ret_path, "re");
	size = fread(bytes, 1, MAX_SIZE, file);
	fclose(file);
	cr_assert(size > 200 && size < MAX_SIZE);
	return size;
}

/* Names are at the end of the file. */
Test(location_file, takes_no_name_that_does_not_end)
{
	_cleanup_free_ char *path = NULL;
	struct location_cache read = { 0 };
	char bytes[MAX_SIZE];
	size_t size = file_bytes(&path, bytes);

	cr_assert_eq(location_file_read(&disk, &options, &binary, &read), 0);
	location_cache_done(&read);
	bytes[size - 1] = 'x';
	set_sum(bytes, size);
	file_rewrite(path, bytes, size);
	cr_assert_eq(location_file_read(&disk, &options, &binary, &read), -EBADMSG);
}

Test(location_file, believes_nothing_of_it)
{
	_cleanup_free_ char *path = NULL;
	char bytes[MAX_SIZE], changed[MAX_SIZE];
	size_t size = file_bytes(&path, bytes), looked_at = 0;

	srandom(1);
	for (int i = 0; i < 4000; i++) {
		struct location_cache read = { 0 };
		size_t n = random() % 8 ? size : (size_t)random() % size;
		bool sums = random() % 4;
		int err;

		memcpy(changed, bytes, size);
		for (long k = random() % 3; k >= 0; k--)
			changed[random() % size] = (char)(random() % 3 ? random() : 0xff);
		if (sums)
			set_sum(changed, n);
		file_rewrite(path, changed, n);
		err = location_file_read(&disk, &options, &binary, &read);
		cr_assert(err == 0 || read.n_entries == 0);
		cr_assert(err == 0 || err == -EBADMSG || err == -ESTALE, "%d", err);
		/* Without a matching checksum, only changes without effect are accepted. */
		cr_assert(err < 0 || sums || memcmp(changed, bytes, size) == 0);
		location_cache_for_each(&read, look_at, &looked_at);
		location_cache_done(&read);
	}
	cr_assert(looked_at > 0);
}
