// SPDX-License-Identifier: Apache-2.0
#include "report/verified.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "report/outcome.h"

const char *verified_word(enum verified_result result)
{
	static const char *const words[] = { "none",
#define X(name, word, sentence) word,
					     VERIFIED_RESULTS(X)
#undef X
	};

	return words[result];
}

const char *verified_sentence(enum verified_result result)
{
	static const char *const sentences[] = { "not verified",
#define X(name, word, sentence) sentence,
						 VERIFIED_RESULTS(X)
#undef X
	};

	return sentences[result];
}

enum verified_result verified_compare(const struct frame *ours, size_t n_ours,
				      const struct frame *theirs, size_t n_theirs, bool copy_ended,
				      size_t *ret_n)
{
	size_t n = 0;

	while (n < n_ours && n < n_theirs && ours[n].address == theirs[n].address)
		n++;
	*ret_n = n;
	if (n == n_ours && n == n_theirs)
		return VERIFIED_EQUAL;
	/*
	 * After a call of a null pointer, libdwfl takes address 0 for the root, and does not list
	 * it.
	 */
	if (n == n_theirs && n + 1 == n_ours && ours[n].address == 0)
		return VERIFIED_EQUAL;
	if (n == n_theirs)
		return copy_ended ? VERIFIED_COPY_END : VERIFIED_FURTHER;
	return n == n_ours ? VERIFIED_SHORTER : VERIFIED_DIFFERS;
}

bool verified_is_difference(enum verified_result result)
{
	return result == VERIFIED_FURTHER || result == VERIFIED_SHORTER ||
	       result == VERIFIED_DIFFERS;
}

static bool is_same_kind(const struct verified_kind *a, const struct verified_kind *b)
{
	return a->result == b->result && a->callee.module == b->callee.module &&
	       a->has_ours == b->has_ours && a->ours.method == b->ours.method &&
	       a->has_theirs == b->has_theirs && a->theirs.method == b->theirs.method &&
	       (a->result != VERIFIED_SHORTER || a->outcome == b->outcome) &&
	       (a->result != VERIFIED_FURTHER || strcmp(a->end, b->end) == 0);
}

static void hold_module(const struct frame *frame)
{
	if (frame->module)
		module_hold(frame->module);
}

/* It is shown at the end, when its modules may be gone. */
static void add_kind(struct verified *v, const struct verified_kind *kind)
{
	v->kinds[v->n_kinds++] = *kind;
	hold_module(&kind->callee);
	hold_module(&kind->ours);
	hold_module(&kind->theirs);
}

static void count_kind(struct verified *v, const struct verified_kind *kind)
{
	size_t i = 0;

	while (i < v->n_kinds && !is_same_kind(&v->kinds[i], kind))
		i++;
	if (i == VERIFIED_MAX_KINDS) {
		v->other_kinds++;
		return;
	}
	if (i == v->n_kinds)
		add_kind(v, kind);
	v->kinds[i].count++;
}

static void count_difference(struct verified *v, const struct sample *sample,
			     const struct verified_stack *stack)
{
	size_t n = stack->n_equal;
	struct verified_kind kind = {
		.result = stack->result,
		.pid = sample->pid,
		.outcome = sample->outcome,
		.index = n,
	};

	memcpy(kind.comm, sample->comm, sizeof(kind.comm));
	if (n > 0)
		kind.callee = sample->user[n - 1];
	kind.has_ours = n < sample->n_user;
	if (kind.has_ours)
		kind.ours = sample->user[n];
	kind.has_theirs = n < stack->n_frames;
	if (kind.has_theirs)
		kind.theirs = stack->frames[n];
	if (stack->end)
		snprintf(kind.end, sizeof(kind.end), "%s", stack->end);
	count_kind(v, &kind);
}

void verified_count(struct verified *v, const struct sample *sample,
		    const struct verified_stack *stack)
{
	size_t n = stack->n_equal;

	v->results[stack->result]++;
	v->equal_frames += n;
	switch (stack->result) {
	case VERIFIED_EQUAL:
	case VERIFIED_COPY_END:
	case VERIFIED_NO_INFORMATION:
		v->frames += n;
		break;
	case VERIFIED_SHORTER:
		v->frames += stack->n_frames;
		break;
	case VERIFIED_FURTHER:
	case VERIFIED_DIFFERS:
		v->frames += sample->n_user;
		break;
	default:
		break;
	}
	for (size_t i = 0; i < n; i++)
		v->by_frame_pointer += sample->user[i].method == DP_METHOD_FRAME_POINTER;
	if (verified_is_difference(stack->result) || stack->result == VERIFIED_NO_INFORMATION)
		count_difference(v, sample, stack);
}

