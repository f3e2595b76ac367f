/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_PACKED_GRAPH_H
#define DP_REPORT_PACKED_GRAPH_H

#include "report/flame_graph.h"

/* The first side of a flame graph in little memory, a single piece, until somebody asks for it. */
struct packed_graph {
	size_t size; /* bytes of memory */
	uint32_t n_boxes, n_strings;
	uint32_t n_left_out; /* boxes that did not fit */
	struct packed_box {
		uint64_t value;
		uint32_t parent; /* number of its box, from 1, which is before it; 0: the root */
		uint32_t name;   /* number of a string, from 0 */
		uint32_t binary; /* likewise, from 1; 0: not known */
		uint32_t kind;
	} boxes[]; /* and all strings */
};

/*
 * Packs a graph; boxes of little value are left out if it took more than max_size bytes. The caller
 * frees it. 0 or -ENOMEM.
 */
int packed_graph_new(struct flame_graph *graph, size_t max_size, struct packed_graph **ret);

/*
 * Adds its values to a graph; process: only those on boxes of that name at the root; NULL: all. 0 or
 * -ENOMEM.
 */
int packed_graph_add_to(const struct packed_graph *packed, const char *process,
			struct flame_graph *graph);

#endif
