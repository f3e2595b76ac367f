// SPDX-License-Identifier: Apache-2.0
/*
 * Names kept on disk. Input: the kind (1) and the number of addresses (1). If the kind is even, the
 * file as it is; else the addresses, the number of locations (1), the locations and the names, in a
 * file with the right key, sizes and checksum.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cfi/tests/fuzz.h"
#include "limits/limits.h"
#include "symbols/location_file.h"
#include "symbols/location_list.h"

static const struct names_options options;
static char directory[] = "/tmp/fuzz_location_file.XXXXXX";
static struct disk_cache disk;
static char name[DISK_CACHE_NAME_SIZE];
static struct cached_key key;
static struct cached_source binary = { -1 };

static void end(void)
{
	unlinkat(disk.fd, name, 0);
	disk_cache_close(&disk);
	rmdir(directory);
}

/* Learns the name and the key from a file that was written. */
static void begin(void)
{
	struct location_cache one = { 0 };
	struct stored_file file;
	struct cached_head head;
	uint64_t size;
	int fd;

	binary.fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	EXPECT(binary.fd >= 0 && mkdtemp(directory));
	EXPECT(disk_cache_open(directory, 16 << 20, &disk) == 0);
	EXPECT(location_cache_add(&one, 0x1000, true, NULL, 0) == 0);
	EXPECT(location_file_write(&disk, &options, &binary, &one) == 0);
	location_cache_done(&one);
	EXPECT(cached_key_init(&key, &disk, "names", LOCATION_FILE_VERSION, &binary, &file) == 0);
	cached_key_name(&key, "-000" DISK_CACHE_LOCATIONS, name);
	fd = disk_cache_open_file(&disk, name, &size);
	EXPECT(fd >= 0 && disk_cache_read(fd, &head, sizeof(head), 0) == 0);
	key = head.key;
	close(fd);
	atexit(end);
}

/* Puts it in place of what has the name. */
static void write_file(struct feed *feed)
{
	uint8_t kind = feed_u8(feed);
	size_t n = feed_u8(feed) * sizeof(struct location_address), left;
	struct iovec sections[CACHED_N_SECTIONS] = { 0 }, whole;

	if (kind % 2 == 0) {
		whole = (struct iovec){ (void *)feed->pos, (size_t)(feed->end - feed->pos) };
		EXPECT(disk_cache_put(&disk, name, &whole, 1) == 0);
		return;
	}
	for (int i = 0; i < CACHED_N_SECTIONS; i++) {
		if (i == LOCATION_LOCATIONS)
			n = feed_u8(feed) * sizeof(struct kept_location);
		left = (size_t)(feed->end - feed->pos);
		if (i == LOCATION_NAMES || n > left)
			n = left;
		sections[i] = (struct iovec){ (void *)feed->pos, n };
		feed->pos += n;
	}
	EXPECT(cached_file_write(&disk, name, &key, sections) == 0);
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static int check_same(void *arg, uint64_t address, bool lines, const struct source_location *a,
		      size_t n)
{
	const struct source_location *b;
	size_t n_again;

	EXPECT(n <= LOCATION_MAX);
	EXPECT(location_cache_find(arg, address, lines, &b, &n_again) && n == n_again);
	for (size_t i = 0; i < n; i++) {
		EXPECT(!a[i].dir && !b[i].dir);
		EXPECT(is_same(a[i].function, b[i].function) && is_same(a[i].file, b[i].file));
		EXPECT(a[i].line == b[i].line && a[i].column == b[i].column);
		EXPECT(a[i].inlined == b[i].inlined);
		EXPECT(a[i].column < LOCATION_INLINED);
	}
	return 0;
}

/* What was read is the same after it was written and read. */
static void check_again(const struct location_cache *read)
{
	struct location_cache again = { 0 };

	EXPECT(location_file_write(&disk, &options, &binary, read) == 0);
	EXPECT(location_file_read(&disk, &options, &binary, &again) == 0);
	EXPECT(again.n_entries == read->n_entries);
	EXPECT(location_cache_for_each(read, check_same, &again) == 0);
	location_cache_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size };
	struct location_cache read = { 0 };
	int err;

	if (binary.fd < 0)
		begin();
	write_file(&feed);
	err = location_file_read(&disk, &options, &binary, &read);
	EXPECT(err == 0 || err == -EBADMSG || err == -ESTALE);
	EXPECT(err == 0 || read.n_entries == 0);
	if (read.n_entries > 0)
		check_again(&read);
	location_cache_done(&read);
	return 0;
}
