/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BENCH_LOOKUP_REQUEST_H
#define DP_BENCH_LOOKUP_REQUEST_H

#include "bpf/abi.h"

/* Addresses that are looked up, one after the other; a power of two. */
#define LOOKUP_ADDRESSES 65536

/* What the programs of lookup.bpf.c are asked, and what they answer. */
struct lookup_request {
	__u32 cell; /* of the table */
	__u32 n_lookups;
	__u64 ns;  /* that all of them took */
	__u64 sum; /* of the rule numbers found */
};

/*
 * The table to compare with: rows of 4 bytes, sorted, and an index of pages of
 * 4 KiB, 8 bytes for each, in which they are searched by halves.
 */
#define PLAIN_PAGE_BITS 12
#define PLAIN_PAGE_SIZE (1 << PLAIN_PAGE_BITS)
#define PLAIN_SEARCH_STEPS 12

struct plain_row {
	__u16 pc;
	__u16 rule;
};

struct plain_page {
	__u32 rows; /* cell, from the table's start */
	__u16 n_rows;
	__u16 rule; /* in force at the page's start */
};

struct plain_table {
	__u64 base;
	__u32 n_pages;
	__u32 pages; /* cell, from the table's start */
};

#endif
