// SPDX-License-Identifier: Apache-2.0
/*
 * Images kept on disk are found again. They are not used if damaged, forged, another user's, of
 * another build or of a changed file. Limits of size and number.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "cache/cached_file.h"
#include "binaries/image_cache.h"
#include "binaries/table_job.h"

#define LIMIT (UINT64_C(16) << 20)
#define NOBODY 65534

/* The C library as a binary with an image of sufficient size, and a cache of its own. */
static char directory[64];
static int libc_fd;
static struct cached_source libc_source;
static struct elf_file libc_file;
static struct elf_origin libc_origin;
static struct image expected;
static struct disk_cache cache;

static struct elf_origin origin_of(int fd)
{
	const struct parse_request request = { .kind = PARSE_FACTS, .fd = fd, .other = -1 };
	_cleanup_(parse_result_done) struct parse_result result;

	cr_assert(parse_here(&request, &result) == 0);
	return result.facts.origin;
}

static int make(void *arg, struct image *ret)
{
	const struct elf_file *file = arg;

	return image_build(&file->cfi, &file->code, ret);
}

static void begin(void)
{
	Dl_info info;

	cr_assert(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info));
	libc_fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	libc_source.fd = libc_fd;
	cr_assert(elf_file_init_fd(&libc_file, libc_fd) == 0);
	libc_origin = origin_of(libc_fd);
	cr_assert(image_build(&libc_file.cfi, &libc_file.code, &expected) == 0);
	snprintf(directory, sizeof(directory), "/tmp/image_cache.XXXXXX");
	cr_assert(mkdtemp(directory));
	cr_assert(disk_cache_open(directory, LIMIT, &cache) == 0);
}

static int remove_all(const char *path)
{
	_cleanup_free_ char *command = NULL;

	return asprintf(&command, "rm -rf '%s'", path) < 0 ? -1 : system(command);
}

static void end(void)
{
	disk_cache_close(&cache);
	image_done(&expected);
	elf_file_done(&libc_file);
	close(libc_fd);
	cr_assert(remove_all(directory) == 0);
}

TestSuite(image_cache, .init = begin, .fini = end);

/* Gets the C library's image, which never changes. Returns whether it is from the cache. */
static bool is_cached(void)
{
	struct image image;
	int from = image_cache_get(&cache, &libc_origin, &libc_source, make, &libc_file, &image);

	cr_assert(from == 0 || from == 1, "%d", from);
	cr_assert(image.n_cells == expected.n_cells);
	cr_assert(image.stats.n_rows == expected.stats.n_rows);
	cr_assert(memcmp(image.cells, expected.cells, (size_t)image.n_cells * 8) == 0);
	image_done(&image);
	return from == 1;
}

/* The number of files with this suffix in the directory, and the path of one of them. */
static int count(const char *suffix, char *ret_path, size_t size)
{
	_cleanup_closedir_ DIR *d = opendir(directory);
	struct dirent *entry;
	int n = 0;

	while ((entry = readdir(d))) {
		size_t length = strlen(entry->d_name), of_suffix = strlen(suffix);

		if (length < of_suffix || entry->d_name[0] == '.' ||
		    strcmp(entry->d_name + length - of_suffix, suffix) != 0)
			continue;
		snprintf(ret_path, size, "%s/%s", directory, entry->d_name);
		n++;
	}
	return n;
}

/* The path of the only image in the cache. */
static const char *kept(void)
{
	static char path[512];

	cr_assert(count(".table", path, sizeof(path)) == 1);
	return path;
}

/* The cache cannot be used as it is now; building the image repairs it. */
static void expect_rebuilt(const char *what)
{
	cr_assert(!is_cached(), "%s", what);
	cr_assert(is_cached(), "%s: not mended", what);
}

