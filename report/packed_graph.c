// SPDX-License-Identifier: Apache-2.0
#include "report/packed_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sum.h"

#define NONE UINT32_MAX

/* Which boxes and strings of a graph are kept. */
struct plan {
	struct flame_graph *graph;
	uint64_t least;       /* value of a box that is kept */
	uint32_t *numbers;    /* of strings by the graph's number; NONE: not kept */
	const char **strings; /* the kept ones by number */
	uint32_t n_boxes, n_strings;
	size_t strings_size;
};

static int keep_string(struct plan *p, const char *string, uint32_t *ret)
{
	uint32_t number;
	int err = string_table_add(&p->graph->strings, string, &number);

	if (err < 0)
		return err;
	if (p->numbers[number] == NONE) {
		p->numbers[number] = p->n_strings;
		p->strings[p->n_strings++] = string;
		p->strings_size += strlen(string) + 1;
	}
	*ret = p->numbers[number];
	return 0;
}

/* Chooses the boxes of at least that value, which are on others of it. */
static int choose(struct plan *p, uint64_t least)
{
	struct box *box;
	uint32_t number;
	int err = 0;

	p->least = least;
	p->n_boxes = p->n_strings = 0;
	p->strings_size = 0;
	memset(p->numbers, 0xff, p->graph->strings.n * sizeof(*p->numbers));
	for (box = p->graph->boxes; err == 0 && box; box = box->hh.next) {
		box->number = 0;
		if (box->values[0] < least)
			continue;
		box->number = ++p->n_boxes;
		err = keep_string(p, box->key.name, &number);
		if (err == 0 && box->binary)
			err = keep_string(p, box->binary, &number);
	}
	return err;
}

static size_t planned_size(const struct plan *p)
{
	return sizeof(struct packed_graph) + p->n_boxes * sizeof(struct packed_box) +
	       p->strings_size;
}

/* A box comes after the one that it is on. */
static int pack(struct plan *p, struct packed_graph *to)
{
	char *text = (char *)(to->boxes + p->n_boxes);
	struct packed_box *at = to->boxes;
	uint32_t number = 0;
	int err = 0;

	for (struct box *box = p->graph->boxes; err == 0 && box; box = box->hh.next) {
		if (!box->number)
			continue;
		at->value = box->values[0];
		at->kind = (uint32_t)box->key.kind;
		at->parent = box->key.parent->number;
		err = keep_string(p, box->key.name, &at->name);
		if (err == 0 && box->binary)
			err = keep_string(p, box->binary, &number);
		at++->binary = box->binary ? number + 1 : 0;
	}
	for (uint32_t i = 0; i < p->n_strings; i++)
		text = stpcpy(text, p->strings[i]) + 1;
	return err;
}

int packed_graph_new(struct flame_graph *graph, size_t max_size, struct packed_graph **ret)
{
	size_t n = graph->strings.n + 1;
	_cleanup_free_ uint32_t *numbers = calloc(n, sizeof(*numbers));
	_cleanup_free_ const char **strings = calloc(n, sizeof(*strings));
	struct plan p = { .graph = graph, .numbers = numbers, .strings = strings };
	_cleanup_free_ struct packed_graph *to = NULL;
	int err = numbers && strings ? choose(&p, 0) : -ENOMEM;

	graph->root.number = 0;
	while (err == 0 && p.n_boxes > 0 && planned_size(&p) > max_size)
		err = choose(&p, 2 * p.least + 1);
	if (err < 0)
		return err;
	to = calloc(1, planned_size(&p));
	if (!to)
		return -ENOMEM;
	to->size = planned_size(&p);
	to->n_boxes = p.n_boxes;
	to->n_strings = p.n_strings;
	to->n_left_out = HASH_COUNT(graph->boxes) - p.n_boxes;
	err = pack(&p, to);
	*ret = err == 0 ? steal_ptr(to) : NULL;
	return err;
}

static int add_boxes(const struct packed_graph *packed, const char *process,
		     const char *const *strings, struct box **boxes, struct flame_graph *graph)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < packed->n_boxes; i++) {
		const struct packed_box *box = &packed->boxes[i];
		struct box *parent = box->parent ? boxes[box->parent - 1] : &graph->root;
		const char *binary = box->binary ? strings[box->binary - 1] : NULL;

		if (!box->parent && process && strcmp(strings[box->name], process) != 0)
			parent = NULL;
		if (!parent)
			continue;
		if (!box->parent)
			sum_increase(&graph->root.values[0], box->value);
		err = flame_graph_add_box(graph, parent, strings[box->name], binary,
					  (enum box_kind)box->kind, 0, box->value, &boxes[i]);
	}
	return err;
}

int packed_graph_add_to(const struct packed_graph *packed, const char *process,
			struct flame_graph *graph)
{
	const char *text = (const char *)(packed->boxes + packed->n_boxes);
	_cleanup_free_ const char **strings = calloc(packed->n_strings + 1, sizeof(*strings));
	_cleanup_free_ struct box **boxes = calloc(packed->n_boxes + 1, sizeof(struct box *));

	if (!strings || !boxes)
		return -ENOMEM;
	for (uint32_t i = 0; i < packed->n_strings; i++) {
		strings[i] = text;
		text += strlen(text) + 1;
	}
	return add_boxes(packed, process, strings, boxes, graph);
}
