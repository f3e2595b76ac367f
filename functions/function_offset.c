// SPDX-License-Identifier: Apache-2.0
#include "functions/function_offset.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "tables/function_exits.h"

/* The longest instruction of any architecture. */
#define LONGEST_INSTRUCTION 16

#define WHY_SIZE 128

/* Names may have such a character, too: operator+, but no number behind it. */
bool function_offset_parse(const char *text, size_t *ret_length, uint64_t *ret_offset)
{
	const char *plus = strrchr(text, '+');
	char *end;

	if (!plus || plus == text || !isdigit((unsigned char)plus[1]))
		return false;
	errno = 0;
	*ret_offset = strtoull(plus + 1, &end, 0);
	*ret_length = (size_t)(plus - text);
	return errno == 0 && *end == '\0';
}

/* Where an instruction begins there or behind, as far as can be told; else the function's size. */
static uint64_t next_instruction(int fd, const struct listed_function *f, uint64_t offset)
{
	const uint64_t wanted = offset + LONGEST_INSTRUCTION;
	const size_t size = wanted < f->size ? wanted : f->size;
	_cleanup_free_ uint8_t *code = malloc(size);
	size_t next;

	if (!code || pread(fd, code, size, (off_t)f->offset) != (ssize_t)size)
		return f->size;
	next = function_next_instruction(code, f->offset, size, offset);
	return next < size ? next : f->size;
}

/* Writes why nothing of the function begins there. False: an instruction does. */
static bool is_wrong(int fd, const struct listed_function *f, uint64_t offset, char why[WHY_SIZE])
{
	uint64_t next;

	if (offset == 0)
		return false;
	if (f->size == 0) {
		snprintf(why, WHY_SIZE, "it is not known where the function ends");
		return true;
	}
	if (offset >= f->size) {
		snprintf(why, WHY_SIZE, "the function has only %" PRIu64 " bytes", f->size);
		return true;
	}
	next = offset < FUNCTION_ENDS_MAX_CODE ? next_instruction(fd, f, offset) : f->size;
	if (next < f->size)
		snprintf(why, WHY_SIZE,
			 "that is within an instruction; the next one begins at +%" PRIu64, next);
	else
		snprintf(why, WHY_SIZE, "no instruction is known to begin there");
	return next != offset;
}

static int move(int fd, uint64_t offset, const struct function_list *list, char why[WHY_SIZE],
		struct function_list *ret)
{
	struct listed_function f;
	int err = 0;

	for (size_t at = 0; err == 0 && function_list_next(list, &at, &f);) {
		if (f.kind == LISTED_FUNCTION && is_wrong(fd, &f, offset, why))
			return -ENOENT;
		if (f.kind == LISTED_FUNCTION) {
			f.offset += offset;
			f.size -= offset < f.size ? offset : f.size;
		}
		err = function_list_add(ret, &f);
	}
	return err;
}

int function_offset_apply(int fd, uint64_t offset, bool has_why, struct function_list *list)
{
	struct function_list moved = { 0 };
	char why[WHY_SIZE];
	int err = move(fd, offset, list, why, &moved);

	if (err == -ENOENT) {
		function_list_done(&moved);
		moved = (struct function_list){ 0 };
		err = has_why ? function_list_add(&moved,
						  &(struct listed_function){ .kind = LISTED_WHY,
									     .symbol = "?",
									     .name = why }) :
				0;
	}
	function_list_done(list);
	*list = moved;
	return err;
}