Test(image_cache, has_what_was_made_before)
{
	struct stat st;

	cr_assert(!is_cached());
	cr_assert(is_cached());
	cr_assert(stat(kept(), &st) == 0 && (st.st_mode & 07777) == 0600);
	cr_assert(st.st_size == (off_t)(sizeof(struct cached_head) + (1 + expected.n_cells) * 8UL));
	/* As in another run. */
	disk_cache_close(&cache);
	cr_assert(disk_cache_open(directory, LIMIT, &cache) == 0);
	cr_assert(is_cached());
}

Test(image_cache, does_without)
{
	struct image image;

	cr_assert(image_cache_get(NULL, &libc_origin, &libc_source, make, &libc_file, &image) == 0);
	cr_assert(image.n_cells == expected.n_cells);
	image_done(&image);
	cr_assert(remove_all(directory) == 0); /* while the cache is open */
	cr_assert(!is_cached());
	cr_assert(!is_cached());
}

Test(image_cache, ignores_what_is_truncated)
{
	static const off_t sizes[] = { 0, 1, 16, sizeof(struct cached_head), 5000 };
	struct stat st;

	is_cached();
	cr_assert(stat(kept(), &st) == 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		cr_assert(truncate(kept(), sizes[i]) == 0);
		expect_rebuilt("truncated");
	}
	cr_assert(truncate(kept(), st.st_size - 1) == 0);
	expect_rebuilt("the last byte");
	cr_assert(truncate(kept(), st.st_size + 8) == 0);
	expect_rebuilt("longer");
	cr_assert(truncate(kept(), (off_t)1 << 40) == 0);
	expect_rebuilt("huge");
	/* Truncated and extended again to its size, with zeros, as after a power failure. */
	cr_assert(truncate(kept(), 4096) == 0 && truncate(kept(), st.st_size) == 0);
	expect_rebuilt("torn");
}

Test(image_cache, ignores_each_flipped_bit)
{
	struct stat st;

	is_cached();
	cr_assert(stat(kept(), &st) == 0);
	srandom(1);
	for (int i = 0; i < 300; i++) {
		off_t at = i < (int)sizeof(struct cached_head) ? i : random() % st.st_size;
		int fd = open(kept(), O_RDWR | O_CLOEXEC);
		uint8_t byte;

		cr_assert(pread(fd, &byte, 1, at) == 1);
		byte ^= (uint8_t)(1 << random() % 8);
		cr_assert(pwrite(fd, &byte, 1, at) == 1);
		close(fd);
		expect_rebuilt("a bit");
	}
}

/* Writes a file with a valid header for these sections. */
static void write_sections(const struct cached_head *from, size_t n_rows_size, const void *cells,
			   size_t size)
{
	uint64_t n_rows[2] = { expected.stats.n_rows };
	const struct iovec sections[CACHED_N_SECTIONS] = { { n_rows, n_rows_size },
							   { (void *)cells, size } };
	char path[512];

	snprintf(path, sizeof(path), "%s", strrchr(kept(), '/') + 1);
	cr_assert(cached_file_write(&cache, path, &from->key, sections) == 0);
}

static void write_head(const struct cached_head *from, const void *cells, uint32_t n_cells)
{
	write_sections(from, 8, cells, n_cells * 8UL);
}

/* The checksum is right, but the image refers to something outside of itself. */
Test(image_cache, ignores_what_was_made_up)
{
	const size_t size = expected.n_cells * 8UL;
	_cleanup_free_ uint64_t *cells = malloc(size);
	struct cached_head head;
	int fd;

	is_cached();
	fd = open(kept(), O_RDONLY | O_CLOEXEC);
	cr_assert(read(fd, &head, sizeof(head)) == sizeof(head));
	close(fd);
	for (size_t at = 1; at < sizeof(struct dp_image) / 8; at++) {
		memcpy(cells, expected.cells, size);
		cells[at] ^= UINT64_C(0x4000000040000000);
		write_head(&head, cells, expected.n_cells);
		expect_rebuilt("made up");
	}
	memset(cells, 0xff, size);
	write_head(&head, cells, expected.n_cells);
	expect_rebuilt("made up");
	write_head(&head, cells, 0);
	expect_rebuilt("empty");
	write_sections(&head, 0, expected.cells, size);
	expect_rebuilt("no number of rows");
	write_sections(&head, 16, expected.cells, size);
	expect_rebuilt("two numbers of rows");
	write_sections(&head, 8, expected.cells, size - 1);
	expect_rebuilt("no whole number of cells");
	write_sections(&head, 8, expected.cells, size);
	cr_assert(is_cached(), "and so made it is taken");
}

