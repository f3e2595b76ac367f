// SPDX-License-Identifier: Apache-2.0
/*
 * A differential flame graph (B. Gregg, 2014): as wide as B, and in the colour of what has changed
 * since A.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "cli/diff_form.h"
#include "formats/markup.h"
#include "formats/picture.h"

#define HEAD_HEIGHT 106
#define LINE_HEIGHT 16

/* Colours of a difference, from the smallest to the largest. */
static const struct picture_colour red[] = { { 255, 214, 208 }, { 255, 90, 74 } },
				   blue[] = { { 210, 222, 255 }, { 92, 140, 255 } },
				   grey = { 226, 226, 226 };

struct diff_picture {
	const struct diff *diff;
	struct picture picture;
	bool knows_noise;
	double largest;  /* the largest difference that is drawn in colour, in percentage points */
	double left_out; /* share of A, in percent, of boxes too narrow in B, or not there */
};

static bool is_grey(const struct diff_picture *p, const struct box *box)
{
	if (p->knows_noise)
		return diff_is_noise(p->diff, box->values);
	return diff_change(p->diff, box->values) == 0;
}

static void measure(struct diff_picture *p, const struct box *parent, size_t depth)
{
	const struct box *box;

	if (depth > PICTURE_MAX_ROWS)
		return;
	DL_FOREACH(parent->children, box) {
		double change = fabs(diff_change(p->diff, box->values));

		if (!picture_draws(&p->picture, box)) {
			p->left_out += diff_percent(p->diff, 0, box->values[0]);
			continue;
		}
		if (!is_grey(p, box) && change > p->largest)
			p->largest = change;
		measure(p, box, depth + 1);
	}
}

static unsigned int between(unsigned int from, unsigned int to, double share)
{
	return (unsigned int)(from + ((double)to - from) * share + 0.5);
}

static struct picture_colour colour_of(const void *arg, const struct box *box)
{
	const struct diff_picture *p = arg;
	double change = diff_change(p->diff, box->values), share;
	const struct picture_colour *range = change > 0 ? red : blue;

	if (is_grey(p, box))
		return grey;
	share = p->largest > 0 ? fabs(change) / p->largest : 0;
	return (struct picture_colour){ between(range[0].red, range[1].red, share),
					between(range[0].green, range[1].green, share),
					between(range[0].blue, range[1].blue, share) };
}

static void put_values(const void *arg, const struct box *box, FILE *to)
{
	const struct diff_picture *p = arg;

	fprintf(to, "A %.2f %%, B %.2f %%, change %+.2f", diff_percent(p->diff, 0, box->values[0]),
		diff_percent(p->diff, 1, box->values[1]), diff_change(p->diff, box->values));
	if (p->knows_noise && diff_is_noise(p->diff, box->values))
		fputs(", within chance", to);
}

static int put_side(struct diff_picture *p, size_t side, double y)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *line = open_memstream(&text, &size);
	int err;

	if (!line)
		return -errno;
	err = diff_put_side(p->diff, side, line);
	if (fclose(line) != 0)
		return -ENOMEM;
	if (err < 0)
		return err;
	text[size - 1] = '\0'; /* the newline */
	return picture_put_line(&p->picture, PICTURE_MARGIN, y, text);
}

static int put_notes(struct diff_picture *p, double y)
{
	char text[256], deep[80] = "";

	if (p->picture.n_too_deep > 0)
		snprintf(deep, sizeof(deep), " Deeper than %d and not shown: %zu functions.",
			 PICTURE_MAX_ROWS, p->picture.n_too_deep);
	snprintf(text, sizeof(text),
		 "Widths: B. Darkest: %+.1f or %+.1f points. In A, too narrow or absent in B, and "
		 "not shown: %.1f %% of A.%s",
		 p->largest, -p->largest, p->left_out, deep);
	return picture_put_line(&p->picture, PICTURE_MARGIN, y, text);
}

