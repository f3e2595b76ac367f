// SPDX-License-Identifier: Apache-2.0
#include "formats/markup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "report/value.h"

void markup_make_plain(char *text)
{
	text_make_plain(text);
	/* U+FFFE and U+FFFF are not characters in XML (1.0, production 2). */
	for (char *c = text; *c; c++)
		if (strncmp(c, "\xef\xbf\xbe", 3) == 0 || strncmp(c, "\xef\xbf\xbf", 3) == 0)
			memcpy(c, "???", 3);
}

int markup_put_text(const char *text, FILE *to)
{
	_cleanup_free_ char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	markup_make_plain(copy);
	for (char *c = copy; *c; c++) {
		switch (*c) {
		case '&':
			fputs("&amp;", to);
			break;
		case '<':
			fputs("&lt;", to);
			break;
		case '>':
			fputs("&gt;", to);
			break;
		case '"':
			fputs("&quot;", to);
			break;
		case '\'':
			fputs("&#39;", to);
			break;
		default:
			fputc(*c, to);
		}
	}
	return 0;
}

void markup_put_count(uint64_t count, FILE *to)
{
	if (count < 10000) {
		fprintf(to, "%" PRIu64, count);
		return;
	}
	if (count / 1000 < 10000)
		fprintf(to, "%" PRIu64, count / 1000);
	else
		markup_put_count(count / 1000, to);
	fprintf(to, " %03" PRIu64, count % 1000);
}

static void put_noun(const struct value *unit, uint64_t value, FILE *to)
{
	fputc(' ', to);
	if (unit->is_own)
		(void)markup_put_text(value_noun(unit), to);
	else
		fputs(value == 1 ? "event" : "events", to);
}

void markup_put_value(const struct report_context *context, uint64_t value, FILE *to)
{
	const struct value unit = value_main(context);
	double seconds = (double)value / 1e9;

	if (!value_is_time(&unit)) {
		markup_put_count(value, to);
		put_noun(&unit, value, to);
	} else if (seconds >= 1) {
		fprintf(to, "%.2f s", seconds);
	} else if (seconds >= 1e-3) {
		fprintf(to, "%.1f ms", seconds * 1e3);
	} else {
		fprintf(to, "%.0f us", seconds * 1e6);
	}
}

int markup_put_event(const struct report_context *context, FILE *to)
{
	int err = markup_put_text(context->event, to);

	if (context->hz > 0)
		fprintf(to, " at %u Hz", context->hz);
	if (value_other_event(context))
		fputs(", and blocked threads", to);
	return err;
}
