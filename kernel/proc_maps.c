// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

int proc_maps_open(struct proc_maps *ret, pid_t pid)
{
	char path[32];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	*ret = (struct proc_maps){ .file = file };
	return 0;
}

void proc_maps_close(struct proc_maps *maps)
{
	if (maps->file)
		fclose(maps->file);
	free(maps->line);
	*maps = (struct proc_maps){ 0 };
}

/*
 * The kernel escapes only newlines of a path, as `\012` (seq_path() in show_map_vma()); not even
 * backslashes.
 */
static void decode_newlines(char *path)
{
	static const char code[] = "\\012";
	size_t size = strlen(code);

	for (char *at = strstr(path, code); at; at = strstr(at + 1, code)) {
		*at = '\n';
		memmove(at + 1, at + size, strlen(at + size) + 1);
	}
}

void proc_maps_strip_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t size = strlen(path);

	if (path[0] == '/' && size > strlen(mark) && strcmp(path + size - strlen(mark), mark) == 0)
		path[size - strlen(mark)] = '\0';
}

int proc_map_parse(char *line, struct proc_map *ret)
{
	struct proc_map map;
	unsigned int major, minor;
	char permissions[5] = ""; /* shorter ones have no x */
	int name_at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &map.start,
		   &map.end, permissions, &map.offset, &major, &minor, &map.inode, &name_at) != 7)
		return -EBADMSG;
	map.device = makedev(major, minor);
	map.executable = permissions[2] == 'x';
	decode_newlines(line + name_at);
	proc_maps_strip_deleted(line + name_at);
	map.name = line + name_at;
	*ret = map;
	return 0;
}

int proc_maps_next(struct proc_maps *maps, struct proc_map *ret)
{
	ssize_t n;
	int err;

	errno = 0;
	n = getline(&maps->line, &maps->line_size, maps->file);
	if (n < 0)
		return errno == 0 ? 0 : -errno;
	if (maps->line[n - 1] == '\n')
		maps->line[n - 1] = '\0';
	err = proc_map_parse(maps->line, ret);
	return err < 0 ? err : 1;
}
