/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_PACKER_H
#define DP_TABLES_PACKER_H

#include <stddef.h>
#include <stdint.h>

#include "rule_set.h"
#include "transition.h"

/*
 * Rows in, an image out. Rows are kept as distances and transitions until all
 * are known; then the image is written, page by page.
 */
struct packer {
	struct rule_set rules;
	struct transitions transitions;
	uint64_t base; /* address of the first page */
	uint64_t pc;   /* of the last row */
	uint16_t rule; /* in force there */
	uint64_t n_rows;
	uint32_t *kept; /* see packer.c */
	size_t n_kept, kept_size;
};

/* 0 or -ENOMEM. `start` is the lowest address there will be. packer_done() releases it. */
int packer_init(struct packer *p, uint64_t start);
void packer_done(struct packer *p);

/*
 * From pc on, rule number `rule` of p->rules holds. Rows come in ascending
 * order; one that changes nothing is left out. 0, -ENOMEM, or -EFBIG for code
 * that spans 4 GiB and more.
 */
int packer_add(struct packer *p, uint64_t pc, uint16_t rule);

/* The image: its cells, owned by the caller, and how many. 0 or -ENOMEM. */
int packer_finish(struct packer *p, uint64_t **ret_cells, uint32_t *ret_n_cells);

#endif
