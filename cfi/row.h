/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_ROW_H
#define DP_CFI_ROW_H

/*
 * The meaning of call frame information, independent of its encoding: for a range of addresses, how
 * the caller's registers are computed from those of this frame (DWARF 5 §6.4.1). Nothing here
 * depends on opcodes or sections.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * enum cfi_register: DWARF's register numbers, one per column, and special registers. Each
 * architecture has a folder; the build defines DP_CFI_ARCH as the path of its registers.h:
 *
 *   CFI_SP, CFI_FP, CFI_RA   stack pointer, frame pointer, column of the return address
 *   CFI_EH_DATA_0, _1        the arguments of a landing pad, EH_RETURN_DATA_REGNO of gcc
 *   CFI_OCAML_SP             holds OCaml's own stack pointer while C runs
 *   CFI_CALL_RA              rule of a return address where a call puts it: a struct cfi_rule
 *   CFI_IS_CALL_RA(rule)     is it that rule?
 */
#include DP_CFI_ARCH

/* Any register that dwarfprof does not track (vectors, ...). */
#define CFI_OTHER_REGISTER 0xff

/* The caller's value of a register, by the names of DWARF 5 §6.4.1. */
enum cfi_rule_kind {
	CFI_RULE_UNSPECIFIED,    /* not in the FDE: the ABI decides */
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
 * An expression does not change the offset. Hand-written code (libgcrypt's, OpenSSL's) returns from
 * an expression by naming only a register; libgcc and readelf then use the earlier offset.
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

/* The difference between two rows: a bit for each register's rule, and one for the CFA. */
#define CFI_CHANGED(reg) (1U << (reg))
#define CFI_CHANGED_CFA CFI_CHANGED(CFI_N_REGISTERS)
#define CFI_CHANGED_ALL (CFI_CHANGED(CFI_N_REGISTERS + 1) - 1)

#endif