/* Moves a file elsewhere and puts a link in its place. */
static void replace_by_link(const char *path, const char *elsewhere)
{
	cr_assert(rename(path, elsewhere) == 0);
	cr_assert(symlink(elsewhere, path) == 0);
}

Test(image_cache, believes_nobody_else)
{
	char path[512], other[600];
	struct stat st;

	is_cached();
	cr_assert(chmod(kept(), 0620) == 0);
	expect_rebuilt("others may write to it");
	cr_assert(stat(kept(), &st) == 0 && (st.st_mode & 07777) == 0600);
	if (geteuid() == 0) {
		cr_assert(chown(kept(), NOBODY, NOBODY) == 0);
		expect_rebuilt("someone else's");
		cr_assert(stat(kept(), &st) == 0 && st.st_uid == 0);
	}
	snprintf(path, sizeof(path), "%s", kept());
	cr_assert(unlink(path) == 0 && mkfifo(path, 0600) == 0);
	expect_rebuilt("a FIFO"); /* without waiting for a writer */
	snprintf(other, sizeof(other), "%s.elsewhere", path);
	replace_by_link(path, other);
	expect_rebuilt("a link");
	cr_assert(lstat(path, &st) == 0 && S_ISREG(st.st_mode));
	cr_assert(stat(other, &st) == 0, "what the link led to is untouched");
	/* A directory with that name cannot be used and remains, which does no harm. */
	cr_assert(unlink(other) == 0 && unlink(path) == 0 && mkdir(path, 0700) == 0);
	cr_assert(!is_cached());
	cr_assert(!is_cached());
}

Test(image_cache, is_of_its_maker_only)
{
	is_cached();
	cache.maker[0] ^= 1; /* as after a change of this program */
	expect_rebuilt("another program's");
}

/* A file of the same bytes, with another inode and other times. */
static int copy_of_libc(void)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	off_t size = lseek(libc_fd, 0, SEEK_END), from = 0;

	while (from < size)
		cr_assert(sendfile(fd, libc_fd, &from, (size_t)(size - from)) > 0);
	return fd;
}

/* Whatever happens to the copy meanwhile. */
static void (*while_made)(void);

static int make_copy(void *arg, struct image *ret)
{
	if (while_made)
		while_made();
	return make(arg, ret);
}

static bool is_copy_cached(int fd)
{
	struct elf_origin origin;
	struct elf_file file;
	struct image image;
	int from;

	cr_assert(elf_file_init_fd(&file, fd) == 0);
	origin = origin_of(fd);
	from = image_cache_get(&cache, &origin, &(struct cached_source){ fd }, make_copy, &file,
			       &image);
	cr_assert(from >= 0 && image.n_cells == expected.n_cells);
	image_done(&image);
	elf_file_done(&file);
	return from == 1;
}

static bool is_settled(int fd)
{
	struct stored_identity identity;

	return stored_file_identify(fd, &identity) != -ESTALE;
}

static void wait_until_settled(int fd)
{
	while (!is_settled(fd))
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
}

static int n_images(void)
{
	char path[512];

	return count(".table", path, sizeof(path));
}

/* Restores its times, but for the ctime. */
static void change(int fd, const char *byte)
{
	cr_assert(pwrite(fd, byte, 1, EI_PAD) == 1);
	cr_assert(futimens(fd, (struct timespec[]){ { 1, 0 }, { 1, 0 } }) == 0);
}

/* Changes it until that would not show yet when its image is got. Returns how many are kept. */
static int expect_nothing_kept(int fd)
{
	bool is_cached = true;
	int n = 0;

	for (char byte = 'a'; byte == 'a' || is_settled(fd); byte++) {
		n = n_images();
		change(fd, &byte);
		is_cached = is_copy_cached(fd);
	}
	cr_assert(!is_cached && n_images() == n);
	return n;
}

