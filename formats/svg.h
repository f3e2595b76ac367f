/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_SVG_H
#define DP_FORMATS_SVG_H

#include "report/flame_graph.h"

/*
 * Writes the first side of a flame graph as a file (report_svg_new()), with what was profiled and the
 * totals in its head, and a note, which may be empty. 0 or -ENOMEM; errors of writing are the file's.
 */
int svg_write(const struct report_context *context, struct flame_graph *graph,
	      const struct totals *totals, const char *note, FILE *to);

#endif
