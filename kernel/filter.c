// SPDX-License-Identifier: Apache-2.0
#include "kernel/filter.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/cpus.h"

void filter_init(struct filter *f)
{
	*f = (struct filter){ .cgroup_fd = -1 };
}

static void cgroup_done(struct filter *f)
{
	free(f->cgroup);
	free(f->cgroup_path);
	if (f->cgroup_fd >= 0)
		close(f->cgroup_fd);
	f->cgroup = f->cgroup_path = NULL;
	f->cgroup_fd = -1;
}

static void comm_done(struct filter *f)
{
	if (f->comm)
		regfree(&f->regex);
	free(f->comm);
	f->comm = NULL;
}

void filter_done(struct filter *f)
{
	free(f->cpus);
	free(f->user);
	cgroup_done(f);
	comm_done(f);
	filter_init(f);
}

/* Stores a copy of what was given. 0 or -ENOMEM. */
static int keep(char **where, const char *text, char *why)
{
	char *copy = strdup(text);

	if (!copy) {
		snprintf(why, FILTER_WHY_SIZE, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	free(*where);
	*where = copy;
	return 0;
}

/* Parses "3" or "0-3", up to a comma or the end. */
static int parse_range(const char **text, unsigned long *ret_first, unsigned long *ret_last)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	*ret_first = *ret_last = strtoul(*text, &end, 10);
	if (*end == '-') {
		if (!isdigit((unsigned char)end[1]))
			return -EINVAL;
		*ret_last = strtoul(end + 1, &end, 10);
	}
	if ((*end != ',' && *end != '\0') || *ret_last < *ret_first)
		return -EINVAL;
	if (*end == ',' && *++end == '\0')
		return -EINVAL;
	*text = end;
	return 0;
}

int filter_set_cpus(struct filter *f, const char *list, char why[FILTER_WHY_SIZE])
{
	_cleanup_free_ char *all = NULL;
	char online[CPUS_LIST_SIZE];
	const char *rest = list;

	cpus_read(online);
	online[strcspn(online, "\n")] = '\0';
	do {
		unsigned long first, last;

		if (parse_range(&rest, &first, &last) < 0) {
			snprintf(why, FILTER_WHY_SIZE,
				 "-C takes a list of CPUs such as 0-3,7, not '%s'", list);
			return -EINVAL;
		}
		for (unsigned long cpu = first; cpu <= last; cpu++) {
			if (cpu >= DP_MAX_CPUS || !cpus_has(online, cpu)) {
				snprintf(why, FILTER_WHY_SIZE,
					 "CPU %lu is not there or offline; online are %.300s", cpu,
					 online);
				return -ENODEV;
			}
			f->mask[cpu / 64] |= UINT64_C(1) << cpu % 64;
		}
	} while (*rest != '\0');
	if (f->cpus && asprintf(&all, "%s,%s", f->cpus, list) < 0)
		all = NULL;
	return keep(&f->cpus, all ? all : list, why);
}

bool filter_has_cpu(const struct filter *f, unsigned int cpu)
{
	return !f->cpus || (cpu < DP_MAX_CPUS && f->mask[cpu / 64] >> cpu % 64 & 1);
}

int filter_set_user(struct filter *f, const char *user, char why[FILTER_WHY_SIZE])
{
	const struct passwd *entry = getpwnam(user);
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(user, &end, 10);
	if (entry) {
		number = entry->pw_uid;
	} else if (!isdigit((unsigned char)user[0]) || *end || errno || number >= UINT32_MAX) {
		snprintf(why, FILTER_WHY_SIZE, "there is no user '%s'", user);
		return -ENOENT;
	}
	f->uid = (uid_t)number;
	return keep(&f->user, user, why);
}

static bool is_cgroup2(const char *path)
{
	struct statfs fs;
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && statfs(path, &fs) == 0 &&
	       fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* Finds the mount point of the cgroup v2 file system. 0 or -ENOENT. */
static int find_cgroup2(char ret[PATH_MAX])
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *entry;
	int err = -ENOENT;

	while (mounts && err < 0 && (entry = getmntent(mounts)))
		if (strcmp(entry->mnt_type, "cgroup2") == 0 &&
		    snprintf(ret, PATH_MAX, "%s", entry->mnt_dir) < PATH_MAX)
			err = 0;
	if (mounts)
		endmntent(mounts);
	return err;
}

/* Length of the prefix of a cgroup's path that is the mount point of its file system. */
static size_t length_of_mount(const char *path)
{
	_cleanup_free_ char *parent = strdup(path);
	size_t length = strlen(path);
	char *slash;

	while (parent && (slash = strrchr(parent, '/'))) {
		*slash = '\0';
		if (!is_cgroup2(slash == parent ? "/" : parent))
			break;
		length = (size_t)(slash - parent);
	}
	return length;
}

/*
 * Finds the directory of a cgroup: a directory of the file system, or else a cgroup path as in
 * /proc/PID/cgroup and as perf takes it.
 */
static int find_cgroup(const char *path, char ret[PATH_MAX], char *why)
{
	char mount[PATH_MAX] = "", joined[2 * PATH_MAX];
	bool mounted = find_cgroup2(mount) == 0;

	snprintf(joined, sizeof(joined), "%s/%s", mount, path);
	if (path[0] == '/' && realpath(path, ret) && is_cgroup2(ret))
		return 0;
	if (mounted && realpath(joined, ret) && is_cgroup2(ret))
		return 0;
	if (!mounted)
		snprintf(why, FILTER_WHY_SIZE,
			 "-G needs a cgroup v2 file system, and none is mounted; try: "
			 "mount -t cgroup2 none /sys/fs/cgroup");
	else if (path[0] == '/' && access(path, F_OK) == 0)
		snprintf(why, FILTER_WHY_SIZE, "%.200s is no cgroup v2; those are in %.200s", path,
			 mount);
	else
		snprintf(why, FILTER_WHY_SIZE, "there is no cgroup %.200s in %.200s", path, mount);
	return -ENOENT;
}

int filter_set_cgroup(struct filter *f, const char *path, char why[FILTER_WHY_SIZE])
{
	char directory[PATH_MAX];
	int err = find_cgroup(path, directory, why);

	if (err < 0)
		return err;
	cgroup_done(f);
	f->cgroup_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->cgroup_fd < 0) {
		err = -errno;
		snprintf(why, FILTER_WHY_SIZE, "cannot open %.300s: %s", directory, strerror(-err));
		return err;
	}
	err = keep(&f->cgroup_path, directory + length_of_mount(directory), why);
	return err < 0 ? err : keep(&f->cgroup, path, why);
}

