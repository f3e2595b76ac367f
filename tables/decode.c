// SPDX-License-Identifier: Apache-2.0
#include "tables/decode.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "bpf/lookup_word.h"
#include "tables/rule.h"

/* The row being joined, and its consumer. */
struct decoder {
	const uint8_t *bytes; /* the image */
	const struct dp_image *head;
	int (*fn)(const struct image_row *row, void *arg);
	void *arg;
	uint64_t start;
	uint16_t state;
};

static const void *at_cell(const struct decoder *d, uint32_t cell)
{
	return d->bytes + (size_t)cell * DP_CELL_SIZE;
}

void saves_from_slots(uint32_t slots, struct dp_saves *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (unsigned int i = 0; i < DP_N_SAVED; i++) {
		int slot = (int)(slots >> (i * DP_SLOT_BITS) & DP_MAX_SLOT);

		if (slot)
			ret->where[i] =
				(struct dp_where){ .kind = DP_WHERE_CFA, .offset = -8 * slot };
	}
}

/* Unpacks a rule, and where the frame saved the callee-saved registers. */
static void unpack_rule(const struct decoder *d, uint16_t number, struct dp_rule *ret,
			struct dp_saves *ret_saves)
{
	const uint64_t *words = at_cell(d, d->head->rules);
	const struct dp_rule *full = at_cell(d, d->head->full);
	const struct dp_saves *saves = at_cell(d, d->head->saves);

	if ((words[number] & ((1 << DP_FORM_BITS) - 1)) == DP_FORM_FULL)
		*ret = full[words[number] >> DP_FORM_BITS];
	else
		lookup_unpack(words[number], ret);
	if (ret->saves & DP_SAVES_APART) {
		*ret_saves = saves[ret->saves & ~DP_SAVES_APART];
		return;
	}
	saves_from_slots(ret->saves, ret_saves);
}

static int decoder_flush(struct decoder *d, uint64_t end)
{
	const uint16_t *states = at_cell(d, d->head->states);
	struct image_row row = {
		.start = d->start,
		.end = end,
		.programs = at_cell(d, d->head->programs),
	};

	if (d->state == DP_STATE_NONE || d->start == end)
		return 0;
	unpack_rule(d, states[d->state], &row.rule, &row.saves);
	return d->fn(&row, d->arg);
}

static int decoder_add(struct decoder *d, uint64_t pc, uint16_t state)
{
	int err = 0;

	if (state != d->state) {
		err = decoder_flush(d, pc);
		d->start = pc;
		d->state = state;
	}
	return err;
}

/* Reads the distance of a row from the previous one; *at is behind its first byte. */
static uint32_t read_distance(const uint8_t **at, uint8_t delta)
{
	uint32_t distance = delta & 15;

	if (distance < DWARF_DELTA_BYTE)
		return 1 + distance;
	distance = *(*at)++;
	if ((delta & 15) == DWARF_DELTA_BYTE)
		return 15 + distance;
	return distance | (uint32_t) * (*at)++ << 8;
}

static uint16_t read_state(const uint8_t **at)
{
	uint16_t state = (uint16_t)((*at)[0] | (*at)[1] << 8);

	*at += sizeof(state);
	return state;
}

/*
 * Adds the rows of a block behind its start, at `address`. lookup_in_block() reads a part of these.
 */
static int decoder_add_rows(struct decoder *d, const uint8_t *at, const uint8_t *end,
			    uint64_t address)
{
	const uint16_t *states = at_cell(d, d->head->states);
	int err = 0;

	while (err == 0 && at < end && *at != DWARF_DELTA_END) {
		uint8_t delta = *at++;
		uint16_t state;

		address += read_distance(&at, delta);
		if (delta >> 4 == DWARF_DELTA_PADDING) {
			err = decoder_add(d, address, DP_STATE_NONE);
			address = (address + DWARF_DELTA_ALIGN - 1) &
				  ~(uint64_t)(DWARF_DELTA_ALIGN - 1);
			state = states[DP_STATE_NONE + 1];
		} else if (delta >> 4 == DWARF_DELTA_NUMBER) {
			state = read_state(&at);
		} else {
			state = states[d->state + 1 + (delta >> 4)];
		}
		if (err == 0)
			err = decoder_add(d, address, state);
	}
	return err;
}

