// SPDX-License-Identifier: Apache-2.0
#include "decode.h"

#include <inttypes.h>
#include <stdbool.h>

/* Word of rsp in struct sigcontext_64. */
#define SIGCONTEXT_RSP 15

/* The row being joined, and whom to give it to. */
struct decoder {
	const uint64_t *cells;
	const struct dp_image *head;
	int (*fn)(const struct image_row *row, void *arg);
	void *arg;
	uint64_t start;
	uint16_t rule;
};

static int decoder_flush(struct decoder *d, uint64_t end)
{
	const struct dp_rule *rules = (const void *)(d->cells + d->head->rules);
	const struct dp_saves *saves = (const void *)(d->cells + d->head->saves);
	struct image_row row = { .start = d->start, .end = end, .rule = &rules[d->rule] };

	if (d->rule == DP_RULE_NONE || d->start == end)
		return 0;
	if (row.rule->saves)
		row.saves = &saves[row.rule->saves - 1];
	return d->fn(&row, d->arg);
}

static int decoder_add(struct decoder *d, uint64_t pc, uint16_t rule)
{
	int err = 0;

	if (rule != d->rule) {
		err = decoder_flush(d, pc);
		d->start = pc;
		d->rule = rule;
	}
	return err;
}

int image_for_each_row(const struct image *image, int (*fn)(const struct image_row *row, void *arg),
		       void *arg)
{
	const struct dp_image *head = (const void *)image->cells;
	const struct dp_page *pages = (const void *)(image->cells + head->pages);
	struct decoder d = { image->cells, head, fn, arg, head->base, DP_RULE_NONE };
	uint64_t address = head->base;

	for (uint32_t i = 0; i < head->n_pages; i++, address += DP_PAGE_SIZE) {
		const struct dwarf_delta *rows = (const void *)(image->cells + pages[i].rows);
		int err = decoder_add(&d, address, pages[i].rule);

		for (uint32_t j = 0; err == 0 && j < pages[i].n_rows; j++)
			err = decoder_add(&d, address + rows[j].pc, rows[j].rule);
		if (err)
			return err;
	}
	return decoder_flush(&d, address);
}

const char *register_name(unsigned int reg)
{
	static const char *const names[] = {
		"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
		"r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip",
	};

	return reg < DP_N_REGISTERS ? names[reg] : "?";
}

static void print_offset(int32_t offset, FILE *to)
{
	if (offset < 0)
		fprintf(to, "-%" PRIx64, -(int64_t)offset);
	else
		fprintf(to, "+%" PRIx32, (uint32_t)offset);
}

static void print_where(const char *label, const struct dp_where *where, FILE *to)
{
	fprintf(to, " %s=", label);
	switch (where->kind) {
	case DP_WHERE_SAME:
		fputc('s', to);
		break;
	case DP_WHERE_UNDEFINED:
		fputc('u', to);
		break;
	case DP_WHERE_CFA:
		fputc('c', to);
		print_offset(where->offset, to);
		break;
	case DP_WHERE_MEMORY:
		fprintf(to, "*(%s", register_name(where->reg));
		print_offset(where->offset, to);
		fputc(')', to);
		break;
	case DP_WHERE_REGISTER:
		fputs(register_name(where->reg), to);
		break;
	default:
		fputs("unknown", to);
	}
}

static void print_cfa(const struct dp_rule *rule, FILE *to)
{
	const char *reg = register_name(rule->cfa_reg);

	switch (rule->cfa) {
	case DP_CFA_REGISTER:
		fputs(reg, to);
		print_offset(rule->cfa_offset, to);
		break;
	case DP_CFA_MEMORY:
		fprintf(to, "*(%s", reg);
		print_offset(rule->cfa_offset, to);
		fputc(')', to);
		print_offset(rule->cfa_add, to);
		break;
	case DP_CFA_PLT:
		fprintf(to, "plt(%" PRIx32 ")", (uint32_t)rule->cfa_add);
		break;
	case DP_CFA_SIGNAL:
		fprintf(to, "*(%s", reg);
		print_offset(rule->cfa_offset + 8 * SIGCONTEXT_RSP, to);
		fputs(")+0", to);
		break;
	default:
		fputs("none", to);
	}
}

void image_row_print(const struct image_row *row, int regs, FILE *to)
{
	static const struct dp_where same = { .kind = DP_WHERE_SAME };
	static const char *const names[] = {
#define X(name, word) #word,
		DP_SAVED_REGISTERS(X)
#undef X
	};

	fprintf(to, "%" PRIx64 " %" PRIx64 " ", row->start, row->end);
	print_cfa(row->rule, to);
	print_where("ra", &row->rule->ra, to);
	print_where("fp", &row->rule->rbp, to);
	for (int i = 0; regs && i < DP_N_SAVED; i++)
		print_where(names[i], row->saves ? &row->saves->where[i] : &same, to);
	fputc('\n', to);
}
