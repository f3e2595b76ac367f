/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_PICTURE_H
#define DP_FORMATS_PICTURE_H

#include <stdio.h>

#include "report/flame_graph.h"

/*
 * A flame graph as an element of SVG: root at the bottom, callees above their callers, heaviest
 * first. Boxes too narrow to be seen are left out. Where scripts run, as in a browser, svg.js lets it
 * be zoomed and searched. Functions return 0 or -ENOMEM; errors of writing are the file's.
 */

#define PICTURE_WIDTH 1200.0
#define PICTURE_MARGIN 10.0
#define PICTURE_CHARACTER 6.7 /* width at the text size of most text, in almost all fonts */
#define PICTURE_MAX_ROWS 250  /* nobody looks at more */

struct picture_colour {
	unsigned int red, green, blue;
};

struct picture {
	struct flame_graph *graph;
	size_t side;        /* whose values are the widths */
	size_t head_height; /* of what is above the boxes */
	FILE *to;
	/* The colour of a box, and what its title says after the name. */
	struct picture_colour (*colour_of)(const void *arg, const struct box *box);
	void (*put_values)(const void *arg, const struct box *box, FILE *to);
	const void *arg;

	size_t rows;
	size_t n_too_deep; /* number of boxes left out for their depth */
	double scale;      /* pixels per unit of value */
};

/* Sorts the graph and finds out the sizes. The first step, after all of the above is set. */
void picture_arrange(struct picture *picture);

bool picture_draws(const struct picture *picture, const struct box *box);

/* The element's start, with a title. */
int picture_begin(struct picture *picture, const char *title);
/* A line of text in the head, cut off at the right margin. y: of its base. */
int picture_put_line(struct picture *picture, double x, double y, const char *text);
/* A coloured square with a word; returns where the next one may begin. */
double picture_put_key(struct picture *picture, double x, double y, struct picture_colour colour,
		       const char *word);
/* The boxes and the element's end. */
int picture_end(struct picture *picture);

#endif
