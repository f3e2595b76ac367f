/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_VERIFIED_H
#define DP_REPORT_VERIFIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "limits/limits.h"
#include "report/sample.h"

/*
 * --verify: results of samples that elfutils' libdwfl unwound a second time, and how often both
 * agreed, in stacks and frames.
 *
 * X(enumerator, word, sentence)
 */
#define VERIFIED_RESULTS(X)                                                                        \
	X(EQUAL, "equal", "the same frames")                                                       \
	X(COPY_END, "copy_end", "the same frames, as far as the copy of the stack reaches")        \
	X(NO_INFORMATION, "no_information",                                                        \
	  "the same frames, up to code of which libdwfl has no unwind information")                \
	X(FURTHER, "further", "the same frames, but libdwfl ends before dwarfprof")                \
	X(SHORTER, "shorter", "the same frames, but dwarfprof ends before libdwfl")                \
	X(DIFFERS, "differs", "a frame with another caller")                                       \
	X(NO_COPY, "no_copy", "not verified: there was no room for a copy of the stack")           \
	X(NO_START, "no_start",                                                                    \
	  "not verified: the mappings were not known, or libdwfl could not begin")                 \
	X(LEFT_OUT, "left_out",                                                                    \
	  "not verified: too many stacks waited, or libdwfl took too long or failed")

/* VERIFIED_NONE: this sample was not chosen. */
#define X(name, word, sentence) VERIFIED_##name,
enum verified_result { VERIFIED_NONE, VERIFIED_RESULTS(X) VERIFIED_N_RESULTS };
#undef X

const char *verified_word(enum verified_result result);
const char *verified_sentence(enum verified_result result);

/* libdwfl's result for one stack. */
struct verified_stack {
	enum verified_result result;
	size_t n_equal;             /* equal frames, counted from the leaf */
	const struct frame *frames; /* leaf first */
	size_t n_frames;
	const char *end; /* why it ended, as a phrase */
};

/*
 * Compares dwarfprof's frames with libdwfl's, whose list may end only because the copy of the stack
 * did. *ret_n is the number of equal frames from the leaf, and the index of the first difference.
 * The caller finds out whether libdwfl lacks unwind information.
 */
enum verified_result verified_compare(const struct frame *ours, size_t n_ours,
				      const struct frame *theirs, size_t n_theirs, bool copy_ended,
				      size_t *ret_n);

/* True for a result that means different stacks, which is shown with an example. */
bool verified_is_difference(enum verified_result result);

/* Similar differences: the same result, in the same binary, found by the same methods. */
struct verified_kind {
	uint64_t count;
	/* The first one */
	enum verified_result result;
	char comm[DP_COMM_SIZE + 1];
	pid_t pid;
	enum dp_outcome outcome;
	size_t index;        /* of the first different frame */
	struct frame callee; /* the frame before, which both found */
	bool has_ours, has_theirs;
	struct frame ours;   /* its caller by dwarfprof */
	struct frame theirs; /* and by libdwfl; DP_METHOD_FRAME_POINTER: it guessed */
	char end[128];       /* why libdwfl ended */
};

struct verified {
	uint64_t results[VERIFIED_N_RESULTS];
	uint64_t frames;           /* compared */
	uint64_t equal_frames;     /* of these */
	uint64_t by_frame_pointer; /* of the equal ones: found without unwind information, or with
		                   * --unwind fp */
	struct verified_kind kinds[VERIFIED_MAX_KINDS];
	size_t n_kinds;
	uint64_t other_kinds; /* differences of further kinds */
};

/* Counts a stack that was compared with a sample's. */
void verified_count(struct verified *verified, const struct sample *sample,
		    const struct verified_stack *stack);

/* Stacks that were compared to their end, and how many of them are equal. */
uint64_t verified_compared(const struct verified *verified);
double verified_share(const struct verified *verified);

/* "412 samples, 411 of 412 stacks equal (99.8 %), 12345 of 12346 frames", no newline. */
void verified_print(const struct verified *verified, FILE *to);

/*
 * Calls fn with a line for each kind of difference, most frequent first, at most `max`, and one
 * with the number of others; printable on a terminal. 0 or -ENOMEM.
 */
int verified_for_each_kind(const struct verified *verified, bool symbols, size_t max,
			   void (*fn)(void *arg, const char *line), void *arg);

/* Kinds shown to a person. */
#define VERIFIED_SHOWN_KINDS 5

#endif