int filter_set_comm(struct filter *f, const char *regex, char why[FILTER_WHY_SIZE])
{
	int err;

	comm_done(f);
	err = regcomp(&f->regex, regex, REG_EXTENDED | REG_NOSUB);
	if (err) {
		char said[256];

		regerror(err, &f->regex, said, sizeof(said));
		snprintf(why, FILTER_WHY_SIZE, "--comm takes a regular expression, not '%s': %s",
			 regex, said);
		return -EINVAL;
	}
	err = keep(&f->comm, regex, why);
	if (err < 0)
		regfree(&f->regex);
	return err;
}

bool filter_is_set(const struct filter *f)
{
	return f->cpus || filter_by_process(f);
}

bool filter_by_process(const struct filter *f)
{
	return f->user || f->cgroup || f->comm;
}

bool filter_matches_comm(const struct filter *f, const char comm[DP_COMM_SIZE])
{
	char name[DP_COMM_SIZE + 1] = "";
	bool matches;

	if (!f->comm)
		return true;
	memcpy(name, comm, DP_COMM_SIZE);
	matches = regexec(&f->regex, name, 0, NULL, 0) == 0;
	if (!matches && f->tell)
		f->tell(f->arg, comm);
	return matches;
}

/* Finds the first line in a file of /proc/PID with this start; returns the rest. Or -ENOENT. */
static int read_line(pid_t pid, const char *file, const char *start, char *ret, size_t size)
{
	_cleanup_fclose_ FILE *stream = NULL;
	char path[64];
	size_t n = strlen(start);

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	stream = fopen(path, "re");
	while (stream && fgets(ret, (int)size, stream)) {
		if (strncmp(ret, start, n) != 0)
			continue;
		ret[strcspn(ret, "\n")] = '\0';
		memmove(ret, ret + n, strlen(ret + n) + 1);
		return 0;
	}
	return -ENOENT;
}

static bool matches_user(const struct filter *f, pid_t pid)
{
	char line[256];
	unsigned int effective;

	return read_line(pid, "status", "Uid:", line, sizeof(line)) < 0 ||
	       sscanf(line, "%*u %u", &effective) != 1 || effective == f->uid;
}

static bool matches_cgroup(const struct filter *f, pid_t pid)
{
	size_t n = strlen(f->cgroup_path);
	char line[PATH_MAX + 8];

	if (read_line(pid, "cgroup", "0::", line, sizeof(line)) < 0)
		return true;
	return strncmp(line, f->cgroup_path, n) == 0 && (line[n] == '/' || line[n] == '\0');
}

/* A name may contain any byte but zero, including newlines. */
static bool matches_comm(const struct filter *f, pid_t pid)
{
	_cleanup_close_ int fd = -1;
	char path[32], comm[DP_COMM_SIZE + 1] = "";
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, comm, DP_COMM_SIZE);
	if (n <= 0)
		return true;
	comm[n - 1] = '\0'; /* the newline that /proc appends */
	return filter_matches_comm(f, comm);
}

bool filter_matches_process(const struct filter *f, pid_t pid)
{
	if (f->comm && !matches_comm(f, pid))
		return false;
	if (f->user && !matches_user(f, pid))
		return false;
	return !f->cgroup || matches_cgroup(f, pid);
}

void filter_describe(const struct filter *f, char *buffer, size_t size)
{
	const struct {
		const char *what, *value;
	} parts[] = {
		{ "of user", f->user },
		{ "named", f->comm },
		{ "in cgroup", f->cgroup },
		{ "on CPUs", f->cpus },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t n = strlen(buffer);

		if (parts[i].value)
			snprintf(buffer + n, size - n, " %s %s", parts[i].what, parts[i].value);
	}
}
