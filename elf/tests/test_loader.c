// SPDX-License-Identifier: Apache-2.0
/* Libraries by name, compared with those that the dynamic linker has loaded into this process. */
#include "elf/loader.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Test(loader, names_have_a_prefix)
{
	cr_expect_str_eq(library_name("lib:c"), "c");
	cr_expect_str_eq(library_name("lib:python3.11"), "python3.11");
	cr_expect_null(library_name("lib:"));
	cr_expect_null(library_name("lib:a/b"));
	cr_expect_null(library_name("/lib:c"));
}

Test(loader, files_have_versions)
{
	static const struct {
		const char *path, *name;
		bool is;
	} cases[] = {
		{ "/usr/lib/libc.so.6", "c", true },
		{ "libc.so", "c", true },
		{ "/lib/libc-2.31.so", "c", true },
		{ "/lib/libpython3.11.so.1.0", "python3.11", true },
		{ "/lib/ld-musl-x86_64.so.1", "c", true },
		{ "/lib/ld-musl-x86_64.so.1", "m", false },
		{ "/lib/libcap.so.2", "c", false },
		{ "/lib/libc.sold", "c", false },
		{ "/lib/libc-client.so.2", "c", false },
		{ "/lib/libc.a", "c", false },
		{ "/libc.so/x", "c", false },
		{ "/lib/c.so", "c", false },
		{ "/lib/libpython3.so", "python3.11", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect_eq(library_is_file(cases[i].path, cases[i].name), cases[i].is, "%s %s",
			     cases[i].path, cases[i].name);
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0, "%s", path);
	return st.st_ino;
}

/* The machine may also have them for 32 bits, and scripts for the linker. */
Test(loader, finds_what_is_loaded)
{
	char path[PATH_MAX];
	Dl_info libc;

	cr_assert(dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc));
	cr_assert(loader_find("c", path));
	cr_expect_eq(inode_of(path), inode_of(libc.dli_fname), "%s", path);
	cr_expect(!loader_find("there-is-no-such-library", path));
}

static void make_file(const char *directory, const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	cr_assert(fd >= 0);
	close(fd);
}

Test(loader, looks_into_its_own_path_first)
{
	static const char *const names[] = { "libnew.so", "libnew.so.9", "libnew.so.10",
					     "libnewer.so.11", "libc.so.6" };
	char directory[] = "/tmp/loader.XXXXXX", list[PATH_MAX], path[PATH_MAX], expected[PATH_MAX];

	cr_assert(mkdtemp(directory));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		make_file(directory, names[i]);
	snprintf(list, sizeof(list), "/nowhere::%s", directory);
	setenv("LD_LIBRARY_PATH", list, 1);
	cr_expect(loader_find("new", path));
	snprintf(expected, sizeof(expected), "%s/libnew.so.10", directory);
	cr_expect_str_eq(path, expected);
	cr_expect(loader_find("c", path));
	snprintf(expected, sizeof(expected), "%s/libc.so.6", directory);
	cr_expect_str_eq(path, expected);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		unlink(path);
	}
	rmdir(directory);
}

/* As glibc writes it: a header, entries, texts. */
struct entry {
	int32_t flags;
	uint32_t name, path, version;
	uint64_t cpu;
};

#define OURS 0x303
#define N_ENTRIES 6
#define TEXTS (48 + N_ENTRIES * sizeof(struct entry))
/* Of a CPU's capabilities: older ones by a bit each, newer ones by their number. */
#define BY_NAME (UINT64_C(1) << 62)

static size_t make_cache(char *to)
{
	static const char texts[] = "libx.so.1\0/32/libx.so.1\0/fast/libx.so.1\0/64/libx.so.1\0"
				    "/glibc-hwcaps/x86-64-v2/libx.so.1\0"
				    "/glibc-hwcaps/x86-64-v3/libx.so.1\0"
				    "/glibc-hwcaps/other/libx.so.1";
	const struct entry entries[N_ENTRIES] = {
		{ 3, TEXTS, TEXTS + 10, 0, 0 },
		{ OURS, TEXTS, TEXTS + 122, 0, BY_NAME + 2 },
		{ OURS, TEXTS, TEXTS + 54, 0, BY_NAME },
		{ OURS, TEXTS, TEXTS + 24, 0, 1 },
		{ OURS, TEXTS, TEXTS + 40, 0, 0 },
		{ OURS, TEXTS, TEXTS + 88, 0, BY_NAME + 1 },
	};
	const uint32_t n = N_ENTRIES;

	memset(to, 0, 48);
	memcpy(to, "glibc-ld.so.cache1.1", 20);
	memcpy(to + 20, &n, sizeof(n));
	memcpy(to + 48, entries, sizeof(entries));
	memcpy(to + TEXTS, texts, sizeof(texts));
	return TEXTS + sizeof(texts);
}

Test(loader, takes_those_of_a_cache_for_this_machine)
{
	char cache[512], path[PATH_MAX];
	size_t size = make_cache(cache);

	cr_assert(loader_find_in_cache(cache, size, 1, "x", path));
	cr_expect_str_eq(path, "/64/libx.so.1");
	cr_expect(!loader_find_in_cache(cache, size, 1, "y", path));
}

/* One that is faster on this CPU. */
Test(loader, prefers_those_of_a_cache_for_the_cpu)
{
	static const char *const paths[] = { "/64/libx.so.1", "/glibc-hwcaps/x86-64-v2/libx.so.1",
					     "/glibc-hwcaps/x86-64-v3/libx.so.1",
					     "/glibc-hwcaps/x86-64-v3/libx.so.1" };
	char cache[512], path[PATH_MAX];
	size_t size = make_cache(cache);

	for (int level = 1; level <= 4; level++) {
		cr_assert(loader_find_in_cache(cache, size, level, "x", path));
		cr_expect_str_eq(path, paths[level - 1], "%d", level);
	}
}

Test(loader, reads_nothing_beyond_a_cache)
{
	char whole[512], path[PATH_MAX];
	size_t size = make_cache(whole);

	for (size_t n = 0; n < size; n++) {
		char *cut = malloc(n + 1);

		memcpy(cut, whole, n);
		cr_expect(!loader_find_in_cache(cut, n, 3, "x", path) ||
				  strcmp(strrchr(path, '/'), "/libx.so.1") == 0,
			  "%zu", n);
		free(cut);
	}
}
