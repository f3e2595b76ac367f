/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_FLAME_GRAPH_H
#define DP_REPORT_FLAME_GRAPH_H

#include "base/hash.h"
#include "report/frame_values.h"
#include "report/profile.h"
#include "report/report.h"
#include "report/string_table.h"
#include "report/symbolized.h"

/*
 * The boxes of a flame graph, of one profile or of two to compare: a box is a function with a given call path, on top
 * of its caller's box. The lowest boxes are processes.
 */

enum box_kind { BOX_USER, BOX_INLINED, BOX_KERNEL, BOX_MARK, BOX_PROCESS, BOX_FIRST_LANGUAGE };
/* Functions of languages have kinds of their own. */
#define BOX_LANGUAGE(kind) ((enum box_kind)(BOX_FIRST_LANGUAGE + (kind)-FRAME_FIRST_LANGUAGE))
#define BOX_N_KINDS ((int)BOX_LANGUAGE(FRAME_N_KINDS))

struct box {
	UT_hash_handle hh;
	struct box_key {
		struct box *parent;
		const char *name; /* in the graph's string table, compared by address */
		uint64_t kind;    /* enum box_kind */
	} key;
	const char *binary; /* likewise; NULL: not known */
	uint64_t values[REPORT_SIDES];
	struct value_texts texts; /* of its calls, of the first side */
	struct box *children;
	struct box *prev, *next; /* siblings */
	uint32_t number;         /* for packed_graph.h */
};

/* All zeros: empty. */
struct flame_graph {
	struct string_table strings;
	struct box *boxes; /* all except the root */
	struct box root;
	/* Put beside the boxes, of this value; NULL: none are */
	const struct frame_values *frame_values;
	const struct value *value;
};

void flame_graph_done(struct flame_graph *graph);

/*
 * Adds a value to all boxes of a stack, and to the root. `report` is the one that the stack is of;
 * `symbolized` is memory to be used again. 0 or -ENOMEM.
 */
int flame_graph_add_stack(struct flame_graph *graph, size_t side, struct report *report,
			  const struct stack *stack, uint64_t value,
			  struct symbolized_stack *symbolized);

/*
 * Finds or makes the box with this name on another one, and adds to its value, but to none below.
 * binary: NULL: not known. 0 or -ENOMEM.
 */
int flame_graph_add_box(struct flame_graph *graph, struct box *parent, const char *name,
			const char *binary, enum box_kind kind, size_t side, uint64_t value,
			struct box **ret);

/* The same as flame_graph_add_stack() with a single box that is no function. */
int flame_graph_add_mark(struct flame_graph *graph, size_t side, const char *name, uint64_t value);

/*
 * Makes a report that adds its samples to one side of a graph, with the value that people add up
 * (value_measured()). It writes nothing. 0 or -ENOMEM.
 */
int report_flame_graph_new(struct flame_graph *graph, size_t side,
			   const struct report_context *context, struct report **ret);

#endif
