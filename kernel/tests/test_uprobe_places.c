// SPDX-License-Identifier: Apache-2.0
/* Places of functions in files, compared with what the dynamic linker reports for this process. */
#include "kernel/uprobe_places.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "log/tests/said.h"

/* Is the function's code in memory at one of these places of the file? */
static bool have_code(const struct uprobe_places *places, const void *function)
{
	_cleanup_close_ int fd = open(places->path, O_RDONLY | O_CLOEXEC);
	uint8_t code[16];

	for (size_t i = 0; i < places->n; i++) {
		cr_assert_eq(pread(fd, code, sizeof(code), (off_t)places->offsets[i]),
			     sizeof(code));
		if (memcmp(code, function, sizeof(code)) == 0)
			return true;
	}
	return false;
}

static void expect_code(const char *file, const char *name, size_t n, const void *function)
{
	_cleanup_uprobe_places_ struct uprobe_places places;

	cr_assert_eq(uprobe_places_find(file, name, NULL, &places), 0);
	cr_expect_eq(places.n, n, "%s: %zu", name, places.n);
	cr_expect(have_code(&places, function), "%s in %s", name, places.path);
	for (size_t i = 1; i < places.n; i++)
		cr_expect_lt(places.offsets[i - 1], places.offsets[i]);
}

Test(uprobe_places, finds_functions_of_a_library)
{
	static const char *const names[] = { "gnu_get_libc_version", "malloc", "getenv",
					     "qsort_r" };
	Dl_info info, libc;

	cr_assert(dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *function = dlsym(RTLD_DEFAULT, names[i]);

		if (dladdr(function, &info) && strstr(info.dli_fname, "libc.so"))
			expect_code(libc.dli_fname, names[i], 1, function);
	}
	/* Found by name alone. */
	expect_code("libc.so.6", "gnu_get_libc_version", 1,
		    (void *)(uintptr_t)gnu_get_libc_version);
}

__attribute__((noinline, used)) static int in_the_program(int i)
{
	return i * 3 + 1;
}

/* Another name for it: in place of a private function clang has an alias alone. */
__asm__(".set in_the_program_too, in_the_program");

__attribute__((noinline, used)) static int in_the_programs(int i)
{
	return i * 5 + 2;
}

Test(uprobe_places, finds_private_functions_of_a_program)
{
	expect_code("/proc/self/exe", "in_the_program", 1, (void *)(uintptr_t)in_the_program);
	expect_code("/proc/self/exe", "in_the_prog*", 2, (void *)(uintptr_t)in_the_program);
	expect_code("/proc/self/exe", "in_the_prog*", 2, (void *)(uintptr_t)in_the_programs);
}

/* libstdc++ is stripped; the overloads are those of its documentation. */
Test(uprobe_places, finds_functions_that_cplusplus_mangles)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);
	void *write = library ? dlsym(library, "_ZNSo5writeEPKcl") : NULL;
	void *seek = library ? dlsym(library, "_ZNSo5seekpElSt12_Ios_Seekdir") : NULL;
	void *plus_long = library ? dlsym(library, "_ZNSolsEl") : NULL;

	cr_assert(write && seek && plus_long);
	expect_code("libstdc++.so.6", "std::ostream::write", 1, write);
	expect_code("libstdc++.so.6", "std::ostream::write(char const*, long)", 1, write);
	expect_code("libstdc++.so.6", "std::ostream::seekp", 2, seek);
	expect_code("libstdc++.so.6", "std::ostream::seekp(long, *)", 1, seek);
	expect_code("libstdc++.so.6", "std::ostream::operator<<(long)", 1, plus_long);
	dlclose(library);
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0, "%s", path);
	return st.st_ino;
}

Test(uprobe_places, are_of_the_file_that_was_read)
{
	_cleanup_uprobe_places_ struct uprobe_places places;
	char path[] = "/tmp/uprobe_places.XXXXXX";
	int fd = mkstemp(path);

	cr_assert(fd >= 0 && unlink(path) == 0 && symlink("/proc/self/exe", path) == 0);
	cr_assert_eq(uprobe_places_find(path, "in_the_program", NULL, &places), 0);
	cr_assert(unlink(path) == 0 && symlink("/bin/sh", path) == 0);
	cr_expect_eq(inode_of(places.link), inode_of("/proc/self/exe"));
	cr_expect_neq(inode_of(places.link), inode_of(path));
	unlink(path);
	close(fd);
}

static const char *wanted_file, *wanted_name;
static int wanted_error;

static void find(void)
{
	struct uprobe_places places;

	cr_expect_eq(uprobe_places_find(wanted_file, wanted_name, NULL, &places), wanted_error,
		     "%s", wanted_name);
}

static void expect_error(const char *file, const char *name, int error, const char *message)
{
	char *text;

	wanted_file = file;
	wanted_name = name;
	wanted_error = error;
	text = said(find);
	cr_expect(strstr(text, message), "%s", text);
	free(text);
}

Test(uprobe_places, says_what_is_wrong)
{
	expect_error("/proc/self/exe", "no_such_function", -ENOENT, "has no function");
	expect_error("/nowhere/at/all", "main", -ENOENT, "cannot read /nowhere/at/all");
	expect_error("no-such-program", "main", -ENOENT, "try:  its full path");
	expect_error("/etc/passwd", "main", -ENOEXEC, "is not an ELF file");
	/* A data symbol is not a function. */
	expect_error("libc.so.6", "environ", -ENOENT, "has no function environ");
	expect_error("libstdc++.so.6", "*", -E2BIG, " functions *; at most 1024 ");
}

static int error_there;

static int open_there(void *arg, const char *path)
{
	(void)arg;
	return strncmp(path, "/there/", 7) == 0 ? error_there : open(path, O_RDONLY | O_CLOEXEC);
}

static void open_sh(void)
{
	const struct uprobe_reader reader = { .open = open_there };
	struct uprobe_places places;

	cr_expect_eq(uprobe_places_open("sh", &reader, &places), error_there);
}

/* A file that is searched for is the first one, if it can be opened or not. */
Test(uprobe_places, are_in_no_other_file_of_the_name)
{
	static const int found[] = { -EREMOTE, -ETIMEDOUT, -EBUSY, -EACCES, -EIO };
	static const int others[] = { -ENOENT, -ENOTDIR, -ESTALE };
	const struct uprobe_reader reader = { .open = open_there };
	char *text;

	setenv("PATH", "/there:/usr/bin:/bin", 1);
	for (size_t i = 0; i < sizeof(found) / sizeof(*found); i++) {
		error_there = found[i];
		text = said(open_sh);
		cr_expect(strstr(text, " /there/sh: "), "%s", text);
		free(text);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		_cleanup_uprobe_places_ struct uprobe_places places;

		error_there = others[i];
		cr_expect_eq(uprobe_places_open("sh", &reader, &places), 0);
	}
}

Test(uprobe_places, suggests_what_may_be_meant)
{
	expect_error("/proc/self/exe", "in_the_porgram", -ENOENT, "did you mean in_the_program?");
	expect_error("libstdc++.so.6", "std::ostream::wirte", -ENOENT,
		     "did you mean std::ostream::write?");
	expect_error("libstdc++.so.6", "ostream::seekp", -ENOENT,
		     "did you mean std::ostream::seekp?");
	expect_error("libstdc++.so.6", "std::has_facet", -ENOENT, "did you mean std::has_facet<");
	expect_error("libc.so.6", "xyzzyplughfrotz", -ENOENT, "has no function xyzzyplughfrotz\n");
}