/* Adds all rows of the page at `address`, which has blocks. */
static int decoder_add_blocks(struct decoder *d, const struct dp_page *page, uint64_t address)
{
	const uint16_t *starts = at_cell(d, d->head->starts);
	const struct dp_anchor *anchor = (const void *)(d->bytes + page->data);
	size_t n = (size_t)DP_PAGE_SIZE >> page->block_bits;
	const uint8_t *rows = (const uint8_t *)(anchor + n) + 1;
	int err = 0;

	for (size_t i = 0; err == 0 && i < n; i++, anchor++) {
		const uint8_t *at = rows + i * page->stride + anchor[0].at;
		const uint8_t *end = rows + (i + 1) * page->stride + anchor[1].at;
		uint16_t state =
			anchor->start == DP_START_APART ? read_state(&at) : starts[anchor->start];

		err = decoder_add(d, address, state);
		if (err == 0)
			err = decoder_add_rows(d, at, end, address);
		address += (uint64_t)1 << page->block_bits;
	}
	return err;
}

/* Without data, nothing else of a page has a meaning. */
static int decoder_add_page(struct decoder *d, const struct dp_page *page, uint64_t address)
{
	return page->data == 0 ? decoder_add(d, address, page->state) :
				 decoder_add_blocks(d, page, address);
}

int image_for_each_row(const struct image *image, int (*fn)(const struct image_row *row, void *arg),
		       void *arg)
{
	const struct dp_image *head = (const void *)image->cells;
	const struct dp_page *pages = (const void *)(image->cells + head->pages);
	struct decoder d = {
		.bytes = (const uint8_t *)image->cells,
		.head = head,
		.fn = fn,
		.arg = arg,
		.start = head->base,
		.state = DP_STATE_NONE,
	};
	uint64_t address = head->base;

	for (uint32_t i = 0; i < head->n_pages; i++, address += DP_PAGE_SIZE) {
		int err = decoder_add_page(&d, &pages[i], address);

		if (err)
			return err;
	}
	return decoder_flush(&d, address);
}

const char *register_name(unsigned int reg)
{
	static const char *const names[DP_N_VALUE_REGISTERS] = {
#define X(name, word) [DP_##name] = word,
		DP_REGISTERS(X)
#undef X
			[DP_THREAD_BASE] = DP_THREAD_BASE_WORD,
		[DP_BIAS] = "bias",
		[DP_LEFT_SP] = "left_sp",
	};

	return reg < sizeof(names) / sizeof(*names) ? names[reg] : "?";
}

static void print_offset(int32_t offset, FILE *to)
{
	if (offset < 0)
		fprintf(to, "-%" PRIx64, -(int64_t)offset);
	else
		fprintf(to, "+%" PRIx32, (uint32_t)offset);
}

static void print_op(const struct dp_op *op, FILE *to)
{
	static const char *const words[DP_N_OPS] = {
#define X(name, word) [DP_OP_##name] = word,
		DP_OPS(X)
#undef X
	};
	int64_t value = op->value;

	switch (op->code) {
	case DP_OP_REGISTER:
		fputs(register_name(op->arg), to);
		print_offset(op->value, to);
		break;
	case DP_OP_CONSTANT:
		fprintf(to, "%s%" PRIx64, value < 0 ? "-" : "", value < 0 ? -value : value);
		break;
	case DP_OP_ADD_CONSTANT:
		print_offset(op->value, to);
		break;
	default:
		fputs(op->code < DP_N_OPS ? words[op->code] : "?", to);
		if (op->code == DP_OP_PICK || (op->code == DP_OP_DEREF && op->arg != 8))
			fprintf(to, "%u", op->arg);
	}
}

