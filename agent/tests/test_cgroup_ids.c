// SPDX-License-Identifier: Apache-2.0
/* Paths of cgroups by their numbers, in a made hierarchy: an inode has a number in any file system. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cgroup_ids.h"
#include "limits/limits.h"

#define AGAIN CGROUP_IDS_AGAIN_NS
/* Reading took some time of a CPU, of which it may take a hundredth. */
#define LATER (100 * AGAIN)
#define UNKNOWN UINT64_MAX

static char root[] = "/tmp/cgroup_ids-XXXXXX";
static struct cgroup_ids ids;

static uint64_t make(const char *name)
{
	char path[1024];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	cr_assert_eq(mkdir(path, 0755), 0);
	cr_assert_eq(stat(path, &st), 0);
	return st.st_ino;
}

static void drop(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	cr_assert_eq(rmdir(path), 0);
}

static void set_up(void)
{
	cr_assert_not_null(mkdtemp(root));
	strcpy(ids.root, root);
}

static void tear_down(void)
{
	char command[64];

	cgroup_ids_done(&ids);
	snprintf(command, sizeof(command), "rm -r %s", root);
	cr_assert_eq(system(command), 0);
}

TestSuite(cgroup_ids, .init = set_up, .fini = tear_down);

static const char *look_up(uint64_t id, uint64_t now)
{
	return cgroup_ids_find(&ids, id) ?: cgroup_ids_search(&ids, id, now);
}

static bool is(uint64_t id, uint64_t now, const char *path)
{
	const char *found = look_up(id, now);

	return found && strcmp(found, path) == 0;
}

Test(cgroup_ids, at_all_levels)
{
	uint64_t slice = make("system.slice"), service = make("system.slice/a.service"),
		 other = make("b");
	struct stat st;

	cr_assert_eq(stat(root, &st), 0);
	cr_assert(is(service, 1, "/system.slice/a.service"));
	cr_assert(is(slice, 1, "/system.slice"));
	cr_assert(is(other, 1, "/b"));
	cr_assert(is(st.st_ino, 1, "/"));
	cr_assert_null(look_up(UNKNOWN, 1));
}

Test(cgroup_ids, of_new_ones)
{
	uint64_t first = make("first"), next, inner;

	cr_assert(is(first, 1, "/first"));
	next = make("next");
	inner = make("first/inner");
	cr_assert_null(look_up(next, 2), "they are not read all the time");
	cr_assert(is(next, LATER, "/next"));
	cr_assert(is(inner, LATER, "/first/inner"));
}

Test(cgroup_ids, confirmed)
{
	uint64_t a = make("a"), b, other = make("other");
	const char *found;

	b = make("a/b");
	found = cgroup_ids_confirm(&ids, b, "/a/b", 1);
	cr_assert(found && strcmp(found, "/a/b") == 0);
	cr_assert_null(cgroup_ids_confirm(&ids, a, "/a/b", 1));
	cr_assert_null(cgroup_ids_confirm(&ids, a, "/missing", 1));
	cr_assert_null(cgroup_ids_confirm(&ids, a, "", 1));
	cr_assert_null(cgroup_ids_confirm(&ids, a, "/other/../a", 1));
	cr_assert_eq(ids.again_ns, 0, "nothing was searched");
	cr_assert_str_eq(cgroup_ids_find(&ids, b), "/a/b");
	/* What is in one that was known before those that it is in is found, too. */
	make("a/b/c");
	cr_assert(is(make("a/b/c/d"), 2, "/a/b/c/d"));
	cr_assert(is(other, 2, "/other"));
}

