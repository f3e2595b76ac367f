// SPDX-License-Identifier: Apache-2.0
#include "symbols/jit_map.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"

#define CHUNK_SIZE (256 << 10)

static int find_map(int root, pid_t pid, uint64_t flags, struct stat *ret)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int fd = -1;
	char path[32];

	snprintf(path, sizeof(path), "tmp/perf-%d.map", pid);
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd < 0 || fstat(fd, ret) < 0)
		return -ENOENT;
	return steal_fd(&fd);
}

int jit_map_open(int root, pid_t pid, uid_t user)
{
	struct stat st;
	_cleanup_close_ int fd = find_map(root, pid, O_NOFOLLOW, &st);
	bool is_link = fd >= 0 && S_ISLNK(st.st_mode);
	char path[32];

	if (is_link) {
		if (st.st_uid != user && st.st_uid != 0)
			return -ENOENT;
		close(fd);
		fd = find_map(root, pid, 0, &st);
	}
	if (fd < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	if (st.st_uid != user && (st.st_uid != 0 || is_link || !(st.st_mode & S_IROTH)))
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static bool parse_number(char **at, uint64_t *ret)
{
	char *end;

	while (**at == ' ' || **at == '\t')
		(*at)++;
	/* strtoull() would also accept a sign. */
	if (!isxdigit((unsigned char)**at))
		return false;
	errno = 0;
	*ret = strtoull(*at, &end, 16);
	if (errno != 0 || (*end != ' ' && *end != '\t'))
		return false;
	*at = end;
	return true;
}

/* Skips an invalid line. */
static int add_line(struct jit_pieces *to, char *line)
{
	struct jit_code code = { .name = NULL };
	uint64_t start;

	if (!parse_number(&line, &start) || !parse_number(&line, &code.size))
		return 0;
	line += strspn(line, " \t");
	if (code.size > JIT_CODE_MAX)
		LIMIT_HIT(JIT_CODE_MAX);
	if (*line == '\0' || code.size == 0 || code.size > JIT_CODE_MAX)
		return 0;
	code.name = line;
	return jit_pieces_add(to, &code, start, 0);
}

/*
 * Adds the complete lines of a chunk that has room for one more byte. Returns their size in bytes.
 */
static int add_lines(struct jit_pieces *to, char *chunk, size_t size, size_t *ret_done)
{
	size_t done = 0;
	int err = 0;

	while (err == 0 && done < size) {
		char *line = chunk + done;
		char *end = memchr(line, '\n', size - done);
		size_t length = end ? (size_t)(end - line) : size - done;

		if (!end && length <= JIT_MAP_LINE_MAX)
			break; /* it is still being written */
		done += length + (end != NULL);
		if (length > JIT_MAP_LINE_MAX)
			LIMIT_HIT(JIT_MAP_LINE_MAX);
		line[length < JIT_MAP_LINE_MAX ? length : JIT_MAP_LINE_MAX] = '\0';
		err = add_line(to, line);
	}
	*ret_done = done;
	return err;
}

int jit_map_read(int fd, struct jit_position *at, struct jit_pieces *to)
{
	_cleanup_free_ char *chunk = NULL;
	struct stat st;
	uint64_t begun;
	size_t done;
	int err;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size > JIT_FILE_MAX)
		return -EFBIG;
	if ((uint64_t)st.st_size < at->at)
		at->at = 0;
	if ((uint64_t)st.st_size == at->at)
		return 0;
	begun = at->at;
	chunk = malloc(CHUNK_SIZE + 1);
	if (!chunk)
		return -ENOMEM;
	do {
		ssize_t n = pread(fd, chunk, CHUNK_SIZE, (off_t)at->at);

		if (n <= 0)
			return n < 0 ? -errno : 0;
		err = add_lines(to, chunk, (size_t)n, &done);
		at->at += done;
		if (err < 0)
			return err;
	} while (done > 0 && to->n < JIT_PIECES_ENOUGH && at->at - begun < JIT_READ_ENOUGH);
	return done > 0;
}
