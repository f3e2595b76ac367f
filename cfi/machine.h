/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_MACHINE_H
#define DP_CFI_MACHINE_H

#include "cfi/entry.h"
#include "cfi/row.h"

/*
 * Executes the call frame instructions of one FDE (DWARF 5 §6.4.2). The machine stops at each
 * advance of the location and shows the row in force for the addresses before it.
 */

/* Compilers nest remember_state once, at most twice; libgcc allows any depth. */
#define CFI_MAX_REMEMBERED 16

struct cfi_machine {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	bool in_cie; /* running the CIE's own instructions: there is no initial row yet */
	struct cursor ops;
	uint64_t pc, end;   /* rest of the FDE's range */
	struct cfi_row row; /* in force for the last span */
	uint32_t changed;   /* CFI_CHANGED() in row since the caller last set this to 0 */
	struct cfi_refusal refusal;
	unsigned int n_remembered;
	uint32_t touched; /* CFI_CHANGED() in row since the last remember_state */
	struct {
		struct cfi_row row;
		uint32_t touched; /* as above, since the previous one */
	} remembered[CFI_MAX_REMEMBERED];
};

struct cfi_span {
	uint64_t start, end;
};

enum cfi_step {
	CFI_STEP_ROW,     /* m->row holds for the span */
	CFI_STEP_END,     /* the FDE's range is done */
	CFI_STEP_REFUSED, /* m->refusal says why; no rows from m->pc to m->end */
};

/* Starts at fde->start, with all of `changed` set. Keeps pointers to section and cie, but not to fde. */
void cfi_machine_init(struct cfi_machine *m, const struct cfi_section *section,
		      const struct cfi_cie *cie, const struct cfi_fde *fde);

/*
 * Advances to the next row. Spans are ascending, not empty, and cover the FDE's range without a gap
 * until the end or a refusal.
 */
enum cfi_step cfi_machine_next(struct cfi_machine *m, struct cfi_span *ret);

/* Evaluates the initial instructions of a CIE into cie->initial. CFI_NONE or the refusal. */
struct cfi_refusal cfi_machine_initial(const struct cfi_section *section, struct cfi_cie *cie);

#endif
