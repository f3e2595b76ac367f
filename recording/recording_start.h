/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RECORDING_RECORDING_START_H
#define DP_RECORDING_RECORDING_START_H

#include <stdio.h>

#include "recording/block_stream.h"
#include "recording/recording_context.h"
#include "recording/recording_reader.h"

/* How a recording begins. */

/* Reads what precedes the blocks. As recording_reader_new(). */
int recording_head_read(FILE *from, char why[RECORDING_WHY_SIZE]);

/* Finds the next record, perhaps in the next block. Returns as block_reader_next(). */
int recording_next_record(struct block_reader *blocks, struct view *rest, uint64_t *ret_tag,
			  struct view *ret);

/* The first record says what was sampled. 0 or a negative errno. recording_context_done() in any case. */
int recording_start_read(struct block_reader *blocks, struct view *rest,
			 struct recording_context *ret);

/* All of that, of a file that nobody else reads. */
int recording_context_peek(FILE *from, struct recording_context *ret);

#endif
