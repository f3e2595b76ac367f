/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BENCH_LOOKUP_REQUEST_H
#define DP_BENCH_LOOKUP_REQUEST_H

#include "bpf/abi.h"

/* Number of addresses that are looked up in turn; a power of two. */
#define LOOKUP_ADDRESSES 65536

/* Request to the programs of lookup.bpf.c, and their answer. */
struct lookup_request {
	__u32 cell; /* of the table */
	__u32 n_lookups;
	__u64 ns;  /* total time */
	__u64 sum; /* of the numbers of the rules found */
};

/*
 * The plain table for comparison: sorted rows of 4 bytes, with an index of 8 bytes per page of 4
 * KiB of code; each page is searched by bisection.
 */
#define PLAIN_PAGE_BITS 12
#define PLAIN_PAGE_SIZE (1 << PLAIN_PAGE_BITS)
#define PLAIN_SEARCH_STEPS 12

struct plain_row {
	__u16 pc;
	__u16 rule;
};

struct plain_page {
	__u32 rows; /* cell relative to the table */
	__u16 n_rows;
	__u16 rule; /* in effect at the start of the page */
};

struct plain_table {
	__u64 base;
	__u32 n_pages;
	__u32 pages; /* cell relative to the table */
};

#endif