/* Of the longest path, and of one more byte, which has no room. */
Test(cgroup_ids, with_long_paths)
{
	char path[CGROUP_IDS_PATH_MAX + 1];
	uint64_t longest, longer;

	memset(path, 'a', sizeof(path));
	path[200] = '\0';
	make(path);
	path[200] = '/';
	path[CGROUP_IDS_PATH_MAX - 200] = '\0';
	make(path);
	path[CGROUP_IDS_PATH_MAX - 200] = '/';
	path[CGROUP_IDS_PATH_MAX - 2] = '\0';
	longest = make(path);
	path[CGROUP_IDS_PATH_MAX - 2] = 'a';
	path[CGROUP_IDS_PATH_MAX - 1] = '\0';
	longer = make(path);
	cr_assert_not_null(look_up(longest, 1));
	cr_assert_null(look_up(longer, LATER));
}

Test(cgroup_ids, of_removed_ones)
{
	uint64_t id = make("a");

	cr_assert(is(id, 1, "/a"));
	drop("a");
	cr_assert_null(look_up(UNKNOWN, CGROUP_IDS_FORGET_NS));
	cr_assert(is(id, CGROUP_IDS_FORGET_NS, "/a"));
	cr_assert_null(look_up(UNKNOWN, 10 * CGROUP_IDS_FORGET_NS));
	cr_assert_null(look_up(id, 10 * CGROUP_IDS_FORGET_NS));
}

Test(cgroup_ids, not_of_files_and_links)
{
	char path[512];
	struct stat st;
	FILE *file;

	make("a");
	snprintf(path, sizeof(path), "%s/file", root);
	file = fopen(path, "w");
	cr_assert(file);
	cr_assert_eq(fstat(fileno(file), &st), 0);
	fclose(file);
	cr_assert_null(look_up(st.st_ino, 1));
	snprintf(path, sizeof(path), "%s/link", root);
	cr_assert_eq(symlink("a", path), 0);
	cr_assert_eq(lstat(path, &st), 0);
	cr_assert_null(look_up(st.st_ino, LATER));
}

Test(cgroup_ids, where_there_are_none)
{
	uint64_t id = make("a");

	strcat(ids.root, "/missing");
	cr_assert_null(look_up(id, 1));
	ids.root[0] = '\0';
	cr_assert_null(look_up(id, LATER));
}

/* Those deep in others take no room of these. */
Test(cgroup_ids, have_a_limit)
{
	uint64_t unit;
	char name[64];

	make("user");
	make("user/a");
	for (unsigned int i = 0; i < CGROUP_IDS_MAX; i++) {
		snprintf(name, sizeof(name), "user/a/%u", i);
		make(name);
	}
	make("system");
	unit = make("system/unit");
	cr_assert(is(unit, 1, "/system/unit"));
	cr_assert_eq(ids.n, CGROUP_IDS_MAX);
	/* Nor of later ones. */
	unit = make("system/later");
	cr_assert(is(unit, LATER, "/system/later"));
	cr_assert_eq(ids.n, CGROUP_IDS_MAX);
}

static void find_root(const char *mounts)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/mounts", root);
	file = fopen(path, "w");
	cr_assert(file);
	fputs(mounts, file);
	fclose(file);
	cgroup_ids_find_root(&ids, path);
}

Test(cgroup_ids, find_the_mount)
{
	char mounts[256];
	struct stat st;

	find_root("proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/systemd cgroup rw 0 0\n"
		  "cgroup2 /sys/fs/a\\040b cgroup2 rw,nosuid 0 0\ncgroup2 /c cgroup2 rw 0 0\n");
	cr_assert_str_eq(ids.root, "/sys/fs/a b");
	find_root("proc /proc proc rw 0 0\n");
	cr_assert_str_eq(ids.root, "");
	/* Not the root of a hierarchy, which may come later. */
	snprintf(mounts, sizeof(mounts),
		 "cgroup2 %s cgroup2 rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", root);
	find_root(mounts);
	cr_assert_str_eq(ids.root, stat("/sys/fs/cgroup", &st) == 0 && st.st_ino == 1 ?
					   "/sys/fs/cgroup" :
					   root);
	cgroup_ids_find_root(&ids, "/nonexistent");
	cr_assert_str_eq(ids.root, "");
}
