// SPDX-License-Identifier: Apache-2.0
/*
 * Which debug files are handed over. A program of an unprivileged user names them, and may then be in
 * control of their reader.
 */
#include "elf/debug_search.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define USER 65534
#define OTHER_USER 65532
#define ELF "\177ELF and so on"

static char directory[] = "/tmp/dwarfprof-test-XXXXXX", link_path[64], secret_path[64];
static int program;

static void make(const char *path, const char *text, uid_t owner, mode_t mode)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	cr_assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	cr_assert(fchown(fd, owner, owner) == 0 && fchmod(fd, mode) == 0);
}

/* The user's directory with a program, and another one of root's. */
static void begin(void)
{
	char path[64];

	if (geteuid() != 0)
		cr_skip_test("only root reads what is not its own");
	cr_assert(mkdtemp(directory) && chown(directory, USER, USER) == 0);
	snprintf(path, sizeof(path), "%s/program", directory);
	snprintf(link_path, sizeof(link_path), "%s/program.debug", directory);
	snprintf(secret_path, sizeof(secret_path), "%s/secret", directory);
	make(path, ELF, USER, 0755);
	program = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert(program >= 0);
}

static void end(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/program", directory);
	unlink(path);
	unlink(link_path);
	unlink(secret_path);
	rmdir(directory);
}

TestSuite(debug_search, .init = begin, .fini = end, .timeout = 60);

/* The reader is asked about each file that it may have. */
static bool note(void *n, int fd, const struct debug_wanted *wanted)
{
	(void)fd;
	(void)wanted;
	++*(size_t *)n;
	return true;
}

static bool is_handed_over(void)
{
	const struct debug_wanted wanted = { "", "program.debug", 0 };
	size_t n = 0;
	const struct debug_reader reader = { .belongs = note, .arg = &n };
	int fd = debug_search(program, &wanted, &reader);

	if (fd >= 0)
		close(fd);
	cr_assert_eq(fd >= 0, n > 0);
	return n > 0;
}

static bool is_allowed(const char *text, uid_t owner, mode_t mode)
{
	bool handed_over;

	make(link_path, text, owner, mode);
	handed_over = is_handed_over();
	unlink(link_path);
	return handed_over;
}

Test(debug_search, takes_what_the_owner_has_or_all_may_read)
{
	cr_assert(is_allowed(ELF, USER, 0600));
	cr_assert(is_allowed(ELF, 0, 0644));
	cr_assert(!is_allowed(ELF, 0, 0640));
	cr_assert(!is_allowed(ELF, 0, 0600));
}

/* They could make up the user's stacks. */
Test(debug_search, takes_nothing_of_other_users)
{
	cr_assert(!is_allowed(ELF, OTHER_USER, 0644));
}

Test(debug_search, takes_only_what_begins_as_elf)
{
	cr_assert(!is_allowed("root:x:0:0:", USER, 0644));
	cr_assert(!is_allowed("root:x:0:0:", 0, 0644));
	cr_assert(!is_allowed("", USER, 0644));
	cr_assert(mkfifo(link_path, 0666) == 0 && !is_handed_over());
}

/* Whoever opens gets all that the rules need. */
static int note_place(void *n, const struct debug_place *place, int root)
{
	cr_assert(root == -1 && !place->has_root);
	cr_assert_eq(place->is_kept, strncmp(place->path, DEBUG_ROOT, strlen(DEBUG_ROOT)) == 0);
	cr_assert(place->owner == USER && place->runner == geteuid() && place->device != 0);
	return ++*(size_t *)n == 1 ? debug_place_open(place, root) : -ENOENT;
}

Test(debug_search, has_files_opened)
{
	const struct debug_wanted wanted = { "", "program.debug", 0 };
	size_t n = 0;
	const struct debug_reader reader = { note, note_place, &n };

	make(link_path, ELF, USER, 0600);
	cr_assert_geq(debug_search(program, &wanted, &reader), 0);
	cr_assert_eq(n, 2);
	n = 1;
	cr_assert_eq(debug_search(program, &wanted, &reader), -ENOENT);
	cr_assert_eq(n, 4);
}

/* All may read it, but the directories above may be closed. */
Test(debug_search, follows_no_links_to_what_is_of_others)
{
	cr_assert(symlink(secret_path, link_path) == 0);
	make(secret_path, ELF, 0, 0644);
	cr_assert(!is_handed_over());
	cr_assert(chown(secret_path, USER, USER) == 0 && is_handed_over());
}

/* A program of root's may be anywhere; what is beside it is of others. */
Test(debug_search, takes_nothing_of_a_user_for_root)
{
	cr_assert(fchown(program, 0, 0) == 0);
	cr_assert(!is_allowed(ELF, USER, 0755));
	cr_assert(is_allowed(ELF, 0, 0600));
}
