// SPDX-License-Identifier: Apache-2.0
/*
 * A list of mappings as a fetcher returns it, which somebody may have taken over. Input: the list.
 * What is read from it is what the lines say, in order, whatever comes after them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/tests/fuzz.h"
#include "process/mapping_list.h"

static char *copy(const uint8_t *data, size_t size)
{
	char *bytes = malloc(size ? size : 1);

	EXPECT(bytes);
	if (size > 0)
		memcpy(bytes, data, size);
	return bytes;
}

/* Reads all; ret: how many, and what they add up to. Returns the last result. */
static int read_list(const uint8_t *data, size_t size, size_t *ret_n, uint64_t *ret_sum)
{
	char *bytes = copy(data, size);
	struct mapping_list list;
	struct proc_map map;
	uint64_t past = 0;
	int err;

	*ret_n = *ret_sum = 0;
	mapping_list_init(&list, bytes, size);
	while ((err = mapping_list_next(&list, &map)) == 1) {
		EXPECT(map.start >= past && map.end > map.start);
		EXPECT(map.name >= bytes && map.name + strlen(map.name) < bytes + size);
		past = map.end;
		*ret_sum = *ret_sum * 31 + map.start + strlen(map.name);
		++*ret_n;
	}
	EXPECT(err == 0 || err == -EBADMSG);
	EXPECT(list.at >= bytes && list.at <= bytes + size);
	free(bytes);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n, n_again, whole = size;
	uint64_t sum, sum_again;
	int err = read_list(data, size, &n, &sum);

	if (err < 0)
		return 0;
	/* A list is whole if each line is: where it is cut within one, it is none. */
	while (whole > 0 && data[whole - 1] != '\n')
		whole--;
	EXPECT(whole == size);
	if (size > 0)
		EXPECT(read_list(data, size - 1, &n_again, &sum_again) == -EBADMSG &&
		       n_again + 1 == n);
	EXPECT(read_list(data, size, &n_again, &sum_again) == 0 && n_again == n &&
	       sum_again == sum);
	return 0;
}