Test(image_cache, knows_a_file_that_was_changed, .timeout = 120)
{
	int fd = copy_of_libc(), n;

	wait_until_settled(fd);
	cr_assert(!is_copy_cached(fd));
	cr_assert(is_copy_cached(fd));
	n = expect_nothing_kept(fd);
	wait_until_settled(fd);
	cr_assert(!is_copy_cached(fd), "the bytes are others");
	cr_assert(is_copy_cached(fd));
	cr_assert_eq(n_images(), n + 1);
	/* The first bytes again, at other times. */
	change(fd, "\0");
	wait_until_settled(fd);
	cr_assert(is_copy_cached(fd));
	close(fd);
}

/* On a disk; in memory, each inode has its own. */
Test(image_cache, is_of_all_copies_of_one_user, .timeout = 60)
{
	int first = copy_of_libc(), second = copy_of_libc(), others = copy_of_libc();
	struct stored_identity identity;

	cr_assert(fchmod(others, 0620) == 0);
	wait_until_settled(others);
	cr_assert(stored_file_identify(first, &identity) == 0);
	cr_assert(!is_copy_cached(first));
	cr_assert(is_copy_cached(second) == (identity.owner.inode == 0));
	cr_assert(!is_copy_cached(others), "others may have written it");
	cr_assert(is_copy_cached(others));
	if (geteuid() == 0) {
		cr_assert(fchown(second, 1000, 1000) == 0);
		wait_until_settled(second);
		cr_assert(!is_copy_cached(second), "another user's");
		cr_assert(is_copy_cached(second));
	}
	close(first);
	close(second);
	close(others);
}

static int changing_fd;

static void change_now(void)
{
	change(changing_fd, "x");
}

/* The image may have been made of other bytes than the digest. */
Test(image_cache, keeps_nothing_of_a_file_that_changes_meanwhile, .timeout = 60)
{
	changing_fd = copy_of_libc();
	wait_until_settled(changing_fd);
	while_made = change_now;
	cr_assert(!is_copy_cached(changing_fd));
	cr_assert(n_images() == 0);
	while_made = NULL;
	wait_until_settled(changing_fd);
	cr_assert(!is_copy_cached(changing_fd));
	cr_assert(n_images() == 1);
	close(changing_fd);
}

static void put_file(const char *name, off_t size, time_t age)
{
	struct timespec times[2] = { { time(NULL) - age, 0 }, { time(NULL) - age, 0 } };
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert(fd >= 0 && ftruncate(fd, size) == 0 && futimens(fd, times) == 0);
	close(fd);
}

static bool has_file(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return access(path, F_OK) == 0;
}

/* The least recently used files are removed first; other files never are. */
Test(image_cache, has_a_limit)
{
	char path[512];

	put_file("00-1-v1.table", 6 << 20, 300);
	put_file("01-1-v1.table", 6 << 20, 100);
	put_file("02-1-v1.table", 6 << 20, 200);
	put_file("README", 64 << 20, 1000);
	put_file("00-1-v1.image", 4096, 100);
	put_file("00-1-v1.places", 4096, 100);
	put_file("00-1.sha256", 4096, 400);
	cr_assert(!is_cached());
	cr_assert(count(".table", path, sizeof(path)) == 3);
	cr_assert(!has_file("00-1-v1.table") && has_file("01-1-v1.table"));
	cr_assert(has_file("02-1-v1.table") && has_file("README"));
	cr_assert(!has_file("00-1.sha256"));
	cr_assert(!has_file("00-1-v1.image") && !has_file("00-1-v1.places"), "earlier formats");
	cr_assert(is_cached());
}

