// SPDX-License-Identifier: Apache-2.0
/* A flame graph as a picture, for documents and chats. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "formats/markup.h"
#include "formats/picture.h"
#include "formats/report_format.h"
#include "formats/svg.h"
#include "report/group.h"
#include "report/label_counts.h"
#include "report/label_set.h"
#include "report/report.h"
#include "report/value.h"

#define HEAD_HEIGHT 74
#define LEGEND_Y 62
#define LABELS_X 400.0 /* right of the legend */

static const struct box_colours {
	const char *word;
	struct picture_colour lightest; /* a function's name determines how much darker it is */
} colours[BOX_N_KINDS] = { [BOX_USER] = { "user", { 255, 190, 95 } },
			   [BOX_INLINED] = { "inlined", { 170, 225, 140 } },
			   [BOX_KERNEL] = { "kernel", { 140, 190, 250 } },
			   [BOX_MARK] = { "mark", { 205, 205, 205 } },
			   [BOX_PROCESS] = { "process", { 230, 220, 200 } },
#define X(name, word, otel, method, firefox, red, green, blue)                                     \
	[BOX_LANGUAGE(FRAME_##name)] = { word, { red, green, blue } },
			   FRAME_LANGUAGES(X)
#undef X
};

/* What is drawn. */
struct drawing {
	const struct report_context *context;
	struct flame_graph *graph;
};

struct svg {
	struct report report;
	struct profile *profile;
	struct frame_values frame_values;
	struct value value; /* of widths */
	struct label_counts labels;
	struct symbolized_stack symbolized;
	struct flame_graph graph;
};

static int svg_add(struct report *report, const struct sample *sample, const struct totals *totals)
{
	struct svg *svg = (struct svg *)report;
	const struct group by_event = { .key = REPORT_EVENT };
	_cleanup_(label_set_freep) struct label_set *event = NULL;
	struct sample alike = *sample;
	int err = label_counts_add(&svg->labels, &report->context, sample);
	uint32_t stack;

	/* The head has the others: boxes would be many and small. */
	if (err == 0 && report->context.n_several > 0 && !report->context.by)
		err = group_labels_new(&by_event, NULL, sample, &event);
	if (!report->context.by)
		alike.labels = event;
	if (err == 0)
		err = profile_add_numbered(svg->profile, &alike, &stack);
	return err == 0 ? frame_values_add(&svg->frame_values, sample, stack) : err;
}

static int add_stack(const struct stack *stack, void *arg)
{
	struct svg *svg = arg;

	return flame_graph_add_stack(&svg->graph, 0, &svg->report, stack,
				     value_of_stack(&svg->value, stack), &svg->symbolized);
}

static int add_lost(struct svg *svg, const struct totals *totals)
{
	uint64_t value = value_of_lost(&svg->value, totals);

	/* Which of several events was lost is not known. */
	return value && svg->report.context.n_several == 0 ?
		       flame_graph_add_mark(&svg->graph, 0, "[lost samples]", value) :
		       0;
}

/* Neighbours of a kind get different colours, and a function always the same. */
static struct picture_colour colour_of(const void *arg, const struct box *box)
{
	struct picture_colour colour = colours[box->key.kind].lightest;
	unsigned int hash = 5381, less;

	for (const char *p = box->key.name; *p; p++)
		hash = hash * 33 + (unsigned char)*p;
	less = hash % 41;
	colour.red -= less / 3;
	colour.green -= less;
	colour.blue -= less;
	return colour;
}

static void put_values(const void *arg, const struct box *box, FILE *to)
{
	const struct drawing *d = arg;

	markup_put_value(d->context, box->values[0], to);
	fprintf(to, ", %.2f %%", 100.0 * (double)box->values[0] / (double)d->graph->root.values[0]);
}

static bool has_kind(const struct flame_graph *graph, int kind)
{
	const struct box *box = graph->boxes;

	while (box && box->key.kind != (uint64_t)kind)
		box = box->hh.next;
	return box;
}

/* ret_x: where there is room right of the legend. */
static int put_head(const struct drawing *d, struct picture *picture, const struct totals *totals,
		    double *ret_x)
{
	const struct report_context *context = d->context;
	FILE *to = picture->to;
	double x = PICTURE_MARGIN;
	int err = picture_begin(picture, context->target);

	fprintf(to, "<text x=\"%.0f\" y=\"40\">", PICTURE_MARGIN);
	if (err == 0)
		err = markup_put_event(context, to);
	fprintf(to, ", %.1f s: ", (double)totals->duration_ns / 1e9);
	markup_put_count(totals->samples, to);
	fputs(" samples, ", to);
	markup_put_value(context, d->graph->root.values[0], to);
	fputs("; ", to);
	markup_put_count(totals->lost, to);
	fputs(" lost; complete: ", to);
	markup_put_count(totals->outcomes[DP_COMPLETE], to);
	fputs(" of ", to);
	markup_put_count(totals_with_user_stack(totals), to);
	fprintf(to, " with a user stack (%.1f %%)", totals_complete(totals));
	if (picture->n_too_deep > 0)
		fprintf(to, "; deeper than %d and not shown: %zu functions", PICTURE_MAX_ROWS,
			picture->n_too_deep);
	fputs("</text>\n", to);
	for (int i = 0; i < BOX_N_KINDS; i++)
		if (i < BOX_FIRST_LANGUAGE || has_kind(d->graph, i))
			x = picture_put_key(picture, x, LEGEND_Y, colours[i].lightest,
					    colours[i].word);
	*ret_x = x > LABELS_X ? x : LABELS_X;
	return err;
}

int svg_write(const struct report_context *context, struct flame_graph *graph,
	      const struct totals *totals, const char *note, FILE *to)
{
	const struct drawing drawing = { context, graph };
	struct picture picture = {
		.graph = graph,
		.head_height = HEAD_HEIGHT,
		.to = to,
		.colour_of = colour_of,
		.put_values = put_values,
		.arg = &drawing,
	};
	double x;
	int err;

	picture_arrange(&picture);
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", to);
	err = put_head(&drawing, &picture, totals, &x);
	if (err == 0 && *note)
		err = picture_put_line(&picture, x, LEGEND_Y, note);
	return err < 0 ? err : picture_end(&picture);
}

/* The most frequent labels are right of the legend. */
static int svg_finish(struct report *report, const struct totals *totals)
{
	struct svg *svg = (struct svg *)report;
	const struct value measured = value_measured(&report->context);
	char labels[1024];
	int err;

	svg->value = value_main(&report->context);
	svg->graph.frame_values = &svg->frame_values;
	svg->graph.value = &svg->value;
	err = profile_for_each(svg->profile, add_stack, svg);
	if (err == 0)
		err = add_lost(svg, totals);
	if (err < 0)
		return err;
	label_counts_describe(&svg->labels, value_of_totals(&measured, totals), labels,
			      sizeof(labels));
	return svg_write(&report->context, &svg->graph, totals, labels, report->to);
}

static void svg_free(struct report *report)
{
	struct svg *svg = (struct svg *)report;

	flame_graph_done(&svg->graph);
	symbolized_stack_done(&svg->symbolized);
	label_counts_done(&svg->labels);
	frame_values_done(&svg->frame_values);
	profile_free(svg->profile);
	free(svg);
}

int report_svg_new(struct report **ret)
{
	struct svg *svg = calloc(1, sizeof(*svg));

	if (!svg)
		return -ENOMEM;
	if (profile_new(PROFILE_LABELS, &svg->profile) < 0) {
		free(svg);
		return -ENOMEM;
	}
	svg->report.add = svg_add;
	svg->report.finish = svg_finish;
	svg->report.free = svg_free;
	*ret = &svg->report;
	return 0;
}
