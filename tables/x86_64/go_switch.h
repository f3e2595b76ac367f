/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_X86_64_GO_SWITCH_H
#define DP_TABLES_X86_64_GO_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables/x86_64/go_code.h"

/*
 * Where the Go runtime continues when a function does not return to its caller, derived from what
 * its functions show about each other. Offsets in its structures are those that these functions
 * use.
 */

/*
 * A frame that may be at the start of the thread's own stack, where mcall() and newstack() begin
 * again: it is there if the word at `at` is the return address of its function.
 */
struct go_frame {
	int32_t at;              /* relative to the start of the thread's stack */
	uint64_t return_address; /* in the file */
	uint64_t pc;             /* the frame's, in the file */
};

/* A call that does not return because another goroutine runs. */
struct go_given {
	uint64_t start, end; /* the instruction */
	int64_t depth;       /* distance from rsp up to the start of the thread's stack */
};

/*
 * The call that cgocallback() makes on the goroutine's stack. crosscall2() has called it on the
 * thread's stack, and it has stored rsp there as the start of that stack. If the walk comes from
 * further up on the thread's stack, this is an outer callback, which began where asmcgocall() left
 * that stack: C was called again, and has called back again.
 */
struct go_callback {
	uint64_t start, end; /* the instruction; end 0: not known */
	struct sum_parts parts;
	struct sum sp;           /* the start of the thread's stack */
	int32_t outer;           /* distance from where asmcgocall() left it to that of the outer
	                          * one */
	int32_t size;            /* of the frame on either stack, including the return address */
	uint64_t return_address; /* in crosscall2() */
};

#define GO_MAX_FRAMES 2
#define GO_MAX_GIVEN 8

struct go_switch {
	struct go_frame frames[GO_MAX_FRAMES];
	size_t n_frames;
	struct go_given given[GO_MAX_GIVEN];
	size_t n_given;
	struct go_callback callback;
	/* The goroutine's struct g, and its rsp and pc while the thread's own stack is in use */
	bool has_goroutine;
	struct sum_parts parts;
	struct sum goroutine, sp, pc;
	struct pclntab_function
		set_labels; /* the function that does; without a name if there is none */
};

/* Reads what the program shows. What is not found gets no rule. 0 or -ENOMEM. */
int go_switch_init(struct go_switch *ret, struct go_code *code);

/* True if a function of that name switches stacks, for versions without flags. */
bool go_switch_is_named(const char *name);

/* Continues with the goroutine, or with the thread's stack, which starts at rsp + depth. */
bool go_switch_goroutine_rule(const struct go_switch *found, struct dp_rule *ret,
			      struct rule_programs *ret_programs);
bool go_switch_thread_rule(const struct go_switch *found, int64_t depth, struct dp_rule *ret,
			   struct rule_programs *ret_programs);
/*
 * Continues from cgocallback() with crosscall2(); or, if a panic has dropped C's frames, where the
 * goroutine called C, as Go's own traces do.
 */
bool go_switch_callback_rule(const struct go_switch *found, struct dp_rule *ret,
			     struct rule_programs *ret_programs);

#endif
