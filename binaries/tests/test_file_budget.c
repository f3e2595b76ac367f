// SPDX-License-Identifier: Apache-2.0
/* Whose files may be open when descriptors become few. */
#include "binaries/file_budget.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"

#define LIMIT 400
#define USER 65432
#define OTHER 65431

static struct file_budget budget;
static int file;

static void begin(void)
{
	const struct rlimit limit = { LIMIT, LIMIT };

	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	file = memfd_create("file", MFD_CLOEXEC);
	cr_assert(file >= 0);
	if (geteuid() == 0)
		cr_assert_eq(fchown(file, USER, USER), 0);
}

static void end(void)
{
	file_budget_done(&budget);
	close(file);
}

TestSuite(file_budget, .init = begin, .fini = end);

/* The file as that descriptor. */
static bool has_room(uid_t user, int fd)
{
	_cleanup_close_ int at = fcntl(file, F_DUPFD_CLOEXEC, fd);

	cr_assert_eq(at, fd);
	return file_budget_has_room(&budget, user, at);
}

/* As many as a user gets who opens one file after the other, where so many descriptors are in use. */
static int take_all(uid_t user, int used)
{
	int n = 0;

	while (has_room(user, used + n)) {
		file_budget_take(&budget, user);
		n++;
	}
	return n;
}

Test(file_budget, of_one_leaves_as_many_to_others)
{
	int first = take_all(USER, 20), second = take_all(OTHER, 20 + first);

	cr_assert_eq(first, (LIMIT / 2 - 20) / 2);
	cr_assert_eq(second, (LIMIT / 2 - 20 - first) / 2);
	cr_assert(has_room(OTHER - 1, 20 + first + second));
	cr_assert(!has_room(OTHER - 1, LIMIT / 2));
}

Test(file_budget, is_had_again)
{
	int n = take_all(USER, 20);

	file_budget_give(&budget, USER);
	cr_assert(has_room(USER, 20 + n - 1));
	while (n-- > 0)
		file_budget_give(&budget, USER);
	cr_assert(!budget.users && budget.n == 0);
	file_budget_give(&budget, USER); /* one that was not counted */
	cr_assert_eq(budget.n, 0);
}

/* What is to be opened later is not there to be asked. */
Test(file_budget, counts_what_is_not_open_yet)
{
	int n = 0;

	while (file_budget_has_room(&budget, USER, -1)) {
		file_budget_take(&budget, USER);
		n++;
	}
	cr_assert_eq(n, LIMIT / 4);
	cr_assert(file_budget_has_room(&budget, OTHER, -1));
}

static int check_object(uid_t user, int fd, uint64_t size)
{
	_cleanup_close_ int at = fcntl(file, F_DUPFD_CLOEXEC, fd);

	cr_assert_eq(at, fd);
	return file_budget_check_object(&budget, user, at, size);
}

/* Files of this program's own may be root's. */
Test(file_budget, has_no_more_for_copies_of_memory)
{
	if (geteuid() == 0)
		cr_assert_eq(fchown(file, 0, 0), 0);
	cr_expect_eq(check_object(USER, LIMIT / 2 - 1, 1), 0);
	cr_expect_eq(check_object(USER, LIMIT / 2, 1), -EMFILE);
}

static int take_objects(uid_t user, uint64_t size)
{
	int n = 0;

	while (check_object(user, 20, size) == 0) {
		file_budget_take_object(&budget, user, size);
		n++;
	}
	return n;
}

Test(file_budget, leaves_bytes_of_copies_to_others)
{
	const uint64_t part = JIT_OBJECTS_ALL / 16;

	cr_expect_eq(take_objects(USER, part), 8);
	cr_expect_eq(check_object(USER, 20, part), -ENOSPC);
	cr_expect_eq(take_objects(OTHER, part), 4);
	file_budget_give_object(&budget, USER, part);
	cr_expect_eq(check_object(OTHER, 20, part), 0);
	for (int i = 0; i < 7; i++)
		file_budget_give_object(&budget, USER, part);
	for (int i = 0; i < 4; i++)
		file_budget_give_object(&budget, OTHER, part);
	cr_expect(budget.object_bytes == 0 && budget.n == 0 && !budget.users);
	cr_expect_eq(check_object(USER, 20, JIT_OBJECTS_ALL), 0);
	cr_expect_eq(check_object(USER, 20, JIT_OBJECTS_ALL + 1), -ENOSPC);
}

/* The system's libraries. */
Test(file_budget, has_more_for_files_of_root)
{
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int users = fcntl(file, F_DUPFD_CLOEXEC, LIMIT / 2), roots = -1, most = -1;

	if (geteuid() != 0)
		cr_skip("it has no file of another user");
	cr_assert_eq(fchown(file, 0, 0), 0);
	roots = fcntl(file, F_DUPFD_CLOEXEC, LIMIT / 4 * 3 - 1);
	most = fcntl(file, F_DUPFD_CLOEXEC, LIMIT / 4 * 3);
	cr_assert(file_budget_allows(roots) && !file_budget_allows(most));
	cr_assert_eq(fchown(file, USER, USER), 0);
	cr_assert(!file_budget_allows(users) && !file_budget_allows(roots));
	cr_assert(own >= 0 && file_budget_allows(own));
}
