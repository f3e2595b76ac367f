/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_TESTS_DEBUG_TREE_H
#define DP_ELF_TESTS_DEBUG_TREE_H

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "cfi/tests/fuzz.h"
#include "elf/debug_search.h"

/*
 * For fuzz targets whose input names files: a directory of a user with a program, what may be taken
 * for its debug files, and links to what may not. All is this process's own if it is not root.
 */
#define TREE_USER ((uid_t)65534)

enum tree_kind { TREE_DIRECTORY, TREE_ELF, TREE_TEXT, TREE_FIFO, TREE_LINK };

static const struct tree_file {
	const char *name;
	enum tree_kind kind;
	bool is_roots;
	mode_t mode;
	const char *target; /* of a link */
} tree_files[] = {
	{ "out", TREE_DIRECTORY, true, 0755 },
	{ "out/public", TREE_ELF, true, 0644 },
	{ "out/secret", TREE_ELF, true, 0600 },
	{ "in", TREE_DIRECTORY, false, 0755 },
	{ "in/.debug", TREE_DIRECTORY, false, 0755 },
	{ "in/program", TREE_ELF, false, 0755 },
	{ "in/p.debug", TREE_ELF, false, 0600 },
	{ "in/.debug/q.debug", TREE_ELF, false, 0600 },
	{ "in/text", TREE_TEXT, false, 0644 },
	{ "in/fifo", TREE_FIFO, false, 0644 },
	{ "in/public", TREE_ELF, true, 0644 },
	{ "in/secret", TREE_ELF, true, 0600 },
	{ "in/a", TREE_LINK, false, 0, "../out/public" },
	{ "in/b", TREE_LINK, false, 0, "../out/secret" },
	{ "in/c", TREE_LINK, false, 0, "p.debug" },
	{ "in/d", TREE_LINK, false, 0, "../out" },
	{ "in/e", TREE_LINK, false, 0, "/proc/self/exe" },
};

static char tree_root[] = "/tmp/fuzz_debug.XXXXXX";

static const char *tree_path(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", tree_root, name);
	return path;
}

static void tree_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	EXPECT(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void tree_add(const struct tree_file *f)
{
	const char *path = tree_path(f->name);
	uid_t owner = geteuid() == 0 && !f->is_roots ? TREE_USER : geteuid();

	if (f->kind == TREE_DIRECTORY)
		EXPECT(mkdir(path, 0700) == 0);
	else if (f->kind == TREE_FIFO)
		EXPECT(mkfifo(path, 0600) == 0);
	else if (f->kind == TREE_LINK)
		EXPECT(symlink(f->target, path) == 0);
	else
		tree_write(path, f->kind == TREE_ELF ? ELFMAG " and so on" : "text");
	EXPECT(lchown(path, owner, (gid_t)-1) == 0);
	EXPECT(f->kind == TREE_LINK || chmod(path, f->mode) == 0);
}

static void tree_remove(void)
{
	for (size_t i = ARRAY_SIZE(tree_files); i-- > 0;)
		remove(tree_path(tree_files[i].name));
	rmdir(tree_root);
}

static void tree_make(void)
{
	EXPECT(mkdtemp(tree_root) && chmod(tree_root, 0755) == 0);
	atexit(tree_remove);
	for (size_t i = 0; i < ARRAY_SIZE(tree_files); i++)
		tree_add(&tree_files[i]);
}

/* The path without what leads nowhere, as if there were no links. */
static void path_plain(const char *path, char ret[PATH_MAX])
{
	size_t n = 0;

	while (*path) {
		size_t part = strcspn(path, "/");

		if (part == 2 && path[0] == '.' && path[1] == '.') {
			while (n > 0 && ret[--n] != '/')
				continue;
		} else if (part > 0 && !(part == 1 && path[0] == '.')) {
			EXPECT(n + 1 + part < PATH_MAX);
			ret[n++] = '/';
			memcpy(ret + n, path, part);
			n += part;
		}
		path += part + (path[part] == '/');
	}
	ret[n] = '\0';
}

/* Does the path lead here without links, or by those that root keeps? */
static bool is_straight(int fd, const char *path)
{
	char plain[PATH_MAX], real[PATH_MAX] = "", self[32];

	path_plain(path, plain);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	EXPECT(readlink(self, real, sizeof(real) - 1) > 0);
	return strcmp(plain, real) == 0 ||
	       strncmp(plain, DEBUG_ROOT "/", strlen(DEBUG_ROOT "/")) == 0;
}

/* A file was handed over for one of this owner's: the policy of debug_search.h. */
static void tree_check(int fd, const char *path, uid_t owner)
{
	char magic[SELFMAG];
	struct stat st;

	EXPECT(fstat(fd, &st) == 0 && S_ISREG(st.st_mode));
	EXPECT(pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0);
	if (st.st_uid == owner)
		return;
	EXPECT(st.st_uid == 0 || st.st_uid == geteuid());
	EXPECT(st.st_mode & S_IROTH);
	EXPECT(is_straight(fd, path));
}

#endif
