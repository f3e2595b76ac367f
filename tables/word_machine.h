/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_WORD_MACHINE_H
#define DP_TABLES_WORD_MACHINE_H

#include <dwarf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bpf/abi.h"
#include "cfi/entry.h"

/*
 * Executes the call frame instructions of an FDE on rule words (enum dp_form) instead of rows: in
 * 99 of 100 FDEs, each instruction moves the CFA by a few words or saves a register, which is one
 * operation on the word. Any other instruction is left to cfi_machine, which starts the FDE again.
 *
 * All in a header, because building an image spends most of its time in this loop, whose state has
 * to stay in registers.
 */

#define WORD_MACHINE_MAX_REMEMBERED 4

struct word_machine {
	const uint8_t *pos, *end; /* the remaining instructions, in the section */
	uint64_t pc;
	uint64_t word;    /* in force up to pc, after the first step */
	uint64_t initial; /* the CIE's */
	unsigned int n_remembered;
	uint64_t remembered[WORD_MACHINE_MAX_REMEMBERED];
};

enum word_step {
	WORD_STEP_ROW,   /* m->word holds up to m->pc */
	WORD_STEP_END,   /* no more instructions: m->word holds up to the end */
	WORD_STEP_OTHER, /* an instruction for cfi_machine; nothing is known from m->pc on */
};

/* Where registers have their slot in a word, by their DWARF number; or one of these: */
#define WORD_REG_IGNORED 0  /* its rules are never used */
#define WORD_REG_OTHER 0xff /* a rule for it cannot be expressed in a word */
#define WORD_N_REGS 64      /* those that fit into an opcode */
extern const uint8_t word_reg_shift[WORD_N_REGS];

/* True if the FDEs of a CIE can be tried. *ret_initial is then the word of its initial row. */
bool word_machine_init_cie(const struct cfi_cie *cie, uint64_t *ret_initial);

/* False if an advance could wrap around the address space, an error that cfi_machine reports. */
static inline bool word_machine_init(struct word_machine *m, const struct cfi_section *section,
				     const struct cfi_fde *fde, uint64_t initial)
{
	m->pos = section->data + fde->ops;
	m->end = section->data + fde->ops_end;
	m->pc = fde->start;
	m->word = m->initial = initial;
	m->n_remembered = 0;
	return fde->end <= UINT64_MAX - UINT32_MAX;
}

static inline bool word_set_cfa_offset(struct word_machine *m, unsigned int offset)
{
	const uint64_t mask = ((UINT64_C(1) << DP_WORD_N_BITS) - 1) << DP_FORM_BITS;

	m->word = (m->word & ~mask) | (uint64_t)(offset / 8) << DP_FORM_BITS;
	return offset % 8 == 0;
}

static inline bool word_set_cfa_register(struct word_machine *m, unsigned int reg)
{
	const uint64_t mask = (1 << DP_FORM_BITS) - 1;

	m->word = (m->word & ~mask) | (reg == CFI_SP ? DP_FORM_SP : DP_FORM_FP);
	return reg == CFI_SP || reg == CFI_FP;
}

/* Executes consecutive saves of registers in one loop. */
static inline bool word_offsets(struct word_machine *m)
{
	do {
		unsigned int shift = word_reg_shift[*m->pos & 0x3f], slot;

		if (m->end - m->pos < 2 || shift == WORD_REG_OTHER)
			return false;
		slot = m->pos[1];
		m->pos += 2;
		if (shift == WORD_REG_IGNORED ? slot >= 0x80 : slot - 1U >= DP_MAX_SLOT)
			return false;
		if (shift != WORD_REG_IGNORED)
			m->word = (m->word & ~((uint64_t)DP_MAX_SLOT << shift)) | (uint64_t)slot
											  << shift;
	} while (m->pos < m->end && (*m->pos & 0xc0) == DW_CFA_offset);
	return true;
}

static inline void word_restore(struct word_machine *m, unsigned int reg)
{
	unsigned int shift = word_reg_shift[reg];

	/* The rules of the other registers are as in the CIE, or unused. */
	if (shift != WORD_REG_IGNORED && shift != WORD_REG_OTHER)
		m->word ^= (m->word ^ m->initial) & (uint64_t)DP_MAX_SLOT << shift;
}

/* Reads an unsigned LEB128 of one or two bytes; false for any other. */
static inline bool word_operand(struct word_machine *m, unsigned int *ret)
{
	if (m->pos == m->end)
		return false;
	*ret = *m->pos++;
	if (*ret < 0x80)
		return true;
	if (m->pos == m->end)
		return false;
	*ret = (*ret & 0x7f) | (unsigned int)*m->pos << 7;
	return *m->pos++ < 0x80;
}

