// SPDX-License-Identifier: Apache-2.0
/* Places of functions in files, compared with what the dynamic linker reports for this process. */
#include "kernel/uprobe.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The function's code in memory equals the file's bytes at that offset. */
static void expect_code(const struct uprobe_place *place, const void *function)
{
	_cleanup_close_ int fd = open(place->path, O_RDONLY | O_CLOEXEC);
	uint8_t code[16];

	cr_assert_eq(pread(fd, code, sizeof(code), (off_t)place->offset), sizeof(code));
	cr_expect(memcmp(code, function, sizeof(code)) == 0, "%s, %#lx", place->path,
		  place->offset);
}

Test(uprobe, finds_functions_of_a_library)
{
	static const char *const names[] = { "gnu_get_libc_version", "malloc", "getenv",
					     "qsort_r" };
	struct uprobe_place place;
	Dl_info info;

	cr_assert(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *function = dlsym(RTLD_DEFAULT, names[i]);

		cr_assert_eq(uprobe_find(info.dli_fname, names[i], &place), 0);
		if (dladdr(function, &info) && strstr(info.dli_fname, "libc.so"))
			expect_code(&place, function);
		cr_assert(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info));
	}
	/* Found by name alone. */
	cr_assert_eq(uprobe_find("libc.so.6", "gnu_get_libc_version", &place), 0);
	expect_code(&place, (void *)(uintptr_t)gnu_get_libc_version);
}

__attribute__((noinline, used)) static int in_the_program(int i)
{
	return i * 3 + 1;
}

Test(uprobe, finds_private_functions_of_a_program)
{
	struct uprobe_place place;

	cr_assert_eq(uprobe_find("/proc/self/exe", "in_the_program", &place), 0);
	expect_code(&place, (void *)(uintptr_t)in_the_program);
}

Test(uprobe, says_what_is_wrong)
{
	struct uprobe_place place;

	cr_assert_eq(uprobe_find("/proc/self/exe", "no_such_function", &place), -ENOENT);
	cr_assert_eq(uprobe_find("/nowhere/at/all", "main", &place), -ENOENT);
	cr_assert_eq(uprobe_find("no-such-program", "main", &place), -ENOENT);
	cr_assert_eq(uprobe_find("/etc/passwd", "main", &place), -ENOEXEC);
	/* A data symbol is not a function. */
	cr_assert_eq(uprobe_find("libc.so.6", "environ", &place), -ENOENT);
}
