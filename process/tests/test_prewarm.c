// SPDX-License-Identifier: Apache-2.0
/*
 * The tables that are made before a command starts: of everything that its dynamic linker will map.
 */
#include "binaries/prewarm.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/tests/process_world.h"

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
		if (real && strcmp(b->module->path, real) == 0)
			return b->table != NULL;
	return false;
}

/*
 * Compared with what the dynamic linker says that it would map, except for what the environment
 * adds.
 */
Test(prewarm, finds_what_the_dynamic_linker_maps)
{
	char command[PATH_MAX + 64], line[PATH_MAX], path[PATH_MAX];
	FILE *list;
	int n = 0;

	snprintf(command, sizeof(command), "env -i /lib64/ld-linux-x86-64.so.2 --list %s", self);
	unsetenv("LD_LIBRARY_PATH");
	prewarm_command(&binaries, self);
	cr_assert(has(self));
	list = popen(command, "re");
	while (fgets(line, sizeof(line), list)) {
		if (sscanf(line, " %*s => %s (", path) != 1)
			continue;
		cr_expect(has(path), "%s", path);
		n++;
	}
	cr_assert_eq(pclose(list), 0);
	cr_assert_gt(n, 3, "the C library, others");
	cr_assert(has("/lib64/ld-linux-x86-64.so.2"));
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

/* Finds another libc.so.6 than the system's. */
static void expect_another_libc(void)
{
	Dl_info info;

	cr_assert(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info) && !has(info.dli_fname));
}

/* Libraries of LD_LIBRARY_PATH go before those of the system. */
Test(prewarm, looks_where_the_environment_says)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/libc.so.6", directory);
	/* Another library, which can be distinguished from it. */
	cr_assert_eq(symlink("/lib64/ld-linux-x86-64.so.2", path), 0);
	setenv("LD_LIBRARY_PATH", directory, 1);
	prewarm_command(&binaries, "/bin/sh");
	cr_assert(has("/bin/sh") && has(path));
	expect_another_libc();
	unlink(path);
}

/*
 * A program that is not installed has its libraries beside it: $ORIGIN is its directory, ld.so(8).
 */
Test(prewarm, looks_beside_the_program)
{
	_cleanup_free_ char *command = NULL;
	char program[96], libraries[96], path[112];

	snprintf(program, sizeof(program), "%s/sh", directory);
	snprintf(libraries, sizeof(libraries), "%s/lib", directory);
	snprintf(path, sizeof(path), "%s/libc.so.6", libraries);
	cr_assert_geq(asprintf(&command, "cp -L /bin/sh '%s'", program), 0);
	cr_assert_eq(system(command), 0);
	cr_assert_eq(mkdir(libraries, 0700), 0);
	cr_assert_eq(symlink("/lib64/ld-linux-x86-64.so.2", path), 0);
	setenv("LD_LIBRARY_PATH", "/nowhere:$ORIGIN/lib", 1);
	prewarm_command(&binaries, program);
	cr_assert(has(program));
	expect_another_libc();
	unlink(path);
	unlink(program);
	rmdir(libraries);
}

Test(prewarm, does_without)
{
	prewarm_command(&binaries, "/nowhere/at/all");
	prewarm_command(&binaries, directory);
	setenv("PATH", "", 1);
	prewarm_command(&binaries, "sh");
	cr_assert_eq(HASH_COUNT(binaries.binaries), 0);
}
