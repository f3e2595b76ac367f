// SPDX-License-Identifier: Apache-2.0
/*
 * A flame graph as a picture, for documents and chats: root at the bottom, callees above their
 * callers, heaviest first. Boxes too narrow to be seen are left out. Where scripts run, as in a browser,
 * svg.js lets it be zoomed and searched.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "report/label_counts.h"
#include "report/markup.h"
#include "report/report.h"
#include "report/scripts.h"
#include "report/symbolized.h"
#include "report/value.h"

#define WIDTH 1200.0
#define MARGIN 10.0
#define HEAD_HEIGHT 74
#define ROW_HEIGHT 17
#define LABELS_X 400.0   /* right of the legend */
#define MIN_WIDTH 0.25   /* of a visible box */
#define CHARACTER 6.7    /* width at the text size below, in almost all fonts */
#define MAX_ROWS 250     /* nobody looks at more */
#define MIN_CHARACTERS 3 /* of a name worth showing */

enum box_kind { BOX_USER, BOX_INLINED, BOX_KERNEL, BOX_MARK, BOX_PROCESS, BOX_N_KINDS };

static const struct box_colours {
	const char *word;
	unsigned char red, green, blue; /* of the lightest; a function's name determines how much
	                                 * darker it is */
} colours[BOX_N_KINDS] = {
	[BOX_USER] = { "user", 255, 190, 95 },        [BOX_INLINED] = { "inlined", 170, 225, 140 },
	[BOX_KERNEL] = { "kernel", 140, 190, 250 },   [BOX_MARK] = { "mark", 205, 205, 205 },
	[BOX_PROCESS] = { "process", 230, 220, 200 },
};

struct box {
	UT_hash_handle hh;
	struct box_key {
		struct box *parent;
		const char *name; /* in the report's string table, compared by address */
		uint64_t kind;
	} key;
	const char *binary;
	uint64_t value;
	struct box *children;
	struct box *prev, *next; /* siblings */
};

struct svg {
	struct report report;
	struct profile *profile;
	struct value value; /* of widths */
	struct label_counts labels;
	struct symbolized_stack symbolized;
	struct box *boxes; /* all except the root */
	struct box root;
	size_t rows;
	size_t too_deep; /* number of boxes left out for their depth */
	double scale;    /* pixels per unit of value */
};

static int svg_add(struct report *report, const struct sample *sample, const struct totals *totals)
{
	struct svg *svg = (struct svg *)report;
	struct sample alike = *sample;
	int err = label_counts_add(&svg->labels, &report->context, sample);

	if (!report->context.by)
		alike.labels = NULL; /* the head has them: boxes would be many and small */
	return err == 0 ? profile_add(svg->profile, &alike) : err;
}

/* Finds or makes the box with this name on another one, and adds to its value. 0 or -ENOMEM. */
static int add_box(struct svg *svg, struct box *parent, const struct symbolized_frame *symbolized,
		   enum box_kind kind, uint64_t value, struct box **ret)
{
	struct box_key key = { .parent = parent, .kind = kind };
	struct box *box;
	uint32_t number;

	if (string_table_add(&svg->report.strings, symbolized->name, &number) < 0)
		return -ENOMEM;
	key.name = svg->report.strings.strings[number];
	HASH_FIND(hh, svg->boxes, &key, sizeof(key), box);
	if (!box) {
		box = calloc(1, sizeof(*box));
		if (!box)
			return -ENOMEM;
		box->key = key;
		box->binary = symbolized->binary;
		HASH_ADD(hh, svg->boxes, key, sizeof(key), box);
		if (!HASH_IS_ADDED(hh, box)) {
			free(box);
			return -ENOMEM;
		}
		DL_APPEND(parent->children, box);
	}
	box->value += value;
	*ret = box;
	return 0;
}

static enum box_kind symbolized_box_kind(const struct symbolized_frame *symbolized)
{
	if (symbolized->kind == SYMBOLIZED_MARK)
		return BOX_MARK;
	if (symbolized->kind == SYMBOLIZED_KERNEL)
		return BOX_KERNEL;
	return symbolized->is_inlined ? BOX_INLINED : BOX_USER;
}

static int add_stack(const struct stack *stack, void *arg)
{
	struct svg *svg = arg;
	struct symbolized_frame comm = { .name = *stack->common.comm ? stack->common.comm : "?" };
	uint64_t value = value_of_stack(&svg->value, stack);
	struct box *box;
	int err;

	err = symbolized_stack_make(&svg->report, stack, SYMBOLIZED_LABELS, &svg->symbolized);
	if (err == 0)
		err = add_box(svg, &svg->root, &comm, BOX_PROCESS, value, &box);
	for (size_t i = svg->symbolized.n; err == 0 && i-- > 0;) {
		const struct symbolized_frame *symbolized = &svg->symbolized.items[i];

		err = add_box(svg, box, symbolized, symbolized_box_kind(symbolized), value, &box);
	}
	svg->root.value += value;
	return err;
}

