// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_target.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/security_domain.h"

int probe_target_open(unsigned int pid, struct probe_target *ret)
{
	int err;

	*ret = (struct probe_target){ pid, (int)syscall(SYS_pidfd_open, pid, 0), NULL };
	/* The number of a thread that is not its process's first. */
	if (ret->pidfd < 0)
		return errno == EINVAL || errno == ENOENT ? -ESRCH : -errno;
	err = security_domain_read(pid, &ret->domain);
	if (err < 0)
		probe_target_close(ret);
	return err;
}

void probe_target_close(struct probe_target *t)
{
	if (t->pidfd >= 0)
		close(t->pidfd);
	t->pidfd = -1;
	free(t->domain);
	t->domain = NULL;
}

bool probe_target_has_ended(const struct probe_target *t)
{
	struct pollfd fd = { .fd = t->pidfd, .events = POLLIN };

	return poll(&fd, 1, 0) != 0;
}

/* Real, effective and saved: the other one is for file systems. */
static bool are_all(const unsigned int ids[3], unsigned int id)
{
	return ids[0] == id && ids[1] == id && ids[2] == id;
}

static bool has_rights_of(unsigned int pid, uid_t user, gid_t group)
{
	_cleanup_fclose_ FILE *file = NULL;
	unsigned int users[3] = { -1U, -1U, -1U }, groups[3] = { -1U, -1U, -1U };
	unsigned long long capabilities = 1;
	char path[32], line[256];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		(void)sscanf(line, "Uid: %u %u %u", &users[0], &users[1], &users[2]);
		(void)sscanf(line, "Gid: %u %u %u", &groups[0], &groups[1], &groups[2]);
		(void)sscanf(line, "CapPrm: %llx", &capabilities);
	}
	return are_all(users, user) && are_all(groups, group) && capabilities == 0;
}

/* Of what may not be dumped, files in /proc are root's (task_dump_owner(), fs/proc/base.c). */
static bool is_dumpable(unsigned int pid, uid_t user)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/mem", pid);
	return stat(path, &st) == 0 && st.st_uid == user;
}

static bool is_in_same_domain(const struct probe_target *t)
{
	_cleanup_free_ char *now = NULL;

	if (security_domain_read(t->pid, &now) < 0)
		return false;
	/* One that may not be read may be any. */
	return t->domain ? now && *now && strcmp(now, t->domain) == 0 : !now;
}

bool probe_target_is_of(const struct probe_target *t, uid_t user, gid_t group)
{
	return has_rights_of(t->pid, user, group) && is_dumpable(t->pid, user) &&
	       is_in_same_domain(t) && !probe_target_has_ended(t);
}
