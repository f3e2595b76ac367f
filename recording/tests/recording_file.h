/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RECORDING_TESTS_RECORDING_FILE_H
#define DP_RECORDING_TESTS_RECORDING_FILE_H

#include "cfi/tests/fuzz.h"
#include "recording/block_stream.h"
#include "recording/recording.h"

/* Puts the records of a fuzzer's input into a file as a writer does; the caller frees it. */
static inline void recording_file_make(struct feed *feed, size_t block_size, char **ret,
				       size_t *ret_size)
{
	struct recording_head head = { .version = RECORDING_VERSION };
	struct block_writer writer;
	FILE *file = open_memstream(ret, ret_size);

	memcpy(head.magic, RECORDING_MAGIC, sizeof(head.magic));
	EXPECT(file && fwrite(&head, sizeof(head), 1, file) == 1);
	EXPECT(block_writer_init(&writer, file) == 0);
	while (feed->pos < feed->end) {
		size_t left = (size_t)(feed->end - feed->pos);
		size_t size = left < block_size ? left : block_size;

		bytes_put(&writer.raw, feed->pos, size);
		feed->pos += size;
		EXPECT(block_writer_flush(&writer) == 0);
	}
	block_writer_done(&writer);
	EXPECT(fclose(file) == 0);
}

#endif
