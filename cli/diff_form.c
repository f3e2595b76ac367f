// SPDX-License-Identifier: Apache-2.0
#include "cli/diff_form.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "formats/json_value.h"
#include "formats/report_format.h"
#include "report/value.h"
#include "text/terminal.h"

/* The chi-squared distribution with one degree of freedom exceeds this in 1 % of cases. */
#define CHI_SQUARE_1_PERCENT 6.6349

/* With less, that distribution is no good approximation. */
#define MIN_EXPECTED 5

/* Of a row of text, what precedes the names. */
#define VALUES_WIDTH 58

static const struct diff_form *const forms[] = { &diff_form_text, &diff_form_json,
						 &diff_form_folded, &diff_form_svg,
						 &diff_form_html };

const struct diff_form *diff_form_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (strcmp(forms[i]->format.name, name) == 0)
			return forms[i];
	return NULL;
}

const struct diff_form *diff_form_by_path(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (report_match_extension(forms[i]->format.extensions, path) > 0)
			return forms[i];
	return NULL;
}

void diff_form_list(FILE *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		fprintf(to, "%s%s (%s)", i ? ", " : "", forms[i]->format.name,
			forms[i]->format.extensions);
}

double diff_percent(const struct diff *d, size_t side, uint64_t value)
{
	const struct diff_side *s = &d->sides[side];
	const struct value measured = value_measured(s->context);
	uint64_t all = value_of_totals(&measured, s->totals);

	return all ? 100 * (double)value / (double)all : 0;
}

double diff_change(const struct diff *d, const uint64_t values[REPORT_SIDES])
{
	return diff_percent(d, 1, values[1]) - diff_percent(d, 0, values[0]);
}

bool diff_knows_noise(const struct diff *d)
{
	for (size_t i = 0; i < REPORT_SIDES; i++) {
		const struct value measured = value_measured(d->sides[i].context);

		if (value_is_time(&measured) || measured.is_own ||
		    d->sides[i].totals->events != d->sides[i].totals->samples)
			return false;
	}
	return true;
}

bool diff_is_noise(const struct diff *d, const uint64_t values[REPORT_SIDES])
{
	double a = (double)values[0], n_a = (double)d->sides[0].totals->events;
	double b = (double)values[1], n_b = (double)d->sides[1].totals->events;
	double all = a + b, others = n_a + n_b - all;
	double rarer = all < others ? all : others, fewer = n_a < n_b ? n_a : n_b;
	double apart = a * n_b - b * n_a;

	/* In no sample, or in all of both: there is no difference. */
	if (all <= 0 || others <= 0)
		return true;
	if (rarer * fewer / (n_a + n_b) < MIN_EXPECTED)
		return true;
	return apart * apart * (n_a + n_b) / (n_a * n_b * all * others) < CHI_SQUARE_1_PERCENT;
}

int diff_put_side(const struct diff *d, size_t side, FILE *to)
{
	const struct diff_side *s = &d->sides[side];
	_cleanup_free_ char *path = strdup(s->path), *target = strdup(s->context->target),
			    *event = strdup(s->context->event);
	const struct value measured = value_measured(s->context);

	if (!path || !target || !event)
		return -ENOMEM;
	text_make_plain(path);
	text_make_plain(target);
	text_make_plain(event);
	fprintf(to, "%c: %s: %s, %s, %.1f s, %" PRIu64 " samples", (char)('A' + side), path, target,
		event, (double)s->totals->duration_ns / 1e9, s->totals->samples);
	if (value_is_time(&measured))
		fprintf(to, ", %.3f ms", (double)s->totals->time_ns / 1e6);
	fprintf(to, ", %" PRIu64 " lost, %.1f %% complete\n", s->totals->lost,
		totals_complete(s->totals));
	return 0;
}

static int print_text(const struct diff *d, const struct terminal *terminal)
{
	size_t n = d->n_rows < d->top ? d->n_rows : d->top;
	bool knows = diff_knows_noise(d), marked = false;
	FILE *to = terminal->to;
	int err = diff_put_side(d, 0, to);

	if (err == 0)
		err = diff_put_side(d, 1, to);
	if (err < 0)
		return err;
	fprintf(to, "\n%8s %8s %8s   %8s %8s %8s   ", "self A", "B", "change", "total A", "B",
		"change");
	err = terminal_put_names(terminal, VALUES_WIDTH, 42, "function", "binary", "", "");
	if (err < 0)
		return err;
	for (size_t i = 0; i < n; i++) {
		const struct function_row *f = d->rows[i];

		for (int total = 0; total < 2; total++) {
			const uint64_t *values = total ? f->total : f->self;

			bool is_noise = knows && diff_is_noise(d, values);

			fprintf(to, "%6.1f %% %6.1f %% %+8.1f%s  ", diff_percent(d, 0, values[0]),
				diff_percent(d, 1, values[1]), diff_change(d, values),
				is_noise ? "~" : " ");
			marked |= is_noise;
		}
		err = terminal_put_names(terminal, VALUES_WIDTH, 42, f->name, f->binary, "", "");
		if (err < 0)
			return err;
	}
	if (d->n_rows > n)
		fprintf(to, "... and %zu more functions\n", d->n_rows - n);
	if (marked)
		fputs("~ within chance: two runs of the same program differ this much more than 1 % of the time, or samples are too few to tell\n",
		      to);
	return 0;
}

