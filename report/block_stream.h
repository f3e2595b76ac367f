/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_BLOCK_STREAM_H
#define DP_REPORT_BLOCK_STREAM_H

#include <stdbool.h>
#include <stdio.h>
#include <zlib.h>

#include "report/bytes.h"

/*
 * A stream of bytes in a file, compressed, in blocks that are each checked before they
 * are used: of a file that is cut off, all whole blocks can be read. It is one stream of
 * deflate (RFC 1951), without a header, flushed at the end of each block, so that a block
 * gains from those before it.
 */

/* A block is written when it has so many bytes, uncompressed. */
#define BLOCK_SIZE (64 << 10)
/* None has more than this, uncompressed or compressed. */
#define BLOCK_MAX (1 << 20)

/* In front of each block; numbers are little-endian. */
struct block_head {
	uint32_t size;     /* of what follows, compressed */
	uint32_t raw_size; /* and uncompressed */
	uint32_t crc;      /* CRC-32 of the two numbers, and of what follows */
};

struct block_writer {
	FILE *to;
	z_stream deflate;
	bool begun;
	struct bytes raw; /* what the next block will have, the caller's to add to */
	struct bytes packed;
};

/* `to` stays the caller's. 0 or -ENOMEM. */
int block_writer_init(struct block_writer *writer, FILE *to);
void block_writer_done(struct block_writer *writer);
/* Write what there is as a block, and flush the file. 0 or negative errno. */
int block_writer_flush(struct block_writer *writer);

struct block_reader {
	FILE *from;
	z_stream inflate;
	bool begun;
	uint64_t position; /* in the file, of the block that is read next */
	struct bytes raw, packed;
};

/* `position` is where `from` is. */
int block_reader_init(struct block_reader *reader, FILE *from, uint64_t position);
void block_reader_done(struct block_reader *reader);
/*
 * The next block's bytes, which live until the next call. Returns 1; 0 at the end of the
 * file; -ENODATA: the file ends within a block; -EBADMSG: the block is damaged; or another
 * negative errno.
 */
int block_reader_next(struct block_reader *reader, struct view *ret);

#endif
