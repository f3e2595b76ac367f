// SPDX-License-Identifier: Apache-2.0
#include "elf/function_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "limits/limits.h"

/* Each has this, its symbol and its name, with their zeros. */
struct head {
	uint64_t kind, offset, size, of;
};

static int make_room(struct function_list *list, size_t size)
{
	size_t room = list->size + list->size / 2 + size;
	char *bytes;

	if (size > FUNCTION_LIST_MAX_SIZE - list->size)
		return -EFBIG;
	if (list->room >= list->size && list->room - list->size >= size)
		return 0;
	bytes = realloc(list->bytes, room);
	if (!bytes)
		return -ENOMEM;
	list->bytes = bytes;
	list->room = room;
	return 0;
}

int function_list_add(struct function_list *list, const struct listed_function *f)
{
	const struct head head = { f->kind, f->offset, f->size, f->of };
	size_t n_symbol = strlen(f->symbol) + 1, n_name = strlen(f->name) + 1;
	int err = n_symbol > 1 ? 0 : -EINVAL;
	char *at;

	if (err == 0)
		err = make_room(list, sizeof(head) + n_symbol + n_name);
	if (err < 0)
		return err;
	at = list->bytes + list->size;
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), f->symbol, n_symbol);
	memcpy(at + sizeof(head) + n_symbol, f->name, n_name);
	list->size += sizeof(head) + n_symbol + n_name;
	return 0;
}

void function_list_done(struct function_list *list)
{
	free(list->bytes);
	*list = (struct function_list){ 0 };
}

/* The text at *at, which moves behind it. NULL: it does not end. */
static const char *next_text(const struct function_list *list, size_t *at)
{
	const char *text = list->bytes + *at;
	size_t left = list->size - *at, n = left > 0 ? strnlen(text, left) : 0;

	if (n == left)
		return NULL;
	*at += n + 1;
	return text;
}

bool function_list_next(const struct function_list *list, size_t *at, struct listed_function *ret)
{
	const char *symbol, *name = NULL;
	struct head head;
	size_t next;

	if (list->size - *at <= sizeof(head))
		return false;
	memcpy(&head, list->bytes + *at, sizeof(head));
	next = *at + sizeof(head);
	symbol = next_text(list, &next);
	if (symbol)
		name = next_text(list, &next);
	if (!name || symbol[0] == '\0' || head.kind >= LISTED_N_KINDS)
		return false;
	*ret = (struct listed_function){
		(enum listed_kind)head.kind, head.offset, head.size, symbol, name, head.of
	};
	*at = next;
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
