// SPDX-License-Identifier: Apache-2.0
/* JIT maps and jitdumps of processes are found by name, and closed after their last user. */
#include "binaries/jitted.h"
#include "binaries/file_budget.h"
#include "binaries/module_users.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "symbols/tests/some_names.h"

#define MINUTE UINT64_C(60000000000)

static struct jitted_store store;

static void begin(void)
{
	store.names = some_names();
}

TestSuite(jitted, .init = begin);

static size_t count(void)
{
	size_t n = 0;

	for (const struct jitted *j = store.all; j; j = j->next)
		n++;
	return n;
}

/* Only a process's own, by its number in its own PID namespace. */
Test(jitted, knows_the_name_of_a_jitdump)
{
	pid_t own = getpid();
	char path[64];

	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", own);
	cr_assert(jitted_is_dump(own, path));
	cr_assert(jitted_is_dump(own, path + sizeof("/tmp") - 1));
	cr_assert(!jitted_is_dump(own, path + sizeof("/tmp/") - 1), "no path");
	cr_assert(!jitted_is_dump(getppid(), path));
	cr_assert(!jitted_is_dump(0x7fffffff, "/tmp/jit-2147483647.dump"), "no such process");
	snprintf(path, sizeof(path), "/tmp/jit-%d.dump2", own);
	cr_assert(!jitted_is_dump(own, path));
	snprintf(path, sizeof(path), "/tmp/jit-%d.dum", own);
	cr_assert(!jitted_is_dump(own, path));
	snprintf(path, sizeof(path), "/tmp/git-%d.dump", own);
	cr_assert(!jitted_is_dump(own, path));
}

Test(jitted, goes_a_minute_after_its_last_user)
{
	struct jitted *used = jitted_new(&store, 1), *idle = jitted_new(&store, 2);
	uint64_t time = MINUTE;

	cr_assert(used && idle && count() == 2);
	jitted_hold(idle);
	jitted_drop(idle);
	jitted_drop(idle);
	cr_assert_eq(idle->n_users, 0);
	jitted_store_forget(&store, time, NULL);
	cr_assert_eq(count(), 2, "it has just become idle");
	jitted_store_forget(&store, time + MINUTE - 1, NULL);
	cr_assert_eq(count(), 2);
	time += 3 * MINUTE;
	jitted_store_forget(&store, time, NULL);
	cr_assert(count() == 1 && store.all == used);
	/* The time starts again after another use. */
	jitted_drop(used);
	jitted_store_forget(&store, time += MINUTE, NULL);
	jitted_hold(used);
	jitted_store_forget(&store, time += MINUTE, NULL);
	jitted_drop(used);
	jitted_store_forget(&store, time += MINUTE, NULL);
	cr_assert_eq(count(), 1);
	jitted_store_forget(&store, time += 2 * MINUTE, NULL);
	cr_assert_eq(count(), 0);
	jitted_hold(NULL);
	jitted_drop(NULL);
}

/* Calls from the store. */
static struct {
	int n_closed, n_freed;
	uint64_t oldest_ns;
	int err;
} used;

static int close_module(void *arg, struct module *module)
{
	cr_assert_eq(arg, &used);
	used.n_closed++;
	return 0;
}

static uint64_t oldest_ns(void *arg)
{
	cr_assert_eq(arg, &used);
	return used.oldest_ns;
}

static int release_module(void *arg, void (*fn)(void *object), void *object)
{
	cr_assert_eq(arg, &used);
	if (used.err == 0) {
		used.n_freed++;
		fn(object);
	}
	return used.err;
}

static const struct module_users users = { close_module, oldest_ns, release_module, &used };

/* A report's module remains; its files are read to their end once. */
Test(jitted, is_closed_when_a_sample_has_met_it)
{
	struct jitted *j = jitted_new(&store, getpid());
	uint64_t time = MINUTE;

	jitted_meet(j);
	jitted_drop(j);
	for (int i = 0; i < 4; i++)
		jitted_store_forget(&store, time += 2 * MINUTE, &users);
	cr_assert(count() == 1 && j->is_closed && used.n_closed == 1 && used.n_freed == 0);
	/* The reports of that time are gone, except for one that began at the same moment. */
	used.oldest_ns = j->closed_ns;
	jitted_store_forget(&store, time += 2 * MINUTE, &users);
	cr_assert_eq(used.n_freed, 0);
	used.oldest_ns++;
	used.err = -ENOMEM;
	jitted_store_forget(&store, time += 2 * MINUTE, &users);
	cr_assert_eq(count(), 1);
	used.err = 0;
	jitted_store_forget(&store, time += 2 * MINUTE, &users);
	cr_assert(count() == 0 && used.n_freed == 1 && used.n_closed == 1);
}

/* Its files count for its user, until they are closed; another dump takes the place of the first. */
Test(jitted, has_files_in_its_users_budget)
{
	struct file_budget files = { 0 };
	struct jitted *j, *other;
	uint64_t time = MINUTE;
	uid_t user = geteuid();
	const struct rlimit few = { 256, 256 };
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	cr_assert(root >= 0 && setrlimit(RLIMIT_NOFILE, &few) == 0);
	store.files = &files;
	j = jitted_new(&store, getpid());
	other = jitted_new(&store, getpid());
	for (int i = 0; i < 3; i++)
		jitted_set_dump(j, dup(0));
	jitted_meet(j);
	cr_assert_eq(files.n, 2);
	jitted_set_dump(other, dup(0));
	cr_assert_eq(files.n, 3);
	jitted_drop(j);
	jitted_drop(other);
	for (int i = 0; i < 2; i++)
		jitted_store_forget(&store, time += 2 * MINUTE, &users);
	cr_assert_eq(files.n, 0);
	while (file_budget_has_room(&files, user, root))
		file_budget_take(&files, user);
	j = jitted_new(&store, getpid());
	jitted_set_dump(j, dup(0));
	jitted_meet(j);
	cr_assert(!j->has_dump && !j->has_map);
	jitted_store_done(&store);
	file_budget_done(&files);
}

Test(jitted, stays_while_it_is_held)
{
	struct jitted *j = jitted_new(&store, getpid());
	uint64_t time = MINUTE;

	used.oldest_ns = UINT64_MAX;
	jitted_meet(j);
	jitted_drop(j);
	module_hold(j->module);
	for (int i = 0; i < 4; i++)
		jitted_store_forget(&store, time += 2 * MINUTE, &users);
	cr_assert(count() == 1 && j->is_closed && used.n_freed == 0);
	module_drop(j->module, 1);
	jitted_store_forget(&store, time += 2 * MINUTE, &users);
	cr_assert(count() == 0 && used.n_freed == 1);
}
