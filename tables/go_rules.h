/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_GO_RULES_H
#define DP_TABLES_GO_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "go/pclntab.h"
#include "tables/known_code.h"
#include "tables/rule_set.h"

/*
 * Rules for those functions of a Go program whose unwind information is wrong. Go's linker
 * makes it of how far each instruction moves the stack pointer, and so does not see that
 * functions in assembly load another stack's pointer, that nobody has called them, or that C
 * has called them and wants its registers back. They are known by what the linker itself
 * notes (FuncFlag), and a few of the runtime's by name.
 *
 *   goexit, mstart, rt0_go     where stacks start: there is no caller
 *   systemstack, asmcgocall,   what they do themselves to get back (return_path.h): to the
 *   cgocallback, gogo, and     goroutine from the thread's stack, to C from the goroutine, ...
 *   all that load it
 *   crosscall2, sigtramp       the same, for the registers that C expects back
 *   rawVforkSyscall            the same, as it keeps its return address off the stack
 *   morestack                  newstack() goes on with the goroutine, not with morestack()
 *   mcall, and newstack where  never come back: the goroutine waits, or runs in another
 *   it gives the thread away   thread. Below, on the thread's own stack, there is what
 *                              mstart0() or cgocallback() have left there
 *   clone                      returns twice; the new thread has no caller
 *   asyncPreempt, sigpanic     were put on the stack by a signal handler, as if they had been
 *                              called where the goroutine was
 *   sigreturn                  has the registers of what a signal interrupted
 */

/* Where a rule holds, whatever other information there is. */
struct go_rule {
	uint64_t start, end; /* end exclusive */
	uint16_t number;     /* in the rule set */
};

struct go_rules {
	struct go_rule *rules; /* by address, not overlapping */
	size_t n, size;
	uint32_t labels, labels_form; /* as in struct dp_image */
};

/*
 * Find them, and where the program has its labels, and add them to the set; minor: of its Go,
 * 1.minor, or 0. 0, -ENOMEM, or -ENOSPC if its numbers are used up.
 * go_rules_done() releases *ret, also on failure.
 */
int go_rules_init(struct go_rules *ret, const struct pclntab *table, unsigned int minor,
		  const struct code_range *ranges, size_t n_ranges, struct rule_set *set);
void go_rules_done(struct go_rules *rules);

/* The first one that ends behind an address; NULL if there is none. */
const struct go_rule *go_rules_find(const struct go_rules *rules, uint64_t address);

#endif
