// SPDX-License-Identifier: Apache-2.0
#include "report/flame_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/sum.h"
#include "report/value.h"

/* A report that only adds to a graph. */
struct graphed {
	struct report report;
	struct flame_graph *graph;
	size_t side;
	struct profile *profile;
	struct value value;
	struct symbolized_stack symbolized;
};

void flame_graph_done(struct flame_graph *graph)
{
	struct box *box, *next;

	HASH_ITER(hh, graph->boxes, box, next) {
		HASH_DEL(graph->boxes, box);
		value_texts_done(&box->texts);
		free(box);
	}
	string_table_done(&graph->strings);
	*graph = (struct flame_graph){ 0 };
}

static int keep(struct flame_graph *graph, const char *text, const char **ret)
{
	uint32_t number;
	int err = string_table_add(&graph->strings, text, &number);

	if (err == 0)
		*ret = graph->strings.strings[number];
	return err;
}

int flame_graph_add_box(struct flame_graph *graph, struct box *parent, const char *name,
			const char *binary, enum box_kind kind, size_t side, uint64_t value,
			struct box **ret)
{
	struct box_key key = { .parent = parent, .kind = kind };
	struct box *box;

	if (keep(graph, name, &key.name) < 0)
		return -ENOMEM;
	HASH_FIND(hh, graph->boxes, &key, sizeof(key), box);
	if (!box) {
		box = calloc(1, sizeof(*box));
		if (!box)
			return -ENOMEM;
		box->key = key;
		if (binary && keep(graph, binary, &box->binary) < 0) {
			free(box);
			return -ENOMEM;
		}
		HASH_ADD(hh, graph->boxes, key, sizeof(key), box);
		if (!HASH_IS_ADDED(hh, box)) {
			free(box);
			return -ENOMEM;
		}
		DL_APPEND(parent->children, box);
	}
	sum_increase(&box->values[side], value);
	*ret = box;
	return 0;
}

static enum box_kind symbolized_box_kind(const struct symbolized_frame *symbolized)
{
	if (symbolized->kind == SYMBOLIZED_MARK)
		return BOX_MARK;
	if (symbolized->kind == SYMBOLIZED_KERNEL)
		return BOX_KERNEL;
	if (symbolized->language >= FRAME_FIRST_LANGUAGE)
		return BOX_LANGUAGE(symbolized->language);
	return symbolized->is_inlined ? BOX_INLINED : BOX_USER;
}

int flame_graph_add_stack(struct flame_graph *graph, size_t side, struct report *report,
			  const struct stack *stack, uint64_t value,
			  struct symbolized_stack *symbolized)
{
	const char *comm = *stack->common.comm ? stack->common.comm : "?";
	struct box *box;
	int err = symbolized_stack_make(report, stack, SYMBOLIZED_LABELS, symbolized);

	if (err == 0)
		err = flame_graph_add_box(graph, &graph->root, comm, NULL, BOX_PROCESS, side, value,
					  &box);
	for (size_t i = symbolized->n; err == 0 && i-- > 0;) {
		const struct symbolized_frame *frame = &symbolized->items[i];

		err = flame_graph_add_box(graph, box, frame->name, frame->binary,
					  symbolized_box_kind(frame), side, value, &box);
		if (err == 0 && graph->frame_values)
			err = frame_values_sum(graph->frame_values, stack, frame->frame,
					       graph->value, &box->texts);
	}
	sum_increase(&graph->root.values[side], value);
	return err;
}

int flame_graph_add_mark(struct flame_graph *graph, size_t side, const char *name, uint64_t value)
{
	struct box *box;

	sum_increase(&graph->root.values[side], value);
	return flame_graph_add_box(graph, &graph->root, name, NULL, BOX_MARK, side, value, &box);
}

static int graphed_add(struct report *report, const struct sample *sample,
		       const struct totals *totals)
{
	struct sample alike = *sample;

	alike.labels = NULL; /* as in a picture of one profile */
	return profile_add(((struct graphed *)report)->profile, &alike);
}

static int graph_stack(const struct stack *stack, void *arg)
{
	struct graphed *g = arg;

	return flame_graph_add_stack(g->graph, g->side, &g->report, stack,
				     value_of_stack(&g->value, stack), &g->symbolized);
}

static int graphed_finish(struct report *report, const struct totals *totals)
{
	struct graphed *g = (struct graphed *)report;

	g->value = value_measured(&report->context);
	return profile_for_each(g->profile, graph_stack, g);
}

static void graphed_free(struct report *report)
{
	struct graphed *g = (struct graphed *)report;

	symbolized_stack_done(&g->symbolized);
	profile_free(g->profile);
	free(g);
}

int report_flame_graph_new(struct flame_graph *graph, size_t side,
			   const struct report_context *context, struct report **ret)
{
	struct graphed *g = calloc(1, sizeof(*g));

	if (!g || profile_new(context->symbols ? 0 : PROFILE_UNNAMED, &g->profile) < 0) {
		free(g);
		return -ENOMEM;
	}
	g->report.context = *context;
	g->report.add = graphed_add;
	g->report.finish = graphed_finish;
	g->report.free = graphed_free;
	g->graph = graph;
	g->side = side;
	*ret = &g->report;
	return 0;
}
