/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_VERIFIED_H
#define DP_REPORT_VERIFIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/sample.h"

/*
 * --verify: what became of the samples that were unwound a second time, by
 * elfutils' libdwfl, and how often both agreed, in stacks and in frames.
 *
 *   X(enumerator, word, sentence)
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
	  "not verified: the mappings were not known, or libdwfl could not begin")

/* VERIFIED_NONE: it was not this sample's turn. */
#define X(name, word, sentence) VERIFIED_##name,
enum verified_result { VERIFIED_NONE, VERIFIED_RESULTS(X) VERIFIED_N_RESULTS };
#undef X

const char *verified_word(enum verified_result result);
const char *verified_sentence(enum verified_result result);

/* What libdwfl found of one stack. */
struct verified_stack {
	enum verified_result result;
	size_t n_equal;             /* frames that are the same, counted from the leaf */
	const struct frame *frames; /* leaf first */
	size_t n_frames;
	const char *end; /* why it ended, as a phrase */
};

/*
 * Compare the frames that dwarfprof found with libdwfl's, whose list may end
 * only because the copy of the stack did. *ret_n is how many are the same, the
 * leaf first; where they are not all, that is the index of the first difference.
 * What libdwfl has no unwind information for is the caller's to find out.
 */
enum verified_result verified_compare(const struct frame *ours, size_t n_ours,
				      const struct frame *theirs, size_t n_theirs, bool copy_ended,
				      size_t *ret_n);

/* A result that says the stacks are not the same, and so is shown with an example. */
bool verified_is_difference(enum verified_result result);

/* Differences that are alike: of the same result, in the same binary, found the same ways. */
struct verified_kind {
	uint64_t count;
	/* The first one of them */
	enum verified_result result;
	char comm[DP_COMM_SIZE + 1];
	pid_t pid;
	enum dp_outcome outcome;
	size_t index;        /* of the first frame that is not the same */
	struct frame callee; /* the one before, whose caller differs; both found it */
	bool has_ours, has_theirs;
	struct frame ours;   /* its caller, as dwarfprof has it */
	struct frame theirs; /* and as libdwfl has it; DP_METHOD_FRAME_POINTER: it guessed */
	char end[128];       /* why libdwfl ended */
};

#define VERIFIED_MAX_KINDS 100

struct verified {
	uint64_t results[VERIFIED_N_RESULTS];
	uint64_t frames;       /* compared */
	uint64_t equal_frames; /* of these */
	uint64_t
		by_frame_pointer; /* of the equal ones: without unwind information, or --unwind fp */
	struct verified_kind kinds[VERIFIED_MAX_KINDS];
	size_t n_kinds;
	uint64_t other_kinds; /* differences that found no room there */
};

/* Count a stack that was compared with a sample's. */
void verified_count(struct verified *verified, const struct sample *sample,
		    const struct verified_stack *stack);

/* Stacks that could be compared to their end, and how many of them are the same. */
uint64_t verified_compared(const struct verified *verified);
double verified_share(const struct verified *verified);

/* "412 samples, 411 of 412 stacks equal (99.8 %), 12345 of 12346 frames", no newline. */
void verified_print(const struct verified *verified, FILE *to);

/*
 * Have fn called with a line for each kind of difference, the most frequent
 * first, at most so many, and one for how many there are of others; fit for a
 * terminal. 0 or -ENOMEM.
 */
int verified_for_each_kind(const struct verified *verified, bool symbols, size_t max,
			   void (*fn)(void *arg, const char *line), void *arg);

/* Kinds that a person wants to see at once. */
#define VERIFIED_SHOWN_KINDS 5

#endif