static int add_lost(struct svg *svg, const struct totals *totals)
{
	struct symbolized_frame lost = { .name = "[lost samples]" };
	uint64_t value = value_of_lost(&svg->value, totals);
	struct box *box;

	if (value == 0)
		return 0;
	svg->root.value += value;
	return add_box(svg, &svg->root, &lost, BOX_MARK, value, &box);
}

static int compare_boxes(const struct box *a, const struct box *b)
{
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return strcmp(a->key.name, b->key.name);
}

static bool is_drawn(const struct svg *svg, const struct box *box)
{
	return (double)box->value * svg->scale >= MIN_WIDTH;
}

/* Sorts visible boxes, and counts their rows. */
static void arrange(struct svg *svg, struct box *box, size_t depth)
{
	struct box *child;

	if (depth > svg->rows)
		svg->rows = depth;
	DL_SORT(box->children, compare_boxes);
	DL_FOREACH(box->children, child)
	{
		if (!is_drawn(svg, child))
			continue;
		if (depth < MAX_ROWS)
			arrange(svg, child, depth + 1);
		else
			svg->too_deep++;
	}
}

/* Neighbours of a kind get different colours, and a function always the same. */
static void put_colour(const struct box *box, FILE *to)
{
	const struct box_colours *c = &colours[box->key.kind];
	unsigned int hash = 5381, less;

	for (const char *p = box->key.name; *p; p++)
		hash = hash * 33 + (unsigned char)*p;
	less = hash % 41;
	fprintf(to, "#%02x%02x%02x", c->red - less / 3, c->green - less, c->blue - less);
}

/* Writes as many of a name's characters as fit. */
static int put_short(const char *name, size_t room, FILE *to)
{
	_cleanup_free_ char *copy = strdup(name);
	size_t length = 0, cut = 0;

	if (!copy)
		return -ENOMEM;
	text_make_utf8(copy);
	for (const char *p = copy; *p; length++) {
		uint32_t c;

		if (length == room - 2)
			cut = (size_t)(p - copy);
		p += text_character(p, &c);
	}
	if (length > room)
		strcpy(copy + cut, ".."); /* replaces at least two characters */
	return markup_put_text(copy, to);
}

/* Of a name as it is written, by which the script knows where it ends in the title. */
static int count_characters(const char *name, size_t *ret)
{
	_cleanup_free_ char *copy = strdup(name);
	uint32_t c;

	if (!copy)
		return -ENOMEM;
	markup_make_plain(copy);
	*ret = 0;
	for (const char *p = copy; *p; p += text_character(p, &c))
		++*ret;
	return 0;
}

static int put_title(const struct svg *svg, const struct box *box, FILE *to)
{
	int err;

	fputs("<title>", to);
	err = markup_put_text(box->key.name, to);
	if (err == 0 && box->binary) {
		fputs(" (", to);
		err = markup_put_text(box->binary, to);
		fputc(')', to);
	}
	if (box->key.kind == BOX_INLINED)
		fputs(", inlined", to);
	fputs(": ", to);
	markup_put_value(&svg->report.context, box->value, to);
	fprintf(to, ", %.2f %%</title>", 100.0 * (double)box->value / (double)svg->root.value);
	return err;
}

static int put_box(const struct svg *svg, const struct box *box, double x, size_t depth)
{
	double width = (double)box->value * svg->scale;
	size_t y = HEAD_HEIGHT + (svg->rows - depth) * ROW_HEIGHT;
	size_t room = width > 6 ? (size_t)((width - 6) / CHARACTER) : 0;
	FILE *to = svg->report.to;
	size_t n;
	int err;

	err = count_characters(box->key.name, &n);
	if (err < 0)
		return err;
	fprintf(to, "<g data-n=\"%zu\">", n);
	err = put_title(svg, box, to);
	fprintf(to, "<rect x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\" fill=\"", x, y, width,
		ROW_HEIGHT - 1);
	put_colour(box, to);
	fputs("\"/>", to);
	if (err == 0 && room >= MIN_CHARACTERS) {
		fprintf(to, "<text x=\"%.2f\" y=\"%zu\">", x + 3, y + 12);
		err = put_short(box->key.name, room, to);
		fputs("</text>", to);
	}
	fputs("</g>\n", to);
	return err;
}

