// SPDX-License-Identifier: Apache-2.0
/*
 * Folded stacks, as flamegraph.pl and most viewers read them: one line per
 * stack, `comm;root;...;leaf COUNT`, kernel frames marked by `_[k]`.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->failed = true)
#include <uthash.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "outcome.h"
#include "profile.h"
#include "report.h"

/* Stacks that differ only in addresses inside their functions share a line. */
struct line {
	UT_hash_handle hh;
	uint64_t count;
	bool failed;
	char text[];
};

struct folded {
	struct report report;
	struct profile *profile;
	struct line *lines;
};

static int folded_add(struct report *report, const struct sample *sample,
		      const struct totals *totals)
{
	return profile_add(((struct folded *)report)->profile, sample);
}

/* A frame's name inside a line, where `;` separates frames. */
static void put_name(const char *name, FILE *to)
{
	for (; *name; name++)
		fputc(*name == ';' ? ':' : *name, to);
}

/* The first frame is the command, without the spaces that end a line's stack. */
static void put_comm(const char *comm, FILE *to)
{
	if (*comm == '\0')
		comm = "?";
	for (; *comm; comm++)
		fputc(*comm == ';' ? ':' : (unsigned char)*comm <= ' ' ? '_' : *comm, to);
}

static void put_stack(const struct folded *folded, const struct stack *stack, FILE *to)
{
	char buffer[FRAME_LABEL_SIZE];

	put_comm(stack->comm, to);
	if (stack->outcome != DP_COMPLETE)
		fprintf(to, ";[truncated: %s]", outcome_word(stack->outcome));
	for (size_t i = stack->n_user; i-- > 0;) {
		struct frame frame = stack_frame_unpack(&stack->user[i]);

		fputc(';', to);
		put_name(frame_label(&frame, folded->report.context.symbols, buffer), to);
	}
	for (size_t i = stack->n_kernel; i-- > 0;) {
		fputc(';', to);
		put_name(report_kernel_label(&folded->report, stack->kernel[i], i, buffer), to);
		fputs("_[k]", to);
	}
}

static int count_line(struct folded *folded, const char *text, size_t size, uint64_t count)
{
	struct line *line;

	HASH_FIND(hh, folded->lines, text, size, line);
	if (!line) {
		line = calloc(1, sizeof(*line) + size + 1);
		if (!line)
			return -ENOMEM;
		memcpy(line->text, text, size);
		HASH_ADD(hh, folded->lines, text, size, line);
		if (line->failed) {
			free(line);
			return -ENOMEM;
		}
	}
	line->count += count;
	return 0;
}

static int fold_stack(const struct stack *stack, void *arg)
{
	struct folded *folded = arg;
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return -errno;
	put_stack(folded, stack, to);
	if (fclose(to) != 0)
		return -ENOMEM;
	text_make_plain(text); /* a line is a line, and may go to a terminal */
	return count_line(folded, text, size, stack->count);
}

static int line_compare(struct line *a, struct line *b)
{
	return strcmp(a->text, b->text);
}

/*
 * How good the stacks are, as a stack that weighs nothing: flamegraph.pl and
 * inferno leave frames without width out, speedscope samples without weight. At
 * a comment the first two would warn, and simple readers would stop.
 */
static void put_totals(const struct totals *totals, FILE *to)
{
	fprintf(to,
		"[totals: %" PRIu64 " samples, %" PRIu64 " lost, %" PRIu64 " of %" PRIu64
		" with a user stack complete (%.1f %%)",
		totals->samples, totals->lost, totals->outcomes[DP_COMPLETE],
		totals_with_user_stack(totals), totals_complete(totals));
	for (int i = DP_COMPLETE + 1; i < DP_N_OUTCOMES; i++)
		if (totals->outcomes[i] > 0)
			fprintf(to, ", %" PRIu64 " %s", totals->outcomes[i], outcome_word(i));
	fputs("] 0\n", to);
}

static int folded_finish(struct report *report, const struct totals *totals)
{
	struct folded *folded = (struct folded *)report;
	int err = profile_for_each(folded->profile, fold_stack, folded);

	if (err < 0)
		return err;
	HASH_SORT(folded->lines, line_compare);
	for (const struct line *line = folded->lines; line; line = line->hh.next)
		fprintf(report->to, "%s %" PRIu64 "\n", line->text, line->count);
	if (totals->lost > 0)
		fprintf(report->to, "[lost samples] %" PRIu64 "\n", totals->lost);
	put_totals(totals, report->to);
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
	profile_free(folded->profile);
	free(folded);
}

int report_folded_new(struct report **ret)
{
	struct folded *folded = calloc(1, sizeof(*folded));

	if (!folded)
		return -ENOMEM;
	if (profile_new(&folded->profile) < 0) {
		free(folded);
		return -ENOMEM;
	}
	folded->report.add = folded_add;
	folded->report.finish = folded_finish;
	folded->report.free = folded_free;
	*ret = &folded->report;
	return 0;
}
