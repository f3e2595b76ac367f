// SPDX-License-Identifier: Apache-2.0
#include "formats/picture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "formats/markup.h"
#include "formats/scripts.h"

#define ROW_HEIGHT 17
#define MIN_WIDTH 0.25       /* of a visible box */
#define MIN_CHARACTERS 3     /* of a name worth showing */
#define TITLE_CHARACTERS 130 /* larger ones */

static int compare_boxes(const struct box *a, const struct box *b, size_t side)
{
	if (a->values[side] != b->values[side])
		return a->values[side] > b->values[side] ? -1 : 1;
	return strcmp(a->key.name, b->key.name);
}

static int compare_first(const struct box *a, const struct box *b)
{
	return compare_boxes(a, b, 0);
}

static int compare_second(const struct box *a, const struct box *b)
{
	return compare_boxes(a, b, 1);
}

bool picture_draws(const struct picture *p, const struct box *box)
{
	return (double)box->values[p->side] * p->scale >= MIN_WIDTH;
}

/* Sorts visible boxes, and counts their rows. */
static void arrange(struct picture *p, struct box *box, size_t depth)
{
	struct box *child;

	if (depth > p->rows)
		p->rows = depth;
	DL_SORT(box->children, (p->side == 0 ? compare_first : compare_second));
	DL_FOREACH(box->children, child) {
		if (!picture_draws(p, child))
			continue;
		if (depth < PICTURE_MAX_ROWS)
			arrange(p, child, depth + 1);
		else
			p->n_too_deep++;
	}
}

void picture_arrange(struct picture *p)
{
	uint64_t all = p->graph->root.values[p->side];

	if (all > 0)
		p->scale = (PICTURE_WIDTH - 2 * PICTURE_MARGIN) / (double)all;
	arrange(p, &p->graph->root, 0);
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

static int put_title(const struct picture *p, struct box *box)
{
	char values[VALUE_TEXTS_SIZE];
	FILE *to = p->to;
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
	p->put_values(p->arg, box, to);
	value_texts_describe(&box->texts, values);
	if (err == 0 && *values) {
		fputs("; ", to);
		err = markup_put_text(values, to);
	}
	fputs("</title>", to);
	return err;
}

static void put_colour(struct picture_colour colour, FILE *to)
{
	fprintf(to, "fill=\"#%02x%02x%02x\"/>", colour.red, colour.green, colour.blue);
}

static int put_box(const struct picture *p, struct box *box, double x, size_t depth)
{
	double width = (double)box->values[p->side] * p->scale;
	size_t y = p->head_height + (p->rows - depth) * ROW_HEIGHT;
	size_t room = width > 6 ? (size_t)((width - 6) / PICTURE_CHARACTER) : 0;
	FILE *to = p->to;
	size_t n;
	int err;

	err = count_characters(box->key.name, &n);
	if (err < 0)
		return err;
	fprintf(to, "<g data-n=\"%zu\">", n);
	err = put_title(p, box);
	fprintf(to, "<rect x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\" ", x, y, width,
		ROW_HEIGHT - 1);
	put_colour(p->colour_of(p->arg, box), to);
	if (err == 0 && room >= MIN_CHARACTERS) {
		fprintf(to, "<text x=\"%.2f\" y=\"%zu\">", x + 3, y + 12);
		err = put_short(box->key.name, room, to);
		fputs("</text>", to);
	}
	fputs("</g>\n", to);
	return err;
}

static int put_children(const struct picture *p, const struct box *parent, double x, size_t depth)
{
	struct box *box;
	int err = 0;

	if (depth > PICTURE_MAX_ROWS)
		return 0;
	DL_FOREACH(parent->children, box) {
		if (!picture_draws(p, box))
			break; /* the rest is narrower: they are sorted */
		err = put_box(p, box, x, depth);
		if (err == 0)
			err = put_children(p, box, x, depth + 1);
		if (err < 0)
			return err;
		x += (double)box->values[p->side] * p->scale;
	}
	return 0;
}

int picture_begin(struct picture *p, const char *title)
{
	size_t height = p->head_height + p->rows * ROW_HEIGHT + (size_t)PICTURE_MARGIN;
	int err;

	fprintf(p->to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%zu\" "
		"viewBox=\"0 0 %.0f %zu\" font-family=\"Menlo, Consolas, 'DejaVu Sans Mono', "
		"monospace\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<style>g rect { stroke: #fff; stroke-width: .3 }</style>\n"
		"<text x=\"%.0f\" y=\"20\" font-size=\"14\" font-weight=\"bold\">",
		PICTURE_WIDTH, height, PICTURE_WIDTH, height, PICTURE_MARGIN);
	err = put_short(title, TITLE_CHARACTERS, p->to);
	fputs("</text>\n", p->to);
	return err;
}

int picture_put_line(struct picture *p, double x, double y, const char *text)
{
	double room = (PICTURE_WIDTH - PICTURE_MARGIN - x) / PICTURE_CHARACTER;
	int err;

	fprintf(p->to, "<text x=\"%.0f\" y=\"%.0f\">", x, y);
	err = put_short(text, (size_t)room, p->to);
	fputs("</text>\n", p->to);
	return err;
}

double picture_put_key(struct picture *p, double x, double y, struct picture_colour colour,
		       const char *word)
{
	fprintf(p->to, "<rect x=\"%.0f\" y=\"%.0f\" width=\"11\" height=\"11\" ", x, y - 10);
	put_colour(colour, p->to);
	fprintf(p->to, "<text x=\"%.0f\" y=\"%.0f\">%s</text>\n", x + 15, y, word);
	return x + 15 + PICTURE_CHARACTER * (double)(strlen(word) + 3);
}

int picture_end(struct picture *p)
{
	int err = put_children(p, &p->graph->root, PICTURE_MARGIN, 1);

	fprintf(p->to, "<script><![CDATA[\n%s]]></script>\n</svg>\n", svg_script);
	return err;
}
