// SPDX-License-Identifier: Apache-2.0
#include "elf/function_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_functions.h"

#define HEAD_SIZE (2 * sizeof(uint64_t))

struct writer {
	struct function_list list;
	size_t room;
};

static int make_room(struct writer *w, size_t size)
{
	size_t room = w->room + w->room / 2 + size;
	char *bytes;

	if (size > FUNCTION_LIST_MAX_SIZE - w->list.size)
		return -EFBIG;
	if (w->room - w->list.size >= size)
		return 0;
	bytes = realloc(w->list.bytes, room);
	if (!bytes)
		return -ENOMEM;
	w->list.bytes = bytes;
	w->room = room;
	return 0;
}

static int add(void *arg, const char *symbol, uint64_t offset, uint64_t size)
{
	const uint64_t head[] = { offset, size };
	size_t length = strlen(symbol) + 1;
	struct writer *w = arg;
	int err = make_room(w, HEAD_SIZE + length);
	char *at;

	if (err < 0)
		return err;
	at = w->list.bytes + w->list.size;
	memcpy(at, head, HEAD_SIZE);
	memcpy(at + HEAD_SIZE, symbol, length);
	w->list.size += HEAD_SIZE + length;
	return 0;
}

int function_list_read(int fd, struct function_list *ret)
{
	struct writer w = { 0 };
	int err = elf_functions_each(fd, add, &w);

	if (err < 0)
		function_list_done(&w.list);
	*ret = w.list;
	return err;
}

void function_list_done(struct function_list *list)
{
	free(list->bytes);
	*list = (struct function_list){ 0 };
}

bool function_list_next(const struct function_list *list, size_t *at, struct listed_function *ret)
{
	size_t left = list->size - *at, length;
	const char *symbol;
	uint64_t head[2];

	if (left <= HEAD_SIZE)
		return false;
	memcpy(head, list->bytes + *at, HEAD_SIZE);
	symbol = list->bytes + *at + HEAD_SIZE;
	length = strnlen(symbol, left - HEAD_SIZE);
	if (length == 0 || length == left - HEAD_SIZE)
		return false;
	*ret = (struct listed_function){ head[0], head[1], symbol };
	*at += HEAD_SIZE + length + 1;
	return true;
}

bool function_list_is_sound(const struct function_list *list)
{
	struct listed_function function;
	size_t at = 0;

	while (function_list_next(list, &at, &function))
		continue;
	return at == list->size;
}
