// SPDX-License-Identifier: Apache-2.0
/*
 * Folded stacks, as flamegraph.pl and most viewers read them: one line per stack,
 * `comm;root;...;leaf COUNT`. The program's labels follow the command as `[key=value]`, kernel
 * functions end with `_[k]`, inlined ones with `_[i]`.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/sum.h"
#include "base/text.h"
#include "formats/report_format.h"
#include "report/outcome.h"
#include "report/profile.h"
#include "report/report.h"
#include "report/symbolized.h"
#include "report/value.h"
#include "report/verified.h"

/* Stacks that differ only in addresses inside their functions share a line. */
struct line {
	UT_hash_handle hh;
	uint64_t value; /* events, or nanoseconds */
	char text[];
};

struct folded {
	struct report report;
	struct profile *profile;
	struct value value; /* of the lines */
	struct line *lines;
	struct symbolized_stack symbolized;
};

static int folded_add(struct report *report, const struct sample *sample,
		      const struct totals *totals)
{
	return profile_add(((struct folded *)report)->profile, sample);
}

/* A name in a line, where `;` separates frames. */
static void put_name(const char *name, FILE *to)
{
	for (; *name; name++)
		fputc(*name == ';' ? ':' : *name, to);
}

/* The first frame is the command, without spaces, which would end the stack. */
static void put_comm(const char *comm, FILE *to)
{
	if (*comm == '\0')
		comm = "?";
	for (; *comm; comm++)
		fputc(*comm == ';' ? ':' : (unsigned char)*comm <= ' ' ? '_' : *comm, to);
}

/* From root to leaf; inlined functions end with `_[i]`, the kernel's with `_[k]`. */
static void put_stack(const struct stack *counted, const struct symbolized_stack *stack, FILE *to)
{
	put_comm(counted->common.comm, to);
	for (size_t i = stack->n; i-- > 0;) {
		const struct symbolized_frame *symbolized = &stack->items[i];

		fputc(';', to);
		put_name(symbolized->name, to);
		if (symbolized->is_inlined)
			fputs("_[i]", to);
		if (symbolized->kind == SYMBOLIZED_KERNEL)
			fputs("_[k]", to);
	}
}

static int count_line(struct folded *folded, const char *text, size_t size, uint64_t value)
{
	struct line *line;

	HASH_FIND(hh, folded->lines, text, size, line);
	if (!line) {
		line = calloc(1, sizeof(*line) + size + 1);
		if (!line)
			return -ENOMEM;
		memcpy(line->text, text, size);
		HASH_ADD(hh, folded->lines, text, size, line);
		if (!HASH_IS_ADDED(hh, line)) {
			free(line);
			return -ENOMEM;
		}
	}
	sum_increase(&line->value, value);
	return 0;
}

static int fold_stack(const struct stack *stack, void *arg)
{
	struct folded *folded = arg;
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *to;
	int err;

	err = symbolized_stack_make(&folded->report, stack, SYMBOLIZED_LABELS, &folded->symbolized);
	if (err < 0)
		return err;
	to = open_memstream(&text, &size);
	if (!to)
		return -errno;
	put_stack(stack, &folded->symbolized, to);
	if (fclose(to) != 0)
		return -ENOMEM;
	text_make_plain(text); /* one line, printable on a terminal */
	return count_line(folded, text, size, value_of_stack(&folded->value, stack));
}

static int line_compare(struct line *a, struct line *b)
{
	return strcmp(a->text, b->text);
}

/* Times are shown in microseconds. */
static uint64_t shown_number(const struct folded *folded, uint64_t value)
{
	return value_is_time(&folded->value) ? (value + 500) / 1000 : value;
}

/*
 * Totals as a stack without weight: flamegraph.pl and inferno omit frames without width, speedscope
 * samples without weight. A comment would make the first two warn, and simple readers stop.
 */
static void put_totals(const struct totals *totals, bool time, FILE *to)
{
	fprintf(to,
		"[totals: %" PRIu64 " samples, %" PRIu64 " lost, %" PRIu64 " of %" PRIu64
		" with a user stack complete (%.1f %%)",
		totals->samples, totals->lost, totals->outcomes[DP_COMPLETE],
		totals_with_user_stack(totals), totals_complete(totals));
	for (int i = DP_COMPLETE + 1; i < DP_N_OUTCOMES; i++)
		if (totals->outcomes[i] > 0)
			fprintf(to, ", %" PRIu64 " %s", totals->outcomes[i], outcome_word(i));
	if (totals->events != totals->samples)
		fprintf(to, ", scaled to %" PRIu64 " events", totals->events);
	if (time)
		fprintf(to, ", in microseconds");
	if (totals->verified) {
		fputs(", verified by libdwfl: ", to);
		verified_print(totals->verified, to);
	}
	fputs("] 0\n", to);
}

static int folded_finish(struct report *report, const struct totals *totals)
{
	struct folded *folded = (struct folded *)report;
	bool time;
	int err;

	folded->value = value_measured(&report->context);
	time = value_is_time(&folded->value);
	err = profile_for_each(folded->profile, fold_stack, folded);
	if (err < 0)
		return err;
	HASH_SORT(folded->lines, line_compare);
	for (const struct line *line = folded->lines; line; line = line->hh.next)
		fprintf(report->to, "%s %" PRIu64 "\n", line->text,
			shown_number(folded, line->value));
	/* Which of several events was lost is not known. */
	if (totals->lost > 0 && report->context.n_several == 0)
		fprintf(report->to, "[lost samples] %" PRIu64 "\n",
			shown_number(folded, value_of_lost(&folded->value, totals)));
	put_totals(totals, time, report->to);
	return 0;
}

static void folded_free(struct report *report)
{
	struct folded *folded = (struct folded *)report;
	struct line *line, *next;

	HASH_ITER(hh, folded->lines, line, next) {
		HASH_DEL(folded->lines, line);
		free(line);
	}
	symbolized_stack_done(&folded->symbolized);
	profile_free(folded->profile);
	free(folded);
}

int report_folded_new(struct report **ret)
{
	struct folded *folded = calloc(1, sizeof(*folded));

	if (!folded)
		return -ENOMEM;
	if (profile_new(PROFILE_LABELS, &folded->profile) < 0) {
		free(folded);
		return -ENOMEM;
	}
	folded->report.add = folded_add;
	folded->report.finish = folded_finish;
	folded->report.free = folded_free;
	*ret = &folded->report;
	return 0;
}
