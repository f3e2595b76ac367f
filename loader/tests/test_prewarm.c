// SPDX-License-Identifier: Apache-2.0
/* The tables that are made before a command starts: of all that its dynamic linker will map. */
#include "prewarm.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process_world.h"

static char directory[64], self[PATH_MAX];

static void set_up(void)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	cr_assert_gt(n, 0);
	begin();
	snprintf(directory, sizeof(directory), "/tmp/prewarm.XXXXXX");
	cr_assert(mkdtemp(directory));
}

static void tear_down(void)
{
	cr_assert_eq(rmdir(directory), 0);
	end();
}

TestSuite(prewarm, .init = set_up, .fini = tear_down);

/* Is there a table of the file, under its real name? */
static bool has(const char *path)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	const struct binary *b, *next;

	HASH_ITER(hh, binaries.binaries, b, next)
		if (real && strcmp(b->module.path, real) == 0)
			return b->table != NULL;
	return false;
}

static int expect_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	int *n = arg;

	if (info->dlpi_name[0] != '/')
		return 0; /* the program, and the vDSO */
	cr_expect(has(info->dlpi_name), "%s", info->dlpi_name);
	++*n;
	return 0;
}

/* The truth is in this process: the dynamic linker has mapped what the test needs. */
Test(prewarm, finds_what_the_dynamic_linker_maps)
{
	int n = 0;

	prewarm_command(&binaries, self);
	cr_assert(has(self));
	dl_iterate_phdr(expect_object, &n);
	cr_assert_gt(n, 3, "the C library, the dynamic linker, others");
	cr_assert_geq(HASH_COUNT(binaries.binaries), (unsigned int)n + 1);
}

Test(prewarm, looks_a_command_up_in_path)
{
	setenv("PATH", "/nowhere:/usr/bin:/bin", 1);
	prewarm_command(&binaries, "sh");
	cr_assert(has("/bin/sh"));
	cr_assert(has("/lib64/ld-linux-x86-64.so.2"));
}

Test(prewarm, goes_from_a_script_to_its_interpreter)
{
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "%s/script", directory);
	file = fopen(path, "w");
	fputs("#! /bin/sh -e\necho\n", file);
	fclose(file);
	prewarm_command(&binaries, path);
	cr_assert(has("/bin/sh"));
	unlink(path);
}

/* Libraries of LD_LIBRARY_PATH go before those of the system. */
Test(prewarm, looks_where_the_environment_says)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/libc.so.6", directory);
	/* Something else, that is a library, and that can be told from it. */
	cr_assert_eq(symlink("/lib64/ld-linux-x86-64.so.2", path), 0);
	setenv("LD_LIBRARY_PATH", directory, 1);
	prewarm_command(&binaries, "/bin/sh");
	cr_assert(has("/bin/sh") && has(path));
	cr_assert_eq(HASH_COUNT(binaries.binaries), 2, "not the real one");
	unlink(path);
}

Test(prewarm, does_without)
{
	prewarm_command(&binaries, "/nowhere/at/all");
	prewarm_command(&binaries, directory);
	setenv("PATH", "", 1);
	prewarm_command(&binaries, "sh");
	cr_assert_eq(HASH_COUNT(binaries.binaries), 0);
}
