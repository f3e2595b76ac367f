// SPDX-License-Identifier: Apache-2.0
/* Where the kernel's types are looked for, if /sys does not have them. */
#include "kernel/kernel_types.h"

#include <bpf/btf.h>
#include <criterion/criterion.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"

DEFINE_CLEANUP(struct btf *, btf__free)

static char root[] = "/tmp/test_kernel_types-XXXXXX";
static char path[PATH_MAX];

static const char *under_root(const char *name)
{
	snprintf(path, sizeof(path), "%s%s", root, name);
	return path;
}

static void begin(void)
{
	static const char *const directories[] = { "/lib", "/lib/modules", "/lib/modules/6.1-a",
						   "/sys", "/sys/kernel",  "/sys/kernel/btf" };

	cr_assert(mkdtemp(root));
	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++)
		cr_assert_eq(mkdir(under_root(directories[i]), 0700), 0);
}

static int remove_file(const char *file, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(file);
}

static void end(void)
{
	nftw(root, remove_file, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(kernel_types, .init = begin, .fini = end);

/* Types with a structure of that name. */
static void write_types(const char *name, const char *structure)
{
	_cleanup_(btf__freep) struct btf *btf = btf__new_empty();
	_cleanup_fclose_ FILE *file = fopen(under_root(name), "w");
	const void *bytes;
	uint32_t size;

	cr_assert(btf && file);
	cr_assert_gt(btf__add_struct(btf, structure, 8), 0);
	bytes = btf__raw_data(btf, &size);
	cr_assert_eq(fwrite(bytes, size, 1, file), 1);
}

static const char *find(void)
{
	static char buffer[PATH_MAX];

	return kernel_types_find(root, "6.1-a", buffer);
}

Test(kernel_types, nowhere)
{
	cr_assert_null(find());
}

Test(kernel_types, in_the_directory_of_modules)
{
	write_types("/lib/modules/6.1-a/vmlinux", "task_struct");
	cr_assert_str_eq(find(), under_root("/lib/modules/6.1-a/vmlinux"));
}

Test(kernel_types, of_another_release_are_not_taken)
{
	char buffer[PATH_MAX];

	write_types("/lib/modules/6.1-a/vmlinux", "task_struct");
	cr_assert_null(kernel_types_find(root, "6.1", buffer));
}

Test(kernel_types, in_sys_are_left_to_libbpf)
{
	write_types("/lib/modules/6.1-a/vmlinux", "task_struct");
	write_types("/sys/kernel/btf/vmlinux", "task_struct");
	cr_assert_null(find());
}

Test(kernel_types, that_are_not_a_kernels)
{
	write_types("/lib/modules/6.1-a/vmlinux", "a");
	cr_assert_null(find());
}

/* Such as a vmlinux without its debug information. */
Test(kernel_types, file_without_types)
{
	FILE *file = fopen(under_root("/lib/modules/6.1-a/vmlinux"), "w");

	cr_assert(file && fputs("\177ELF", file) >= 0 && fclose(file) == 0);
	cr_assert_null(find());
}
