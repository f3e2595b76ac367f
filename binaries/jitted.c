// SPDX-License-Identifier: Apache-2.0
#include "binaries/jitted.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "binaries/module_users.h"
#include "binaries/file_budget.h"
#include "log/clock.h"
#include "sandbox/finders.h"
#include "sandbox/process_user.h"
#include "symbols/jit.h"

/* Same as for unmapped binaries: samples that are still to come refer to them. */
#define IDLE_NS (60 * UINT64_C(1000000000))
#define LOOK_NS UINT64_C(1000000000)

static void jitted_free(struct jitted *j)
{
	module_free(j->module);
	free(j);
}

/* Whether it may have this file open. *has: it has one of that kind already, which it replaces. */
static bool take_file(struct jitted *j, uid_t payer, int fd, bool *has)
{
	struct file_budget *files = j->store->files;

	if (fd < 0 || !files || *has)
		return fd >= 0 && file_budget_allows(fd);
	if (!j->has_map && !j->has_dump)
		j->payer = payer;
	*has = file_budget_has_room(files, j->payer, fd);
	if (*has)
		file_budget_take(files, j->payer);
	return *has;
}

static void give_files(struct jitted *j)
{
	for (int n = j->has_map + j->has_dump; n > 0; n--)
		file_budget_give(j->store->files, j->payer);
	j->has_map = j->has_dump = false;
}

void jitted_store_done(struct jitted_store *store)
{
	while (store->all) {
		struct jitted *j = store->all;

		store->all = j->next;
		give_files(j);
		jitted_free(j);
	}
}

struct jitted *jitted_new(struct jitted_store *store, pid_t pid)
{
	struct jitted *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->module = module_new_jit(store->names);
	if (!j->module) {
		free(j);
		return NULL;
	}
	j->pid = pid;
	j->store = store;
	j->n_users = 1;
	j->next = store->all;
	store->all = j;
	return j;
}

void jitted_hold(struct jitted *j)
{
	if (j)
		j->n_users++;
}

void jitted_drop(struct jitted *j)
{
	if (j)
		j->n_users--;
}

/* Reads the process's number in its own PID namespace, and its effective user. */
static int read_status(pid_t pid, pid_t *ret_pid, uid_t *ret_user)
{
	_cleanup_free_ char *line = NULL;
	_cleanup_fclose_ FILE *file = NULL;
	char path[32];
	size_t size = 0;
	int found = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (found < 2 && getline(&line, &size, file) > 0) {
		const char *last = strrchr(line, '\t');

		if (strncmp(line, "Uid:", 4) == 0)
			found += sscanf(line, "Uid: %*u %u", ret_user);
		else if (strncmp(line, "NSpid:", 6) == 0)
			found += sscanf(last ? last : "", "%d", ret_pid);
	}
	return found == 2 ? 0 : -ENODATA;
}

bool jitted_is_dump(pid_t pid, const char *path)
{
	const char *name = strrchr(path, '/');
	int number, end = 0;
	uid_t user;
	pid_t own;

	/* Most files are not dumps, and sscanf() is slow. */
	return name && strncmp(name, "/jit-", 5) == 0 &&
	       sscanf(name, "/jit-%d.dump%n", &number, &end) == 1 && end > 0 && name[end] == '\0' &&
	       read_status(pid, &own, &user) == 0 && number == own;
}

static uid_t payer_of(const struct jitted *j)
{
	uid_t user;

	return process_user(j->pid, &user) == 0 ? user : FINDERS_NOBODY;
}

void jitted_set_dump(struct jitted *j, int fd)
{
	uid_t payer = payer_of(j);

	if (take_file(j, payer, fd, &j->has_dump))
		jit_set_dump(j->module->jit, fd, payer);
	else
		close(fd);
}

/* The process's root; the kernel's own link never waits. */
static int open_root(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void jitted_set_dump_path(struct jitted *j, pid_t thread, const char *path, uint64_t inode)
{
	uid_t payer = payer_of(j);
	int root = open_root(thread);

	if (take_file(j, payer, root, &j->has_dump))
		jit_set_dump_path(j->module->jit, root, path, inode, payer);
	else if (root >= 0)
		close(root);
}

void jitted_meet(struct jitted *j)
{
	uid_t user, payer;
	pid_t own;
	int root;

	j->n_met++;
	if (j->is_met)
		return;
	j->is_met = true;
	if (read_status(j->pid, &own, &user) < 0)
		return;
	root = open_root(j->pid);
	payer = payer_of(j);
	if (take_file(j, payer, root, &j->has_map))
		jit_set_root(j->module->jit, root, own, user, payer);
	else if (root >= 0)
		close(root);
}

static void free_object(void *object)
{
	jitted_free(object);
}

/* Frees it or hands it to the users for freeing. False: it is still in use. */
static bool let_go(struct jitted *j, const struct module_users *users)
{
	give_files(j);
	if (!j->is_met) {
		jitted_free(j);
		return true;
	}
	if (j->is_closed)
		return users &&
		       module_is_let_go(j->module, j->closed_ns, users->oldest_ns(users->arg)) &&
		       users->release(users->arg, free_object, j) == 0;
	if (users)
		(void)users->close(users->arg, j->module);
	else
		module_close(j->module, false);
	j->is_closed = true;
	j->closed_ns = clock_now_ns();
	return false;
}

void jitted_store_forget(struct jitted_store *store, uint64_t time,
			 const struct module_users *users)
{
	if (time < store->looked + LOOK_NS)
		return;
	store->looked = time;
	for (struct jitted **at = &store->all; *at;) {
		struct jitted *j = *at, *next = j->next;

		if (j->n_users > 0)
			j->idle_from = 0;
		else if (j->idle_from == 0)
			j->idle_from = time;
		if (j->n_users == 0 && j->idle_from + IDLE_NS <= time && let_go(j, users))
			*at = next;
		else
			at = &j->next;
	}
}