static int put_children(const struct svg *svg, const struct box *parent, double x, size_t depth)
{
	const struct box *box;
	int err = 0;

	if (depth > MAX_ROWS)
		return 0;
	DL_FOREACH(parent->children, box)
	{
		if (!is_drawn(svg, box))
			break; /* the rest is narrower: they are sorted */
		err = put_box(svg, box, x, depth);
		if (err == 0)
			err = put_children(svg, box, x, depth + 1);
		if (err < 0)
			return err;
		x += (double)box->value * svg->scale;
	}
	return 0;
}

static void put_legend(FILE *to)
{
	double x = MARGIN;

	for (int i = 0; i < BOX_N_KINDS; i++) {
		fprintf(to,
			"<rect x=\"%.0f\" y=\"52\" width=\"11\" height=\"11\" "
			"fill=\"#%02x%02x%02x\"/><text x=\"%.0f\" y=\"62\">%s</text>\n",
			x, colours[i].red, colours[i].green, colours[i].blue, x + 15,
			colours[i].word);
		x += 15 + CHARACTER * (double)(strlen(colours[i].word) + 3);
	}
}

/* Writes the most frequent labels, right of the legend. */
static int put_labels(struct svg *svg, const struct totals *totals)
{
	const struct value measured = value_measured(&svg->report.context);
	FILE *to = svg->report.to;
	char text[1024];
	int err;

	label_counts_describe(&svg->labels, value_of_totals(&measured, totals), text, sizeof(text));
	if (text[0] == '\0')
		return 0;
	fprintf(to, "<text x=\"%.0f\" y=\"62\">", LABELS_X);
	err = put_short(text, (size_t)((WIDTH - MARGIN - LABELS_X) / CHARACTER), to);
	fputs("</text>\n", to);
	return err;
}

static int put_head(const struct svg *svg, const struct totals *totals, size_t height)
{
	const struct report_context *context = &svg->report.context;
	FILE *to = svg->report.to;
	int err;

	fprintf(to,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%zu\" "
		"viewBox=\"0 0 %.0f %zu\" font-family=\"Menlo, Consolas, 'DejaVu Sans Mono', "
		"monospace\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<style>g rect { stroke: #fff; stroke-width: .3 }</style>\n"
		"<text x=\"%.0f\" y=\"20\" font-size=\"14\" font-weight=\"bold\">",
		WIDTH, height, WIDTH, height, MARGIN);
	err = put_short(context->target, 130, to);
	fprintf(to, "</text>\n<text x=\"%.0f\" y=\"40\">", MARGIN);
	if (err == 0)
		err = markup_put_event(context, to);
	fprintf(to, ", %.1f s: ", (double)totals->duration_ns / 1e9);
	markup_put_count(totals->samples, to);
	fputs(" samples, ", to);
	markup_put_value(context, svg->root.value, to);
	fputs("; ", to);
	markup_put_count(totals->lost, to);
	fputs(" lost; complete: ", to);
	markup_put_count(totals->outcomes[DP_COMPLETE], to);
	fputs(" of ", to);
	markup_put_count(totals_with_user_stack(totals), to);
	fprintf(to, " with a user stack (%.1f %%)", totals_complete(totals));
	if (svg->too_deep > 0)
		fprintf(to, "; deeper than %d and not shown: %zu functions", MAX_ROWS,
			svg->too_deep);
	fputs("</text>\n", to);
	put_legend(to);
	return err;
}

static int svg_finish(struct report *report, const struct totals *totals)
{
	struct svg *svg = (struct svg *)report;
	int err;

	svg->value = value_main(&report->context);
	err = profile_for_each(svg->profile, add_stack, svg);
	if (err == 0)
		err = add_lost(svg, totals);
	if (err < 0)
		return err;
	if (svg->root.value > 0)
		svg->scale = (WIDTH - 2 * MARGIN) / (double)svg->root.value;
	arrange(svg, &svg->root, 0);
	err = put_head(svg, totals, HEAD_HEIGHT + svg->rows * ROW_HEIGHT + (size_t)MARGIN);
	if (err == 0)
		err = put_labels(svg, totals);
	if (err == 0)
		err = put_children(svg, &svg->root, MARGIN, 1);
	fprintf(report->to, "<script><![CDATA[\n%s]]></script>\n</svg>\n", svg_script);
	return err;
}

static void svg_free(struct report *report)
{
	struct svg *svg = (struct svg *)report;
	struct box *box, *next;

	HASH_ITER(hh, svg->boxes, box, next) {
		HASH_DEL(svg->boxes, box);
		free(box);
	}
	symbolized_stack_done(&svg->symbolized);
	label_counts_done(&svg->labels);
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
