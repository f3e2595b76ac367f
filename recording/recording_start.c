// SPDX-License-Identifier: Apache-2.0
#include "recording/recording_start.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "limits/limits.h"
#include "recording/recording.h"

static bool is_known(uint32_t version)
{
	return version == RECORDING_VERSION || version == RECORDING_VERSION_TIMED;
}

int recording_head_read(FILE *from, char why[RECORDING_WHY_SIZE])
{
	struct recording_head head = { 0 };
	size_t n;

	errno = 0;
	n = fread(&head, 1, sizeof(head), from);
	if (ferror(from)) {
		snprintf(why, RECORDING_WHY_SIZE, "it cannot be read: %s", strerror(errno));
		return errno ? -errno : -EIO;
	}
	if (n == 0)
		snprintf(why, RECORDING_WHY_SIZE, "it is empty: sampling had not begun");
	else if (memcmp(head.magic, RECORDING_MAGIC, n < sizeof(head.magic) ? n : 8) != 0)
		snprintf(why, RECORDING_WHY_SIZE,
			 "it is not a recording of dwarfprof (record one with -o FILE.dwarfprof)");
	else if (n < sizeof(head))
		snprintf(why, RECORDING_WHY_SIZE, "it is cut off, at its very start");
	else if (!is_known(le32toh(head.version)))
		snprintf(why, RECORDING_WHY_SIZE,
			 "it is a recording of version %" PRIu32 ", and this program reads "
			 "versions up to %u: use the dwarfprof that wrote it",
			 le32toh(head.version), RECORDING_VERSION_TIMED);
	else
		return 0;
	return -EBADMSG;
}

int recording_next_record(struct block_reader *blocks, struct view *rest, uint64_t *ret_tag,
			  struct view *ret)
{
	uint64_t size;
	int err;

	if (view_is_empty(rest)) {
		err = block_reader_next(blocks, rest);
		if (err <= 0)
			return err;
	}
	*ret_tag = view_number(rest);
	size = view_number(rest);
	*ret = view_part(rest, size);
	return rest->failed || size > RECORDING_MAX_RECORD ? -EBADMSG : 1;
}

int recording_start_read(struct block_reader *blocks, struct view *rest,
			 struct recording_context *ret)
{
	struct view record;
	uint64_t tag;
	int err = recording_next_record(blocks, rest, &tag, &record);

	if (err <= 0)
		return err < 0 ? err : -ENODATA;
	return tag == RECORDING_CONTEXT ? recording_context_read(&record, ret) : -EBADMSG;
}

int recording_context_peek(FILE *from, struct recording_context *ret)
{
	char why[RECORDING_WHY_SIZE];
	struct block_reader blocks;
	struct view rest = { 0 };
	int err = recording_head_read(from, why);

	if (err < 0)
		return err;
	err = block_reader_init(&blocks, from, sizeof(struct recording_head));
	if (err == 0)
		err = recording_start_read(&blocks, &rest, ret);
	block_reader_done(&blocks);
	return err;
}
