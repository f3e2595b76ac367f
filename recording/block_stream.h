/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RECORDING_BLOCK_STREAM_H
#define DP_RECORDING_BLOCK_STREAM_H

#include <stdbool.h>
#include <stdio.h>
#include <zlib.h>

#include "report/bytes.h"

/*
 * A compressed stream of bytes in a file, in blocks that are each checked before use: of a
 * truncated file, all complete blocks can be read. It is one deflate stream (RFC 1951) without a
 * header, flushed at the end of each block, so that blocks share a dictionary.
 */

/* A block is written when it has this many bytes, uncompressed. */
#define BLOCK_SIZE (64 << 10)
/* The largest block, uncompressed or compressed. */
#define BLOCK_MAX (1 << 20)

/* The head of each block; numbers are little-endian. */
struct block_head {
	uint32_t size;     /* of the compressed data that follow */
	uint32_t raw_size; /* uncompressed */
	uint32_t crc;      /* CRC-32 of the two sizes and the data */
};

struct block_writer {
	FILE *to;
	z_stream deflate;
	bool begun;
	struct bytes raw; /* the next block, to which the caller adds */
	struct bytes packed;
};

/* The caller keeps `to`. 0 or -ENOMEM. */
int block_writer_init(struct block_writer *writer, FILE *to);
void block_writer_done(struct block_writer *writer);
/* Writes the pending bytes as a block, and flushes the file. 0 or a negative errno. */
int block_writer_flush(struct block_writer *writer);

struct block_reader {
	FILE *from;
	z_stream inflate;
	bool begun;
	uint64_t position; /* of the next block in the file */
	struct bytes raw, packed;
};

/* `position` is the current one of `from`. */
int block_reader_init(struct block_reader *reader, FILE *from, uint64_t position);
void block_reader_done(struct block_reader *reader);
/*
 * Returns the next block's bytes, valid until the next call. 1; 0 at the end of the file; -ENODATA:
 * the file ends inside a block; -EBADMSG: the block is damaged; or another negative errno.
 */
int block_reader_next(struct block_reader *reader, struct view *ret);

#endif
