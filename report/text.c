// SPDX-License-Identifier: Apache-2.0
/* The short report for a person: what was profiled, how good the stacks are, the top functions. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->failed = true)
#include <uthash.h>

#include "outcome.h"
#include "profile.h"
#include "report.h"

#define TEXT_TOP 20

struct function {
	UT_hash_handle hh;
	uint64_t self;
	uint64_t total;
	const void *last_stack; /* counted in total for this one already: recursion counts once */
	const char *module;
	bool failed;
	char name[];
};

struct text {
	struct report report;
	struct profile *profile;
	struct function *functions;
};

static int text_add(struct report *report, const struct sample *sample, const struct totals *totals)
{
	return profile_add(((struct text *)report)->profile, sample);
}

static struct function *text_function(struct text *text, const char *name, const char *module)
{
	size_t size = strlen(name);
	struct function *f;

	HASH_FIND(hh, text->functions, name, size, f);
	if (f)
		return f;
	f = calloc(1, sizeof(*f) + size + 1);
	if (!f)
		return NULL;
	memcpy(f->name, name, size);
	f->module = module;
	HASH_ADD(hh, text->functions, name, size, f);
	if (f->failed) {
		free(f);
		return NULL;
	}
	return f;
}

static int count_frame(struct text *text, const char *name, const char *module,
		       const struct stack *stack, bool leaf)
{
	struct function *f = text_function(text, name, module);

	if (!f)
		return -ENOMEM;
	if (leaf)
		f->self += stack->count;
	if (f->last_stack != stack->user)
		f->total += stack->count;
	f->last_stack = stack->user;
	return 0;
}

/* As frame_label(), but the functions of a binary that have no names count as one. */
static const char *function_label(const struct text *text, const struct frame *frame,
				  char buffer[FRAME_LABEL_SIZE])
{
	uint64_t offset;
	const char *name = text->report.context.symbols ? frame_symbol(frame, &offset) : NULL;

	if (name || !frame->module)
		return name ? name : "[unknown]";
	snprintf(buffer, FRAME_LABEL_SIZE, "[%.255s]", frame->module->name);
	return buffer;
}

static int count_stack(const struct stack *stack, void *arg)
{
	struct text *text = arg;
	char buffer[FRAME_LABEL_SIZE];
	int err = 0;

	for (size_t i = 0; err == 0 && i < stack->n_kernel; i++)
		err = count_frame(text,
				  report_kernel_label(&text->report, stack->kernel[i], i, buffer),
				  "[kernel]", stack, i == 0);
	for (size_t i = 0; err == 0 && i < stack->n_user; i++) {
		struct frame frame = stack_frame_unpack(&stack->user[i]);

		err = count_frame(text, function_label(text, &frame, buffer),
				  frame.module ? frame.module->name : "?", stack,
				  i == 0 && stack->n_kernel == 0);
	}
	return err;
}

static int function_compare(struct function *a, struct function *b)
{
	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void print_outcomes(const struct totals *totals, FILE *to)
{
	fprintf(to, "Samples: %" PRIu64 ", lost: %" PRIu64 ", complete: %" PRIu64 " (%.1f %%)\n",
		totals->samples, totals->lost, totals->outcomes[DP_COMPLETE],
		totals_complete(totals));
	for (int i = DP_COMPLETE + 1; i < DP_N_OUTCOMES; i++)
		if (totals->outcomes[i] > 0)
			fprintf(to, "  %-18s %8" PRIu64 "  %s\n", outcome_word(i),
				totals->outcomes[i], outcome_sentence(i));
}

static int text_finish(struct report *report, const struct totals *totals)
{
	struct text *text = (struct text *)report;
	double all = totals->samples ? (double)totals->samples : 1;
	FILE *to = report->to;
	size_t n = 0;
	int err;

	err = profile_for_each(text->profile, count_stack, text);
	if (err < 0)
		return err;
	HASH_SORT(text->functions, function_compare);

	fprintf(to, "%s, %s", report->context.target, report->context.event);
	if (report->context.hz)
		fprintf(to, " at %u Hz", report->context.hz);
	fprintf(to, ", %.1f s\n", (double)totals->duration_ns / 1e9);
	print_outcomes(totals, to);
	fprintf(to, "\n%8s %8s  %-50s %s\n", "self", "total", "function", "binary");
	for (const struct function *f = text->functions; f && n < TEXT_TOP; f = f->hh.next, n++)
		fprintf(to, "%6.1f %% %6.1f %%  %-50s %s\n", 100.0 * (double)f->self / all,
			100.0 * (double)f->total / all, f->name, f->module);
	if (HASH_COUNT(text->functions) > TEXT_TOP)
		fprintf(to, "... and %u more functions\n", HASH_COUNT(text->functions) - TEXT_TOP);
	return 0;
}

static void text_free(struct report *report)
{
	struct text *text = (struct text *)report;
	struct function *f, *next;

	HASH_ITER(hh, text->functions, f, next) {
		HASH_DEL(text->functions, f);
		free(f);
	}
	profile_free(text->profile);
	free(text);
}

int report_text_new(struct report **ret)
{
	struct text *text = calloc(1, sizeof(*text));

	if (!text)
		return -ENOMEM;
	if (profile_new(&text->profile) < 0) {
		free(text);
		return -ENOMEM;
	}
	text->report.add = text_add;
	text->report.finish = text_finish;
	text->report.free = text_free;
	*ret = &text->report;
	return 0;
}
