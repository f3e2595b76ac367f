/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_RULE_H
#define DP_TABLES_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "cfi/row.h"

/*
 * Why a row of unwind information cannot be expressed in an image. A walk ends at such an address
 * with DP_UNSUPPORTED_RULE.
 *
 * X(enumerator, word, sentence)
 */
#define RULE_REFUSALS(X)                                                                           \
	X(NONE, "none", "expressed")                                                               \
	X(CFA_UNSET, "cfa_unset", "the row defines no CFA")                                        \
	X(CFA_REGISTER, "cfa_register", "the CFA is based on a register that is not tracked")      \
	X(CFA_EXPRESSION, "cfa_expression", "the CFA is an expression that has no program")        \
	X(OFFSET, "offset", "an offset does not fit 32 bits")                                      \
	X(RETURN_ADDRESS, "return_address",                                                        \
	  "the rule for the return address is not of a known kind")                                \
	X(STACK_POINTER, "stack_pointer",                                                          \
	  "the rule for the caller's stack pointer is not of a known kind")                        \
	X(SIGNAL_LAYOUT, "signal_layout",                                                          \
	  "a signal frame's registers are not where the kernel puts them")                         \
	X(CFI, "cfi", "the call frame instructions were refused")                                  \
	X(TOO_MANY, "too_many", "the file has more distinct rules than an image can number")

#define X(name, word, sentence) RULE_##name,
enum rule_refusal { RULE_REFUSALS(X) RULE_N_REFUSALS };
#undef X

const char *rule_refusal_word(enum rule_refusal refusal);
const char *rule_refusal_sentence(enum rule_refusal refusal);

/* A program; its first n_ops + 1 cells are as in an image. */
struct rule_program {
	uint64_t n_ops;
	struct dp_op ops[DP_MAX_OPS];
};

/* The parts of a rule that may need a program. */
enum rule_part { RULE_PART_CFA, RULE_PART_RA, RULE_PART_FP, RULE_PART_SP, RULE_N_PARTS };

struct rule_programs {
	struct rule_program of[RULE_N_PARTS];
};

/* The member of a rule that refers to the program of a part; NULL if the part needs none. */
int32_t *rule_program_of(struct dp_rule *rule, enum rule_part part);

/* Size of a program in an image, in bytes. */
static inline size_t rule_program_size(const struct rule_program *program)
{
	return (program->n_ops + 1) * DP_CELL_SIZE;
}

/* The index of each register in a struct sigcontext, in words. */
extern const uint8_t rule_sigcontext_word[DP_N_REGISTERS];

/*
 * The rule of the code to which signal handlers return: a struct sigcontext is at sp +
 * `sigcontext`. As that of glibc's __restore_rt.
 */
struct dp_rule rule_signal(int32_t sigcontext);

/* That of code without a caller. */
struct dp_rule rule_root(void);

/* That of a system call which returns 0 to a new thread, which has no caller: the CFA is sp + cfa_offset. */
struct dp_rule rule_clone(int32_t cfa_offset);

/*
 * True if the row belongs to a function that lands in an exception handler: it replaces its return
 * address by the handler's and returns. That is __builtin_eh_return(), for which gcc saves the two
 * registers of EH_RETURN_DATA_REGNO like callee-saved ones.
 */
bool rule_lands(const struct cfi_row *row);

/*
 * Expresses a row as a rule of an image. `signal` is the 'S' of its CIE. On RULE_NONE *ret and
 * *ret_saves are set, with zeroed padding, so that equal rules are equal bytes; ret->saves is left
 * 0. *ret_has_saves is whether *ret_saves has anything but "unchanged". *ret_programs has the
 * programs that the rule needs; the rule does not refer to them yet.
 *
 * A register other than the return address whose rule has no counterpart becomes DP_WHERE_UNKNOWN:
 * a walk that needs it ends with DP_REGISTER_LOST.
 */
enum rule_refusal rule_from_row(const struct cfi_row *row, bool signal, struct dp_rule *ret,
				struct dp_saves *ret_saves, bool *ret_has_saves,
				struct rule_programs *ret_programs);

#endif
