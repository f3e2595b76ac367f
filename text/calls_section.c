// SPDX-License-Identifier: Apache-2.0
#include "text/calls_section.h"

#include <inttypes.h>

#include "report/sample.h"
#include "report/span_times.h"
#include "text/colours.h"
#include "text/plain.h"

/* In percent. */
static double share(uint64_t n, uint64_t all)
{
	return all > 0 ? 100 * (double)n / (double)all : 0;
}

int calls_print(const struct totals *totals, const struct colours *c, FILE *to)
{
	const struct span_times *calls = totals->calls;
	char from[SPAN_TIME_SIZE], to_time[SPAN_TIME_SIZE], min[SPAN_TIME_SIZE];
	struct span_row row;
	uint32_t step = 0;
	int err;

	span_times_format(calls->min_ns, min);
	fprintf(to,
		"Left out: %" PRIu64 " samples in no call of at least %s, unknown: %" PRIu64 "\n",
		totals->outside, min, totals->in_unknown);
	fprintf(to, "\n%sCalls of ", c->bold);
	err = plain_print(calls->name, to);
	fprintf(to,
		"%s: %" PRIu64 ", of at least %s: %" PRIu64 ", not seen to return: %" PRIu64 "\n",
		c->normal, calls->n_begun, min, calls->n_long, span_times_left(calls));
	if (calls->n_unbegun > 0)
		fprintf(to, "  and %" PRIu64 " that began before, or were not kept\n",
			calls->n_unbegun);
	while (span_times_next_power(calls, &step, &row)) {
		span_times_format(row.start_ns, from);
		span_times_format(row.end_ns, to_time);
		fprintf(to, "  %8s to %8s %10" PRIu64 " ", from, to_time, row.n_returned);
		colours_put_share(c, share(row.n_returned, calls->n_begun), to);
		if (row.n_left > 0)
			fprintf(to, "  %sand %" PRIu64 " or longer, not seen to return%s", c->dim,
				row.n_left, c->normal);
		fputc('\n', to);
	}
	return err;
}