static void print_ops(const uint64_t *program, const char *comma, FILE *to)
{
	const struct dp_op *ops = (const void *)(program + 1);

	for (uint64_t i = 0; i < *program; i++) {
		fputs(comma, to);
		print_op(&ops[i], to);
		comma = ",";
	}
}

/* Prints a program; `first` and `last` are operators around its own, or empty. */
static void print_program(const uint64_t *program, const char *first, const char *last, FILE *to)
{
	fprintf(to, "exp(%s", first);
	print_ops(program, *first ? "," : "", to);
	fprintf(to, "%s)", last);
}

static void print_where(const char *label, const struct dp_where *where, const uint64_t *programs,
			FILE *to)
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
	case DP_WHERE_EXPRESSION:
		print_program(programs + where->offset, "cfa", ",deref", to);
		break;
	case DP_WHERE_VALUE:
		print_program(programs + where->offset, "cfa", "", to);
		break;
	default:
		fputs("unknown", to);
	}
}

static void print_cfa(const struct dp_rule *rule, const uint64_t *programs, FILE *to)
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
		print_offset(rule->cfa_offset + 8 * rule_sigcontext_word[DP_REG_SP], to);
		fputs(")+0", to);
		break;
	case DP_CFA_EXPRESSION:
		print_program(programs + rule->cfa_offset, "", "", to);
		break;
	case DP_CFA_SWITCH:
		fputs("switch:", to);
		print_program(programs + rule->cfa_offset, "", "", to);
		break;
	case DP_CFA_CLONE:
		fprintf(to, "clone(%s", register_name(DP_REG_SP));
		print_offset(rule->cfa_offset, to);
		fputc(')', to);
		break;
	default:
		fputs("none", to);
	}
}

void image_row_print(const struct image_row *row, int regs, FILE *to)
{
	static const char *const names[] = {
#define X(name, word) #word,
		DP_SAVED_REGISTERS(X)
#undef X
	};

	fprintf(to, "%" PRIx64 " %" PRIx64 " ", row->start, row->end);
	print_cfa(&row->rule, row->programs, to);
	print_where("ra", &row->rule.ra, row->programs, to);
	print_where("fp", &row->rule.fp, row->programs, to);
	if (row->rule.sp.kind != DP_WHERE_SAME)
		print_where("sp", &row->rule.sp, row->programs, to);
	for (int i = 0; regs && i < DP_N_SAVED; i++)
		print_where(names[i], &row->saves.where[i], row->programs, to);
	fputc('\n', to);
}

/* NULL: the file has no image. */
static const struct dp_image *image_head(const struct image *image)
{
	return (const void *)image->cells;
}

const char *image_labels_word(const struct image *image)
{
	static const char *const words[] = {
#define X(name, word) [DP_LABELS_##name] = word,
		DP_LABELS_FORMS(X)
#undef X
	};

	return words[image->cells ? image_head(image)->labels_form : DP_LABELS_NONE];
}

static void print_variable(const struct dp_tls *variable, FILE *to)
{
	static const char *const words[] = {
		[DP_TLS_NONE] = "none",
		[DP_TLS_OFFSET] = "offset",
		[DP_TLS_SLOT] = "slot",
		[DP_TLS_MODULE] = "module",
		[DP_TLS_DESCRIPTOR] = "descriptor",
	};

	fprintf(to, "%s %" PRIx64, words[variable->kind], (uint64_t)variable->value);
}

void image_labels_print(const struct image *image, FILE *to)
{
	const struct dp_image *head = image_head(image);

	if (head && DP_LABELS_IN_VARIABLE(head->labels_form))
		print_variable(&head->variable, to);
	else if (head && head->labels_form != DP_LABELS_NONE)
		print_ops(image->cells + head->programs + head->labels, "", to);
}
