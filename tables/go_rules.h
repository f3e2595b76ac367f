/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_GO_RULES_H
#define DP_TABLES_GO_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "go/pclntab.h"
#include "tables/known_code.h"
#include "tables/rule_set.h"

/*
 * Rules for those functions of a Go program whose unwind information is wrong. Go's linker derives
 * it from how far each instruction moves the stack pointer. So it does not see that functions in
 * assembly load another stack's pointer, that nothing has called them, or that C has called them
 * and expects its registers back. They are found by the linker's own flags (FuncFlag), and a few of
 * the runtime's by name.
 *
 *   goexit, mstart, rt0_go     stacks start here: there is no caller
 *   systemstack, asmcgocall,   by their own way back (return_path.h): to the goroutine from the
 *   cgocallback, gogo, and     thread's stack, to C from the goroutine, ...
 *   others that load sp
 *   crosscall2, sigtramp       the same, for the registers that C expects back
 *   rawVforkSyscall            the same, because it keeps its return address off the stack
 *   morestack                  newstack() continues with the goroutine, not with morestack()
 *   mcall, and newstack where  never return: the goroutine waits, or runs in another thread. Below,
 *   it gives the thread away   on the thread's own stack, is what mstart0() or cgocallback() have
 *                              left there
 *   clone                      returns twice; the new thread has no caller
 *   asyncPreempt, sigpanic     a signal handler has put them on the stack, as if they had been
 *                              called where the goroutine was
 *   sigreturn                  has the registers of the code that a signal interrupted
 */

/* A rule that takes precedence over all other information. */
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
 * Finds these functions, and the program's labels, and adds the rules to the set. minor: of its Go
 * version, 1.minor, or 0. Returns 0, -ENOMEM, or -ENOSPC if rule numbers are used up.
 * go_rules_done() frees *ret, also on failure.
 */
int go_rules_init(struct go_rules *ret, const struct pclntab *table, unsigned int minor,
		  const struct code_range *ranges, size_t n_ranges, struct rule_set *set);
void go_rules_done(struct go_rules *rules);

/* The first rule that ends behind an address, or NULL. */
const struct go_rule *go_rules_find(const struct go_rules *rules, uint64_t address);

#endif
