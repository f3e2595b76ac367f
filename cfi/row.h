/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_ROW_H
#define DP_CFI_ROW_H

/*
 * What call frame information means, apart from how it is written down: for a
 * range of addresses, how the registers of the calling frame follow from those
 * of this one (DWARF 5 §6.4.1). Nothing here knows opcodes or sections.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * enum cfi_register: DWARF's numbers of the registers, a column each, and what they are for. An
 * architecture has a folder, and the build defines DP_CFI_ARCH as the path of its registers.h:
 *
 *   CFI_SP, CFI_FP, CFI_RA   stack pointer, frame pointer, column of the return address
 *   CFI_EH_DATA_0, _1        what a landing pad is given, EH_RETURN_DATA_REGNO of gcc
 *   CFI_OCAML_SP             where OCaml's own stack pointer waits while C runs
 *   CFI_CALL_RA              the return address's rule where a call has put it: a struct cfi_rule
 *   CFI_IS_CALL_RA(rule)     is it this one?
 */
#include DP_CFI_ARCH

/* Stands for every register that the project does not track (vectors, ...). */
#define CFI_OTHER_REGISTER 0xff

/* The caller's value of a register, in the words of DWARF 5 §6.4.1. */
enum cfi_rule_kind {
	CFI_RULE_UNSPECIFIED,    /* the FDE is silent: the ABI decides */
	CFI_RULE_UNDEFINED,      /* cannot be recovered; for CFI_RA: there is no caller */
	CFI_RULE_SAME,           /* unchanged */
	CFI_RULE_OFFSET,         /* *(CFA + offset) */
	CFI_RULE_VAL_OFFSET,     /* CFA + offset */
	CFI_RULE_REGISTER,       /* in register reg */
	CFI_RULE_EXPRESSION,     /* *(value of the expression, CFA pushed first) */
	CFI_RULE_VAL_EXPRESSION, /* value of the expression, CFA pushed first */
};

struct cfi_rule {
	uint8_t kind; /* enum cfi_rule_kind */
	uint8_t reg;  /* enum cfi_register, or CFI_OTHER_REGISTER */
	uint32_t expr_size;
	union {
		int64_t offset;
		const uint8_t *expr; /* inside the section */
	};
};

enum cfi_cfa_kind {
	CFI_CFA_UNSET,
	CFI_CFA_REGISTER,   /* reg + offset */
	CFI_CFA_EXPRESSION, /* value of the expression */
};

/*
 * An expression leaves the offset as it was: hand-written code (libgcrypt's,
 * OpenSSL's) goes back from one by naming a register alone, and libgcc and
 * readelf then use the offset from before.
 */
struct cfi_cfa {
	uint8_t kind; /* enum cfi_cfa_kind */
	uint8_t reg;
	uint32_t expr_size;
	int64_t offset;
	const uint8_t *expr; /* inside the section */
};

struct cfi_row {
	struct cfi_cfa cfa;
	struct cfi_rule regs[CFI_N_REGISTERS];
};

/* What differs between two rows: a bit for each register's rule, and one for the CFA. */
#define CFI_CHANGED(reg) (1U << (reg))
#define CFI_CHANGED_CFA CFI_CHANGED(CFI_N_REGISTERS)
#define CFI_CHANGED_ALL (CFI_CHANGED(CFI_N_REGISTERS + 1) - 1)

#endif