/* Advances the location by an operand of `size` bytes. */
static inline bool word_advance(struct word_machine *m, unsigned int size)
{
	uint32_t delta = 0;

	if ((uint64_t)(m->end - m->pos) < size)
		return false;
	for (unsigned int i = 0; i < size; i++)
		delta |= (uint32_t)*m->pos++ << 8 * i;
	m->pc += delta;
	return true;
}

/* Executes opcodes that have no operand in their low bits. */
static inline bool word_execute(struct word_machine *m, uint8_t op)
{
	unsigned int n, reg;

	switch (op) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_advance_loc1:
		return word_advance(m, 1);
	case DW_CFA_advance_loc2:
		return word_advance(m, 2);
	case DW_CFA_advance_loc4:
		return word_advance(m, 4);
	case DW_CFA_def_cfa_offset:
		return word_operand(m, &n) && word_set_cfa_offset(m, n);
	case DW_CFA_def_cfa_register:
		return word_operand(m, &reg) && word_set_cfa_register(m, reg);
	case DW_CFA_def_cfa:
		return word_operand(m, &reg) && word_set_cfa_register(m, reg) &&
		       word_operand(m, &n) && word_set_cfa_offset(m, n);
	case DW_CFA_remember_state:
		if (m->n_remembered == WORD_MACHINE_MAX_REMEMBERED)
			return false;
		m->remembered[m->n_remembered++] = m->word;
		return true;
	case DW_CFA_restore_state:
		if (m->n_remembered == 0)
			return false;
		m->word = m->remembered[--m->n_remembered];
		return true;
	case DW_CFA_GNU_args_size:
		return word_operand(m, &n);
	default:
		return false;
	}
}

/*
 * Most rows come from a push or a pop: a one-byte CFA offset, perhaps a register's slot (86 02),
 * and a short advance. Executes these at once; false leaves them to the steps above.
 */
static inline bool word_push_pop(struct word_machine *m)
{
	const uint64_t mask = ((UINT64_C(1) << DP_WORD_N_BITS) - 1) << DP_FORM_BITS;
	uint64_t bytes, word;
	unsigned int shift, slot;

	if (m->end - m->pos < (ptrdiff_t)sizeof(bytes))
		return false;
	memcpy(&bytes, m->pos, sizeof(bytes));
	word = (m->word & ~mask) | (bytes >> 8 & 0x78) / 8 << DP_FORM_BITS;
	if ((bytes & 0xc08700) == DW_CFA_advance_loc << 16) {
		m->word = word;
		m->pos += 3;
		m->pc += bytes >> 16 & 0x3f;
		return true;
	}
	shift = word_reg_shift[bytes >> 16 & 0x3f];
	slot = bytes >> 24 & 0xff;
	if ((bytes & UINT64_C(0xc000c08700)) !=
		    ((uint64_t)DW_CFA_advance_loc << 32 | DW_CFA_offset << 16) ||
	    shift == WORD_REG_IGNORED || shift == WORD_REG_OTHER || slot - 1U >= DP_MAX_SLOT)
		return false;
	m->word = (word & ~((uint64_t)DP_MAX_SLOT << shift)) | (uint64_t)slot << shift;
	m->pos += 5;
	m->pc += bytes >> 32 & 0x3f;
	return true;
}

/* Executes one or more instructions; false if the next one is for cfi_machine. */
static inline bool word_step(struct word_machine *m)
{
	uint8_t op = *m->pos;

	if (op == DW_CFA_def_cfa_offset && word_push_pop(m))
		return true;
	if ((op & 0xc0) == DW_CFA_offset)
		return word_offsets(m);
	m->pos++;
	if ((op & 0xc0) == DW_CFA_advance_loc)
		m->pc += op & 0x3f;
	else if ((op & 0xc0) == DW_CFA_restore)
		word_restore(m, op & 0x3f);
	else
		return word_execute(m, op);
	return true;
}

/* Executes up to the next advance. m->word is the rule from the old m->pc to the new one. */
static inline enum word_step word_machine_next(struct word_machine *m)
{
	uint64_t start = m->pc;

	do {
		if (m->pos == m->end)
			return WORD_STEP_END;
		if (!word_step(m))
			return WORD_STEP_OTHER;
	} while (m->pc == start);
	return WORD_STEP_ROW;
}

#endif
