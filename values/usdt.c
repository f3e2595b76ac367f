// SPDX-License-Identifier: Apache-2.0
#include "values/usdt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/elf_usdt.h"
#include "limits/limits.h"

struct list {
	struct usdt_place *of;
	size_t n, size;
};

static int add(void *arg, const struct elf_usdt *note)
{
	struct list *list = arg;
	struct usdt_place *place;

	if (list->n == USDT_MAX_PLACES)
		return -EFBIG;
	if (array_reserve(list->of, list->n, list->size) < 0)
		return -ENOMEM;
	place = &list->of[list->n++];
	memset(place, 0, sizeof(*place));
	place->offset = note->offset;
	place->semaphore = note->semaphore;
	snprintf(place->provider, sizeof(place->provider), "%s", note->provider);
	snprintf(place->name, sizeof(place->name), "%s", note->name);
	place->n_arguments = (uint32_t)usdt_arguments_parse(note->arguments, place->arguments);
	return 0;
}

int usdt_find(int fd, struct usdt_place **ret, size_t *ret_n)
{
	struct list list = { 0 };
	int err = elf_usdt_each(fd, add, &list);

	if (err < 0) {
		free(list.of);
		return err;
	}
	*ret = list.of;
	*ret_n = list.n;
	return 0;
}
