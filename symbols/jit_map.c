// SPDX-License-Identifier: Apache-2.0
#include "symbols/jit_map.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbols/names.h"

#define CHUNK_SIZE (256 << 10)

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
static int add_line(struct jit_index *index, char *line)
{
	struct jit_code code = { .name = NULL };
	uint64_t start;
	uint32_t number;
	int err;

	if (!parse_number(&line, &start) || !parse_number(&line, &code.size))
		return 0;
	line += strspn(line, " \t");
	if (*line == '\0' || code.size == 0 || code.size > JIT_CODE_MAX)
		return 0;
	code.name = strdup(line);
	if (!code.name)
		return -ENOMEM;
	err = jit_index_add_code(index, &code, &number);
	if (err == 0)
		err = jit_index_place(index, number, start, 0);
	return err == -EINVAL ? 0 : err;
}

/*
 * Adds the complete lines of a chunk that has room for one more byte. Returns their size in bytes.
 */
static int add_lines(struct jit_index *index, char *chunk, size_t size, size_t *ret_done)
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
		line[length < JIT_MAP_LINE_MAX ? length : JIT_MAP_LINE_MAX] = '\0';
		err = add_line(index, line);
	}
	*ret_done = done;
	return err;
}

int jit_map_read(struct jit_map *map, const struct names *names, struct jit_index *index,
		 size_t max_memory)
{
	_cleanup_free_ char *chunk = NULL;
	struct stat st;
	size_t done;
	int err = 0;

	if (fstat(map->fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size > JIT_FILE_MAX)
		return -EFBIG;
	if ((uint64_t)st.st_size < map->position)
		map->position = 0;
	if ((uint64_t)st.st_size == map->position)
		return 0;
	chunk = malloc(CHUNK_SIZE + 1);
	if (!chunk)
		return -ENOMEM;
	do {
		ssize_t n = pread(map->fd, chunk, CHUNK_SIZE, (off_t)map->position);

		if (n <= 0)
			return n < 0 ? -errno : 0;
		err = add_lines(index, chunk, (size_t)n, &done);
		map->position += done;
		if (err == 0 && index->memory > max_memory)
			err = -E2BIG;
	} while (err == 0 && done > 0 && !names_disabled(names));
	return err;
}
