// SPDX-License-Identifier: Apache-2.0
#include "binaries/file_budget.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/file_stat.h"
#include "base/hash.h"
#include "limits/limits.h"

struct file_user {
	uid_t user;
	size_t n;
	uint64_t object_bytes;
	UT_hash_handle hh;
};

/* How many descriptors there may be with a file of its owner; SIZE_MAX: any number. */
static size_t find_ceiling(int fd)
{
	struct rlimit limit;
	struct stat st;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return SIZE_MAX;
	return limit.rlim_cur / 4 *
	       (fd >= 0 && file_stat(fd, &st) == 0 && st.st_uid == 0 ? FILE_BUDGET_ROOT :
								       FILE_BUDGET_USERS);
}

bool file_budget_allows(int fd)
{
	return (size_t)fd < find_ceiling(fd);
}

void file_budget_done(struct file_budget *budget)
{
	struct file_user *u, *next;

	HASH_ITER(hh, budget->users, u, next) {
		HASH_DEL(budget->users, u);
		free(u);
	}
	budget->n = 0;
	budget->object_bytes = 0;
}

static struct file_user *find_user(const struct file_budget *budget, uid_t user)
{
	struct file_user *u;

	HASH_FIND(hh, budget->users, &user, sizeof(user), u);
	return u;
}

/* As many as others leave, of which there are so many in all. */
static bool has_share(uint64_t own, uint64_t all, uint64_t ceiling)
{
	return all < ceiling && own < ceiling - all;
}

bool file_budget_has_room(const struct file_budget *budget, uid_t user, int fd)
{
	const struct file_user *u = find_user(budget, user);

	return has_share(u ? u->n : 0, fd >= 0 ? (size_t)fd : budget->n, find_ceiling(fd));
}

int file_budget_check_object(const struct file_budget *budget, uid_t user, int fd, uint64_t size)
{
	const struct file_user *u = find_user(budget, user);

	if (!has_share(u ? u->n : 0, (size_t)fd, find_ceiling(-1)))
		return -EMFILE;
	return has_share((u ? u->object_bytes : 0) + size - 1, budget->object_bytes,
			 JIT_OBJECTS_ALL) ?
		       0 :
		       -ENOSPC;
}

static struct file_user *add_user(struct file_budget *budget, uid_t user)
{
	struct file_user *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->user = user;
	HASH_ADD(hh, budget->users, user, sizeof(user), u);
	if (HASH_IS_ADDED(hh, u))
		return u;
	free(u);
	return NULL;
}

void file_budget_take(struct file_budget *budget, uid_t user)
{
	struct file_user *u = find_user(budget, user);

	if (!u)
		u = add_user(budget, user);
	if (!u)
		return;
	u->n++;
	budget->n++;
}

void file_budget_take_object(struct file_budget *budget, uid_t user, uint64_t size)
{
	struct file_user *u;

	file_budget_take(budget, user);
	u = find_user(budget, user);
	if (!u)
		return;
	u->object_bytes += size;
	budget->object_bytes += size;
}

void file_budget_give_object(struct file_budget *budget, uid_t user, uint64_t size)
{
	struct file_user *u = find_user(budget, user);

	if (u && size > u->object_bytes) /* one that was not counted */
		size = u->object_bytes;
	if (u) {
		u->object_bytes -= size;
		budget->object_bytes -= size;
	}
	file_budget_give(budget, user);
}

void file_budget_give(struct file_budget *budget, uid_t user)
{
	struct file_user *u = find_user(budget, user);

	if (!u)
		return;
	budget->n--;
	if (--u->n > 0)
		return;
	budget->object_bytes -= u->object_bytes;
	HASH_DEL(budget->users, u);
	free(u);
}
