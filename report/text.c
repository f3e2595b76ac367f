// SPDX-License-Identifier: Apache-2.0
/* The short report for a person: what was profiled, how good the stacks are, the top functions. */
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

#define TEXT_TOP 20

/* A row: a function of a binary. Equal names in different binaries are different functions. */
struct function {
	UT_hash_handle hh;
	uint64_t self;
	uint64_t total;
	const void *last_stack; /* counted in total for this one already: recursion counts once */
	bool failed;
	const char *name; /* in the key */
	size_t key_size;
	char key[]; /* path of the binary and name, each with its zero; fit for a terminal */
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

static struct function *function_new(const char *path, const char *name)
{
	size_t path_size = strlen(path) + 1, name_size = strlen(name) + 1;
	struct function *f = calloc(1, sizeof(*f) + path_size + name_size);

	if (!f)
		return NULL;
	f->key_size = path_size + name_size;
	memcpy(f->key, path, path_size);
	memcpy(f->key + path_size, name, name_size);
	text_make_plain(f->key);
	text_make_plain(f->key + path_size);
	f->name = f->key + path_size;
	return f;
}

static struct function *text_function(struct text *text, const char *path, const char *name)
{
	struct function *f = function_new(path, name), *known;

	if (!f)
		return NULL;
	HASH_FIND(hh, text->functions, f->key, f->key_size, known);
	if (known) {
		free(f);
		return known;
	}
	HASH_ADD_KEYPTR(hh, text->functions, f->key, f->key_size, f);
	if (f->failed) {
		free(f);
		return NULL;
	}
	return f;
}

static int count_frame(struct text *text, const char *path, const char *name,
		       const struct stack *stack, bool leaf)
{
	struct function *f = text_function(text, path, name);

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
		err = count_frame(text, "[kernel]",
				  report_kernel_label(&text->report, stack->kernel[i], i, buffer),
				  stack, i == 0);
	for (size_t i = 0; err == 0 && i < stack->n_user; i++) {
		struct frame frame = stack_frame_unpack(&stack->user[i]);

		err = count_frame(text, frame.module ? frame.module->path : "?",
				  function_label(text, &frame, buffer), stack,
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
	return strcmp(a->name, b->name) ? strcmp(a->name, b->name) : strcmp(a->key, b->key);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The last part of the binary's path; the whole where a row would look like another one. */
static const char *function_binary(const struct text *text, const struct function *f)
{
	const char *base = base_name(f->key);

	for (const struct function *other = text->functions; other; other = other->hh.next)
		if (other != f && strcmp(other->name, f->name) == 0 &&
		    strcmp(base_name(other->key), base) == 0)
			return f->key;
	return base;
}

static int print_plain(const char *text, FILE *to)
{
	_cleanup_free_ char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	text_make_plain(copy);
	fputs(copy, to);
	return 0;
}

static int print_head(const struct report_context *context, const struct totals *totals, FILE *to)
{
	int err = print_plain(context->target, to);

	fputs(", ", to);
	if (err == 0)
		err = print_plain(context->event, to);
	if (context->hz)
		fprintf(to, " at %u Hz", context->hz);
	fprintf(to, ", %.1f s\n", (double)totals->duration_ns / 1e9);
	return err;
}

static void print_outcomes(const struct totals *totals, FILE *to)
{
	fprintf(to,
		"Samples: %" PRIu64 ", lost: %" PRIu64 ", complete: %" PRIu64 " of %" PRIu64
		" with a user stack (%.1f %%)\n",
		totals->samples, totals->lost, totals->outcomes[DP_COMPLETE],
		totals_with_user_stack(totals), totals_complete(totals));
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

	err = print_head(&report->context, totals, to);
	if (err < 0)
		return err;
	print_outcomes(totals, to);
	fprintf(to, "\n%8s %8s  %-50s %s\n", "self", "total", "function", "binary");
	for (const struct function *f = text->functions; f && n < TEXT_TOP; f = f->hh.next, n++)
		fprintf(to, "%6.1f %% %6.1f %%  %-50s %s\n", 100.0 * (double)f->self / all,
			100.0 * (double)f->total / all, f->name, function_binary(text, f));
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
