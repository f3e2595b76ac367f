// SPDX-License-Identifier: Apache-2.0
#include "cli/server_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache/disk_cache.h"
#include "log/log.h"

#define CACHE_PATH "DEBUGINFOD_CACHE_PATH"

static const char *get(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value ? value : NULL;
}

/* Puts a name behind a directory's; NULL if memory is short. */
static char *join(const char *directory, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

/* The library's choice. Makes the directory that it is in, as the library does. */
static char *choose_cache(void)
{
	const char *home = getenv("HOME") ?: "/", *given = get(CACHE_PATH);
	_cleanup_free_ char *old = NULL, *caches = NULL;
	struct stat st;

	if (given)
		return strdup(given);
	old = join(home, ".debuginfod_client_cache");
	if (old && stat(old, &st) == 0)
		return steal_ptr(old);
	caches = get("XDG_CACHE_HOME") ? strdup(get("XDG_CACHE_HOME")) : join(home, ".cache");
	if (!caches)
		return NULL;
	(void)mkdir(caches, 0700);
	return join(caches, "debuginfod_client");
}

static char *choose_own_cache(void)
{
	_cleanup_free_ char *kept = disk_cache_path(geteuid(), get("XDG_CACHE_HOME"), get("HOME"));

	if (!kept)
		return NULL;
	(void)mkdir(kept, 0700);
	return join(kept, "debuginfod");
}

static int make(const char *path)
{
	int fd;

	(void)mkdir(path, 0777); /* as the library does */
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* An outer filter may forbid the question. */
	if (faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0 &&
	    (errno == EACCES || errno == EROFS)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* One that can be used. A reference, or a negative errno. */
static int open_usable(char **ret_path)
{
	int fd;

	*ret_path = choose_cache();
	fd = *ret_path ? make(*ret_path) : -ENOMEM;
	if (fd >= 0 || !*ret_path || geteuid() != 0)
		return fd;
	log_debug("debug files are not kept in %s: %s", *ret_path, strerror(-fd));
	free(*ret_path);
	*ret_path = choose_own_cache();
	return *ret_path ? make(*ret_path) : -ENOMEM;
}

static int set_capabilities(const struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

/* Neither does it make anything with them that it would not have made without. */
static int open_without_capabilities(char **ret_path)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct all[_LINUX_CAPABILITY_U32S_3], none[_LINUX_CAPABILITY_U32S_3];
	int err, fd;

	if (syscall(SYS_capget, &header, all) < 0)
		return -errno;
	memcpy(none, all, sizeof(none));
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		none[i].effective = 0;
	err = set_capabilities(none);
	if (err < 0)
		return err;
	fd = open_usable(ret_path);
	err = set_capabilities(all);
	if (err == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

int server_cache_open(void)
{
	_cleanup_free_ char *path = NULL;
	int fd = open_without_capabilities(&path);

	if (fd >= 0 && setenv(CACHE_PATH, path, true) < 0) {
		close(fd);
		fd = -ENOMEM;
	}
	if (fd < 0)
		log_warning("no debug files are fetched: %s cannot be used for them: %s",
			    path ?: "the cache", strerror(-fd));
	return fd;
}