static int put_picture(struct diff_picture *p)
{
	struct picture *picture = &p->picture;
	double x = PICTURE_MARGIN;
	int y = 24 + LINE_HEIGHT;
	int err = picture_begin(
		picture,
		"Differential flame graph from A to B: red has a larger share in B, blue a smaller one");

	for (size_t side = 0; err == 0 && side < REPORT_SIDES; side++, y += LINE_HEIGHT)
		err = put_side(p, side, y);
	if (err == 0)
		err = put_notes(p, y);
	y += LINE_HEIGHT + 2;
	x = picture_put_key(picture, x, y, red[1], "larger share in B");
	x = picture_put_key(picture, x, y, blue[1], "smaller share in B");
	picture_put_key(picture, x, y, grey, p->knows_noise ? "within chance" : "equal");
	return err < 0 ? err : picture_end(picture);
}

static int draw(struct diff *d, FILE *to)
{
	struct diff_picture p = {
		.diff = d,
		.picture = { .graph = &d->graph,
			     .side = 1,
			     .head_height = HEAD_HEIGHT,
			     .to = to,
			     .colour_of = colour_of,
			     .put_values = put_values },
		.knows_noise = diff_knows_noise(d),
	};

	p.picture.arg = &p;
	picture_arrange(&p.picture);
	measure(&p, &d->graph.root, 1);
	return put_picture(&p);
}

static int put_svg(struct diff *d, FILE *to)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", to);
	return draw(d, to);
}

const struct diff_form diff_form_svg = {
	.format = { .name = "svg", .extensions = ".svg", .use = "open it in a browser" },
	.needs = DIFF_GRAPH,
	.print = put_svg,
};

/* Nothing may be fetched: everything is in the page. */
static const char page_begin[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"script-src 'unsafe-inline'; style-src 'unsafe-inline'\">\n"
	"<meta name=\"generator\" content=\"dwarfprof " DP_VERSION "\">\n"
	"<title>differences - dwarfprof</title>\n"
	"<style>\n"
	"body { margin: 0 auto; max-width: 1800px; font: 13px/1.5 system-ui, sans-serif;\n"
	"  color: #222; background: #fff }\n"
	"svg { width: 100%; height: auto }\n"
	"table { margin: 8px 10px; border-spacing: 0 }\n"
	"th { text-align: left } td { padding-right: 14px }\n"
	"td.n, th.n { text-align: right; padding-right: 14px; font-variant-numeric: tabular-nums }\n"
	".more { color: #b00020 } .less { color: #1746c0 } .noise { color: #777 }\n"
	"</style>\n</head>\n<body>\n";

static void put_share(const struct diff *d, const uint64_t values[REPORT_SIDES], FILE *to)
{
	double change = diff_change(d, values);
	bool is_noise = diff_knows_noise(d) ? diff_is_noise(d, values) : change == 0;

	for (size_t side = 0; side < REPORT_SIDES; side++)
		fprintf(to, "<td class=\"n\">%.1f %%", diff_percent(d, side, values[side]));
	fprintf(to, "<td class=\"n %s\">%+.1f",
		is_noise   ? "noise" :
		change > 0 ? "more" :
			     "less",
		change);
}

static int put_functions(const struct diff *d, FILE *to)
{
	size_t n = d->n_rows < d->top ? d->n_rows : d->top;
	int err = 0;

	fputs("<table>\n<tr><th class=\"n\">self A<th class=\"n\">self B<th class=\"n\">change"
	      "<th class=\"n\">total A<th class=\"n\">total B<th class=\"n\">change"
	      "<th>function<th>binary\n",
	      to);
	for (size_t i = 0; err == 0 && i < n; i++) {
		const struct function_row *f = d->rows[i];

		fputs("<tr>", to);
		put_share(d, f->self, to);
		put_share(d, f->total, to);
		fputs("<td>", to);
		err = markup_put_text(f->name, to);
		fputs("<td>", to);
		if (err == 0)
			err = markup_put_text(f->binary, to);
		fputc('\n', to);
	}
	fputs("</table>\n", to);
	if (d->n_rows > n)
		fprintf(to, "<table><tr><td>... and %zu more functions</table>\n", d->n_rows - n);
	return err;
}

static int put_html(struct diff *d, FILE *to)
{
	int err;

	fputs(page_begin, to);
	err = draw(d, to);
	if (err == 0)
		err = put_functions(d, to);
	fputs("</body>\n</html>\n", to);
	return err;
}

const struct diff_form diff_form_html = {
	.format = { .name = "html", .extensions = ".html .htm", .use = "open it in a browser" },
	.needs = DIFF_FUNCTIONS | DIFF_GRAPH,
	.print = put_html,
};