Test(image_cache, removes_what_is_left_over)
{
	char path[512];

	put_file("0123456789abcdef.new", 4096, 2 * 3600);
	put_file("1123456789abcdef.new", 4096, 60);
	put_file("00-1-v1.table", 4096, 40 * 24 * 3600);
	put_file("01-1-v1.table", 4096, 20 * 24 * 3600);
	cr_assert(!is_cached());
	cr_assert(!has_file("0123456789abcdef.new"), "whoever wrote it is gone");
	cr_assert(has_file("1123456789abcdef.new"), "someone is writing it");
	cr_assert(!has_file("00-1-v1.table"), "long unused");
	cr_assert(has_file("01-1-v1.table"));
	cr_assert(count(".table", path, sizeof(path)) == 2);
}

/* The limit holds at any time while many are added. */
Test(image_cache, keeps_to_its_limit)
{
	struct stat st;

	cache.limit = 64 << 10;
	cr_assert(!is_cached());
	cr_assert(!is_cached(), "larger than its share");
	cache.limit = 32 * (sizeof(struct cached_head) + (1 + expected.n_cells) * 8UL);
	cr_assert(!is_cached());
	cr_assert(stat(kept(), &st) == 0);
	cr_assert(is_cached());
}

static struct table_job *job_of_libc(struct job_cache *shared)
{
	struct table_job *j = table_job_new(TABLE_JOB_MAKE);

	cr_assert(j);
	j->fd = dup(libc_fd);
	j->cache = job_cache_hold(shared);
	cr_assert(file_identify(j->fd, true, &j->id, &j->changed_ns) == 0);
	return j;
}

static void run(struct table_job *j)
{
	table_job_run(j);
	cr_assert(j->err == 0 && !j->is_kept);
	table_job_free(j);
}

/* The directory is scanned once for all jobs, even of those that waited for the first one. */
Test(image_cache, is_scanned_once_for_many_jobs)
{
	struct job_cache *shared = job_cache_new(&cache);
	struct table_job *first = job_of_libc(shared), *second = job_of_libc(shared);

	run(first);
	unlink(kept());
	put_file("0123456789abcdef.new", 4096, 2 * 3600);
	run(second);
	cr_assert(has_file("0123456789abcdef.new"), "which a scan would have removed");
	job_cache_drop(shared);
}

/* What jobs add is counted together: after a share of the limit, it is looked at again. */
Test(image_cache, keeps_to_its_limit_with_many_jobs, .timeout = 60)
{
	struct job_cache *shared;
	size_t n = 0;

	cache.limit = 20 * 16 * (sizeof(struct cached_head) + (1 + expected.n_cells) * 8UL);
	shared = job_cache_new(&cache);
	run(job_of_libc(shared));
	unlink(kept());
	put_file("0123456789abcdef.new", 4096, 2 * 3600);
	for (; has_file("0123456789abcdef.new"); n++) {
		run(job_of_libc(shared));
		unlink(kept());
	}
	cr_assert(n >= 10 && n <= 20, "%zu", n);
	job_cache_drop(shared);
}

/* The signal that accompanies the error would end the program. */
Test(image_cache, does_not_pass_the_limit_of_files)
{
	struct rlimit limit = { 4096, RLIM_INFINITY };

	cr_assert(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	cr_assert(!is_cached());
	cr_assert(n_images() == 0);
}

Test(image_cache, is_used_by_many_at_once)
{
	char path[512];

	for (int i = 0; i < 8; i++) {
		if (fork() != 0)
			continue;
		for (int k = 0; k < 50; k++) {
			struct image image;

			if (k % 5 == i % 5)
				unlink(count(".table", path, sizeof(path)) ? path : "");
			if (image_cache_get(&cache, &libc_origin, &libc_source, make, &libc_file,
					    &image) < 0 ||
			    memcmp(image.cells, expected.cells, expected.n_cells * 8UL) != 0)
				_exit(1);
			image_done(&image);
		}
		_exit(0);
	}
	for (int i = 0; i < 8; i++) {
		int status;

		cr_assert(wait(&status) > 0 && status == 0);
	}
	cr_assert(count(".new", path, sizeof(path)) == 0);
	is_cached();
	cr_assert(is_cached());
}
