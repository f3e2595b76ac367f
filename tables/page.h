/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_PAGE_H
#define DP_TABLES_PAGE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/* The rows of one page of an image, and their packed form: struct dp_page and its data. */

struct page_row {
	uint16_t pc; /* low DP_PAGE_BITS bits, not 0 */
	uint16_t rule;
	uint8_t code; /* how its rule is encoded, relative to the previous row's */
};

struct page {
	uint16_t rule; /* in force at the page's start */
	uint16_t n_rows;
	struct page_row rows[DP_PAGE_SIZE]; /* ascending */
};

/* How rules are encoded, by rule number. */
struct page_codes {
	const uint16_t *state_of; /* the rule's state */
	const uint8_t *start_of;  /* dp_anchor.start */
};

#define PAGE_MAX_DATA                                                                              \
	(DP_MAX_BLOCKS * (sizeof(struct dp_anchor) + DP_BLOCK_MAX_SIZE) + 1 + UINT8_MAX)

/* Chooses the length of the page's blocks, dp_page.block_bits. */
uint8_t page_block_bits(const struct page *page);

/* Writes the data of a page with rows. Returns its size, and the blocks' stride. */
size_t page_write(const struct page *page, uint8_t block_bits, const struct page_codes *codes,
		  uint8_t ret_data[PAGE_MAX_DATA], uint8_t *ret_stride);

#endif
