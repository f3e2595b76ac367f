// SPDX-License-Identifier: Apache-2.0
#include "process/mapping_list.h"

#include <errno.h>
#include <string.h>

void mapping_list_init(struct mapping_list *ret, char *bytes, size_t size)
{
	*ret = (struct mapping_list){ .at = bytes, .end = bytes + size };
}

int mapping_list_next(struct mapping_list *list, struct proc_map *ret)
{
	size_t left = (size_t)(list->end - list->at);
	char *line = list->at, *end;

	if (left == 0)
		return 0;
	end = memchr(line, '\n', left < MAPPING_LIST_LINE ? left : MAPPING_LIST_LINE);
	/* The kernel ends the last line, too, and writes no zeros. */
	if (!end || memchr(line, '\0', (size_t)(end - line)))
		return -EBADMSG;
	*end = '\0';
	list->at = end + 1;
	if (proc_map_parse(line, ret) < 0 || ret->end <= ret->start || ret->end <= list->past)
		return -EBADMSG;
	if (ret->start < list->past) {
		ret->offset += list->past - ret->start;
		ret->start = list->past;
	}
	list->past = ret->end;
	return 1;
}
