// SPDX-License-Identifier: Apache-2.0
#include "sandbox/process_user.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* user_namespaces(7) */
#define MAX_NESTED 32

static int read_user(pid_t pid, uid_t *ret)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[32], line[128];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Uid: %*u %u", ret) == 1)
			return 0;
	return -ENODATA;
}

static bool is_own(int namespace)
{
	struct stat st, own;

	return fstat(namespace, &st) == 0 && stat("/proc/self/ns/user", &own) == 0 &&
	       st.st_dev == own.st_dev && st.st_ino == own.st_ino;
}

/* Who owns the outermost user namespace that the process is in and this one is not; 0: nobody. */
static uid_t find_owner(pid_t pid)
{
	_cleanup_close_ int namespace = -1;
	char path[32];
	uid_t owner = 0;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	namespace = open(path, O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < MAX_NESTED && namespace >= 0 && !is_own(namespace); i++) {
		int parent = ioctl(namespace, NS_GET_PARENT);

		if (ioctl(namespace, NS_GET_OWNER_UID, &owner) < 0)
			owner = 0;
		close(namespace);
		namespace = parent;
	}
	return owner;
}

int process_user(pid_t pid, uid_t *ret)
{
	int err = read_user(pid, ret);
	uid_t owner = err == 0 ? find_owner(pid) : 0;

	if (owner != 0)
		*ret = owner;
	return err;
}
