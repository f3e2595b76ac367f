// SPDX-License-Identifier: Apache-2.0
#include "text/stack_lines.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "report/outcome.h"
#include "symbols/names.h"

void stack_lines_put_name(const char *name, FILE *to)
{
	char text[FRAME_LABEL_SIZE * 4];

	snprintf(text, sizeof(text), "%s", name);
	text_make_plain(text);
	fputs(text, to);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* address: of its frame, in the process. */
static void print_function(const struct symbolized_frame *s, size_t number, uint64_t address,
			   FILE *to)
{
	fprintf(to, "#%-3zu 0x%016" PRIx64 "  ", number, address);
	stack_lines_put_name(s->name, to);
	if (s->has_start)
		fprintf(to, "+0x%" PRIx64, s->address - s->start);
	if (s->is_inlined)
		fputs(" (inlined)", to);
	if (s->is_near)
		fputs(" (near)", to);
	if (s->file) {
		fputs(" at ", to);
		stack_lines_put_name(s->file, to);
	}
	if (s->file && s->line > 0)
		fprintf(to, ":%u", s->line);
	/* A function without a name is called by its binary, which then is not repeated. */
	if (s->binary && s->is_named) {
		bool bracketed = s->binary[0] == '[';

		fputs(bracketed ? " " : " [", to);
		stack_lines_put_name(base_name(s->binary), to);
		fputs(bracketed ? "" : "]", to);
	}
}

/* Where a function is in its sample. */
struct place {
	size_t n_kernel, n_user;   /* frames up to it */
	const struct frame *frame; /* NULL: the kernel's, or it is inlined there */
	uint64_t address;
};

/* Goes to the next function. */
static void place_next(struct place *at, const struct sample *sample,
		       const struct symbolized_frame *s)
{
	at->frame = NULL;
	at->address = s->address;
	if (s->kind == SYMBOLIZED_KERNEL) {
		at->address = at->n_kernel < sample->n_kernel ? sample->kernel[at->n_kernel] : 0;
		at->n_kernel++;
	} else if (at->n_user < sample->n_user) {
		at->address = sample->user[at->n_user].address;
		if (s->is_inlined)
			return;
		/* The last function of a frame is not inlined. */
		at->frame = &sample->user[at->n_user++];
	}
}

/* Those before the first mark. */
static size_t count_functions(const struct symbolized_stack *stack)
{
	size_t n = 0;

	while (n < stack->n && stack->items[n].kind != SYMBOLIZED_MARK)
		n++;
	return n;
}

static void print_functions(const struct stack_lines *lines, const struct sample *sample)
{
	const struct symbolized_stack *stack = lines->stack;
	size_t n = count_functions(stack), n_skipped, n_leaf;
	struct place at = { 0 };
	FILE *to = lines->report->to;

	n_leaf = symbolized_keep(n, lines->max, &n_skipped);
	for (size_t i = 0; i < n; i++) {
		place_next(&at, sample, &stack->items[i]);
		if (i == n_leaf && n_skipped > 0)
			fprintf(to, "     ... %zu more\n", n_skipped);
		if (i >= n_leaf && i - n_leaf < n_skipped)
			continue;
		print_function(&stack->items[i], i, at.address, to);
		if (lines->beside && at.frame)
			lines->beside(lines->arg, sample, at.frame, to);
		fputc('\n', to);
	}
}

int stack_lines_print(const struct stack_lines *lines, const struct sample *sample)
{
	bool has_lines = !names_options(lines->report->context.names)->no_lines;
	FILE *to = lines->report->to;
	int err = symbolized_stack_make_sample(lines->report, sample,
					       has_lines ? SYMBOLIZED_LINES : 0, lines->stack);

	if (err < 0)
		return err;
	print_functions(lines, sample);
	if (sample->outcome != DP_COMPLETE && sample->outcome != DP_KERNEL_ONLY)
		fprintf(to, "     [%s: %s]\n", outcome_word(sample->outcome),
			outcome_sentence(sample->outcome));
	return 0;
}