static int put_text(struct diff *d, FILE *to)
{
	struct terminal terminal;
	int err = terminal_begin(&terminal, to, d->wide), ended;

	if (err < 0)
		return err;
	err = print_text(d, &terminal);
	ended = terminal_end(&terminal);
	return err < 0 ? err : ended;
}

const struct diff_form diff_form_text = {
	.format = { .name = "text", .extensions = ".txt" },
	.needs = DIFF_FUNCTIONS,
	.print = put_text,
};

static json_t *json_side(const struct diff_side *side)
{
	const struct value measured = value_measured(side->context);
	const struct totals *t = side->totals;
	json_t *json = json_object();

	json_object_set_new(json, "file", json_text(side->path));
	json_object_set_new(json, "target", json_text(side->context->target));
	json_object_set_new(json, "event", json_text(side->context->event));
	json_object_set_new(json, "samples", json_integer((json_int_t)t->samples));
	json_object_set_new(json, "lost", json_integer((json_int_t)t->lost));
	json_object_set_new(json, "complete", json_integer((json_int_t)t->outcomes[DP_COMPLETE]));
	json_object_set_new(json, "with_user_stack",
			    json_integer((json_int_t)totals_with_user_stack(t)));
	json_object_set_new(json, "value", json_integer((json_int_t)value_of_totals(&measured, t)));
	json_object_set_new(json, "unit",
			    json_text(value_is_time(&measured) ? "ns" : value_noun(&measured)));
	return json;
}

static void json_set_values(const struct diff *d, json_t *json, const char *name,
			    const uint64_t values[REPORT_SIDES])
{
	json_t *json_values = json_object();

	json_object_set_new(json_values, "a", json_integer((json_int_t)values[0]));
	json_object_set_new(json_values, "b", json_integer((json_int_t)values[1]));
	json_object_set_new(json_values, "a_percent", json_real(diff_percent(d, 0, values[0])));
	json_object_set_new(json_values, "b_percent", json_real(diff_percent(d, 1, values[1])));
	json_object_set_new(json_values, "change", json_real(diff_change(d, values)));
	json_object_set_new(json_values, "noise",
			    diff_knows_noise(d) ? json_boolean(diff_is_noise(d, values)) :
						  json_null());
	json_object_set_new(json, name, json_values);
}

static int put_json(struct diff *d, FILE *to)
{
	json_t *json = json_object(), *functions = json_array();
	int err;

	json_object_set_new(json, "a", json_side(&d->sides[0]));
	json_object_set_new(json, "b", json_side(&d->sides[1]));
	for (size_t i = 0; i < d->n_rows; i++) {
		const struct function_row *f = d->rows[i];
		json_t *function = json_object();

		json_object_set_new(function, "function", json_text(f->name));
		json_object_set_new(function, "binary", json_text(f->binary));
		json_set_values(d, function, "self", f->self);
		json_set_values(d, function, "total", f->total);
		json_array_append_new(functions, function);
	}
	json_object_set_new(json, "functions", functions);
	err = json ? json_dumpf(json, to, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : -1;
	json_decref(json);
	fputc('\n', to);
	return err < 0 ? -ENOMEM : 0;
}

const struct diff_form diff_form_json = {
	.format = { .name = "json", .extensions = ".json" },
	.needs = DIFF_FUNCTIONS,
	.print = put_json,
};

/* Parses the next line of folded stacks and advances. False at the end. */
struct folded_line {
	const char *stack;
	size_t size;
	const char *value;
	size_t value_size;
};

static bool read_line(const char **pos, struct folded_line *ret)
{
	size_t length = strcspn(*pos, "\n");
	const char *space = memrchr(*pos, ' ', length);

	if (!space)
		return false;
	*ret = (struct folded_line){ *pos, (size_t)(space - *pos), space + 1,
				     length - (size_t)(space + 1 - *pos) };
	*pos += length + ((*pos)[length] == '\n');
	/* Lost samples and totals follow the stacks, out of order; they are not needed here. */
	return strncmp(ret->stack, "[totals: ", 9) != 0 &&
	       strncmp(ret->stack, "[lost samples] ", 15) != 0;
}

/* The sort order of folded stacks. */
static int line_compare(const struct folded_line *a, const struct folded_line *b)
{
	int order = memcmp(a->stack, b->stack, a->size < b->size ? a->size : b->size);

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int put_folded(struct diff *d, FILE *to)
{
	const char *pos[] = { d->folded[0], d->folded[1] };
	struct folded_line lines[2];
	bool has[] = { read_line(&pos[0], &lines[0]), read_line(&pos[1], &lines[1]) };

	while (has[0] || has[1]) {
		int order = !has[0] ? 1 : !has[1] ? -1 : line_compare(&lines[0], &lines[1]);
		const struct folded_line *line = &lines[order > 0];

		fprintf(to, "%.*s %.*s %.*s\n", (int)line->size, line->stack,
			order <= 0 ? (int)lines[0].value_size : 1,
			order <= 0 ? lines[0].value : "0",
			order >= 0 ? (int)lines[1].value_size : 1,
			order >= 0 ? lines[1].value : "0");
		if (order <= 0)
			has[0] = read_line(&pos[0], &lines[0]);
		if (order >= 0)
			has[1] = read_line(&pos[1], &lines[1]);
	}
	return 0;
}

const struct diff_form diff_form_folded = {
	.format = { .name = "folded",
		    .extensions = ".folded .collapsed",
		    .use = "flamegraph.pl draws it" },
	.needs = DIFF_FOLDED,
	.print = put_folded,
};