uint64_t verified_compared(const struct verified *v)
{
	uint64_t n = v->results[VERIFIED_EQUAL];

	for (int i = 0; i < VERIFIED_N_RESULTS; i++)
		if (verified_is_difference((enum verified_result)i))
			n += v->results[i];
	return n;
}

double verified_share(const struct verified *v)
{
	uint64_t compared = verified_compared(v);

	return compared ? 100.0 * (double)v->results[VERIFIED_EQUAL] / (double)compared : 0;
}

/* A share below 100 % is not rounded up to it. */
static void print_share(double share, FILE *to)
{
	fprintf(to, "%.*f %%", share > 99.9 && share < 100 ? 3 : 1, share);
}

void verified_print(const struct verified *v, FILE *to)
{
	uint64_t compared = verified_compared(v);
	uint64_t partly = v->results[VERIFIED_COPY_END] + v->results[VERIFIED_NO_INFORMATION];

	fprintf(to, "%" PRIu64 " samples, ", compared + partly);
	if (compared > 0) {
		fprintf(to, "%" PRIu64 " of %" PRIu64 " stacks equal (", v->results[VERIFIED_EQUAL],
			compared);
		print_share(verified_share(v), to);
		fputs("), ", to);
	}
	fprintf(to, "%" PRIu64 " of %" PRIu64 " frames", v->equal_frames, v->frames);
	if (v->by_frame_pointer > 0)
		fprintf(to, " (%" PRIu64 " by frame pointers)", v->by_frame_pointer);
	for (int i = VERIFIED_EQUAL + 1; i < VERIFIED_N_RESULTS; i++)
		if (v->results[i] > 0)
			fprintf(to, "; %" PRIu64 " %s", v->results[i], verified_word(i));
}

/* "qsort_r (libc.so.6+0x3fe1a)" */
static void print_frame(const struct frame *frame, bool symbols, FILE *to)
{
	const struct source_location *locations = NULL;
	size_t n = symbols ? frame_locations(frame, false, &locations) : 0;
	/* The function with the frame, not one inlined into it */
	const char *name = n > 0 ? locations[n - 1].function : NULL;

	if (!frame_is_in_binary(frame))
		fprintf(to, "0x%" PRIx64, frame->address);
	else if (name)
		fprintf(to, "%s (%s+0x%" PRIx64 ")", name, frame->module->name, frame->offset);
	else
		fprintf(to, "%s+0x%" PRIx64, frame->module->name, frame->offset);
}

static void print_kind(const struct verified_kind *kind, bool symbols, FILE *to)
{
	fprintf(to, "%" PRIu64 " %s: %s; first in %s (PID %d, %s), frame %zu, the caller of ",
		kind->count, verified_word(kind->result), verified_sentence(kind->result),
		kind->comm, (int)kind->pid, outcome_word(kind->outcome), kind->index);
	print_frame(&kind->callee, symbols, to);
	fputs(": dwarfprof has ", to);
	if (kind->has_ours) {
		print_frame(&kind->ours, symbols, to);
		fprintf(to, " by %s", method_word(kind->ours.method));
	} else {
		fputs("none", to);
	}
	fputs(", libdwfl ", to);
	if (kind->has_theirs) {
		print_frame(&kind->theirs, symbols, to);
		fprintf(to, " by %s",
			kind->theirs.method == DP_METHOD_FRAME_POINTER ? "the frame pointer" :
									 "unwind information");
	} else {
		fprintf(to, "none (%s)", kind->end);
	}
	fputc('\n', to);
}

static int kind_compare(const void *a, const void *b)
{
	const struct verified_kind *const *x = a, *const *y = b;

	if ((*x)->count != (*y)->count)
		return (*x)->count > (*y)->count ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static void print_kinds(const struct verified *v, bool symbols, size_t max, FILE *to)
{
	const struct verified_kind *kinds[VERIFIED_MAX_KINDS];
	uint64_t left = v->other_kinds;

	for (size_t i = 0; i < v->n_kinds; i++)
		kinds[i] = &v->kinds[i];
	qsort(kinds, v->n_kinds, sizeof(kinds[0]), kind_compare);
	for (size_t i = 0; i < v->n_kinds; i++) {
		if (i < max)
			print_kind(kinds[i], symbols, to);
		else
			left += kinds[i]->count;
	}
	if (left > 0)
		fprintf(to, "%" PRIu64 " of other kinds\n", left);
}

int verified_for_each_kind(const struct verified *v, bool symbols, size_t max,
			   void (*fn)(void *arg, const char *line), void *arg)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	char *save;

	if (!to)
		return -errno;
	print_kinds(v, symbols, max, to);
	if (fclose(to) != 0)
		return -ENOMEM;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		text_make_plain(line);
		fn(arg, line);
	}
	return 0;
}
