/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_X86_64_GO_SWITCH_H
#define DP_TABLES_X86_64_GO_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables/x86_64/go_code.h"

/*
 * Where Go's runtime goes on when a function does not return to who has called it: what its
 * functions tell of each other. Members of its structures are where these functions
 * themselves find them.
 */

/*
 * What the thread's own stack may have at its start, where mcall() and newstack() begin anew:
 * a frame is there if the word at `at` is the return address of its function.
 */
struct go_frame {
	int32_t at;              /* from what the thread's stack begins with */
	uint64_t return_address; /* in the file */
	uint64_t pc;             /* the frame's, in the file */
};

/* A call that does not come back, as another goroutine is run. */
struct go_given {
	uint64_t start, end; /* the instruction */
	int64_t depth;       /* how far rsp is below what the thread's stack begins with */
};

/*
 * The call that cgocallback() makes on the goroutine's stack. It was called on the thread's, by
 * crosscall2(), and has noted rsp there as what the thread's stack begins with. If the walk comes
 * from further up on the thread's stack, it is an outer one, that began where asmcgocall() was
 * left: C has been called again, and has called back again.
 */
struct go_callback {
	uint64_t start, end; /* the instruction; end 0: it is not known */
	struct sum_parts parts;
	struct sum sp;           /* what the thread's stack begins with */
	int32_t outer;           /* from where asmcgocall() was left to that of the outer one */
	int32_t size;            /* of the frame on either stack, with the return address */
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
		set_labels; /* the function that does; without a name: there is none */
};

/* Read what is known in a program; what is not found has no rule. 0 or -ENOMEM. */
int go_switch_init(struct go_switch *ret, struct go_code *code);

/* Does a function of that name switch stacks, in versions that do not say so? */
bool go_switch_is_named(const char *name);

/* On with the goroutine; or with the thread's stack, which begins at rsp + depth. */
bool go_switch_goroutine_rule(const struct go_switch *found, struct dp_rule *ret,
			      struct rule_programs *ret_programs);
bool go_switch_thread_rule(const struct go_switch *found, int64_t depth, struct dp_rule *ret,
			   struct rule_programs *ret_programs);
/*
 * From cgocallback() to crosscall2(); or, where a panic has left C's frames behind, to where the
 * goroutine called C, as in Go's own traces.
 */
bool go_switch_callback_rule(const struct go_switch *found, struct dp_rule *ret,
			     struct rule_programs *ret_programs);

#endif
