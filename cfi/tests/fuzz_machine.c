// SPDX-License-Identifier: Apache-2.0
/*
 * The instructions of one FDE, with the CIE that compilers make and with any
 * other. Input: address of the section (8), start (8) and length (8) of the
 * range, whose CIE (1: 0 for the compilers'), its code (8) and data (8) factor,
 * encoding (1), count of its instruction bytes (1); the section: the
 * instructions of the CIE, then those of the FDE.
 */
#include <dwarf.h>

#include "cfi/machine.h"
#include "cfi/tests/fuzz.h"

static void check_expression(const struct cfi_section *section, const uint8_t *expr, uint32_t size)
{
	EXPECT(expr >= section->data && size <= section->size);
	EXPECT(expr + size <= section->data + section->size);
}

/* A row in force can be used without knowing where it came from. */
static void check_row(const struct cfi_section *section, const struct cfi_row *row)
{
	EXPECT(row->cfa.kind <= CFI_CFA_EXPRESSION);
	if (row->cfa.kind == CFI_CFA_REGISTER)
		EXPECT(row->cfa.reg < CFI_N_REGISTERS || row->cfa.reg == CFI_OTHER_REGISTER);
	if (row->cfa.kind == CFI_CFA_EXPRESSION)
		check_expression(section, row->cfa.expr, row->cfa.expr_size);
	for (int i = 0; i < CFI_N_REGISTERS; i++) {
		const struct cfi_rule *rule = &row->regs[i];

		EXPECT(rule->kind <= CFI_RULE_VAL_EXPRESSION);
		if (rule->kind == CFI_RULE_REGISTER)
			EXPECT(rule->reg < CFI_N_REGISTERS || rule->reg == CFI_OTHER_REGISTER);
		if (rule->kind >= CFI_RULE_EXPRESSION)
			check_expression(section, rule->expr, rule->expr_size);
	}
}

/* Spans cover the range without a gap, up to its end or to a refusal with a reason. */
static void check_fde(const struct cfi_section *section, const struct cfi_cie *cie,
		      const struct cfi_fde *fde)
{
	struct cfi_machine m;
	struct cfi_span span;
	enum cfi_step step;
	uint64_t done = fde->start;

	cfi_machine_init(&m, section, cie, fde);
	while ((step = cfi_machine_next(&m, &span)) == CFI_STEP_ROW) {
		EXPECT(span.start == done && span.start < span.end && span.end <= fde->end);
		check_row(section, &m.row);
		done = span.end;
	}
	if (step == CFI_STEP_END) {
		EXPECT(done == fde->end);
		return;
	}
	EXPECT(m.pc == done && m.pc < fde->end && m.end == fde->end);
	EXPECT(m.refusal.reason > CFI_NONE && m.refusal.reason < CFI_N_REASONS);
	EXPECT(m.refusal.offset >= fde->ops && m.refusal.offset <= fde->ops_end);
}

static struct cfi_cie compilers_cie(void)
{
	struct cfi_cie cie = {
		.code_factor = 1,
		.data_factor = -8,
		.fde_encoding = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
	};

	cie.initial.cfa = (struct cfi_cfa){ CFI_CFA_REGISTER, .reg = CFI_RSP, .offset = 8 };
	cie.initial.regs[CFI_RIP] = (struct cfi_rule){ .kind = CFI_RULE_OFFSET, .offset = -8 };
	return cie;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size };
	struct cfi_cie cie = compilers_cie(), read = { 0 };
	struct cfi_section section;
	struct cfi_fde fde = { 0 };
	uint64_t address;
	bool hostile;
	uint8_t n_initial;

	address = feed_u64(&feed);
	fde.start = feed_u64(&feed);
	if (__builtin_add_overflow(fde.start, feed_u64(&feed), &fde.end))
		return 0; /* cfi_index_init() accepts none of these */
	hostile = feed_u8(&feed);
	read.code_factor = feed_u64(&feed);
	read.data_factor = (int64_t)feed_u64(&feed);
	read.fde_encoding = feed_u8(&feed);
	if (hostile)
		cie = read;
	n_initial = feed_u8(&feed);
	section = feed_section(&feed, address, false);
	if (n_initial > section.size || !section.data)
		return 0;
	cie.ops_end = n_initial;
	if (hostile && cfi_machine_initial(&section, &cie).reason != CFI_NONE)
		return 0;
	check_row(&section, &cie.initial);
	fde.ops = n_initial;
	fde.ops_end = (uint32_t)section.size;
	check_fde(&section, &cie, &fde);
	return 0;
}
