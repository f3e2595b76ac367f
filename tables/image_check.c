// SPDX-License-Identifier: Apache-2.0
#include "tables/image_check.h"

#include <string.h>

#include "bpf/abi.h"
#include "tables/rule.h"

#define CELLS(type) ((uint32_t)(sizeof(type) / DP_CELL_SIZE))
#define STATES_PER_CELL (DP_CELL_SIZE / sizeof(uint16_t))

/* Size of a table of states in which every 16-bit number, with its successors, is inside. */
#define ANY_STATE_SIZE ((UINT16_MAX + 1 + DWARF_DELTA_SUCCESSORS) * sizeof(uint16_t))

/* Size of a table of starts in which every 8-bit number is inside. */
#define ANY_START_SIZE (DP_START_APART * sizeof(uint16_t))

/* The parts of an image whose head has been checked. */
struct check {
	const struct dp_image *head;
	const uint8_t *bytes; /* of the whole image */
	size_t size;
	const uint64_t *words;
	const struct dp_rule *full;
	const struct dp_saves *saves;
	const uint64_t *programs;
	uint32_t n_full, n_saves, n_program_cells;
	const uint16_t *states;
	const uint16_t *starts;
	uint32_t n_states, n_starts;
	bool any_state; /* any number is a state inside the image */
	const struct dp_page *pages;
};

/* True if n records of `cells` cells each fill start to end exactly. Sets *ret_n. */
static bool is_array(uint32_t start, uint32_t end, uint32_t cells, uint32_t *ret_n)
{
	if (start > end || (end - start) % cells != 0)
		return false;
	*ret_n = (end - start) / cells;
	return true;
}

/*
 * A runtime's layout, if there is one, is between the head and the rules. Its members are of use only
 * together with memory of processes, so they may have any value.
 */
static bool check_runtime(const struct dp_image *h)
{
	uint32_t head = CELLS(struct dp_image);

	if ((h->runtime_kind & ~DP_RUNTIME_UNKNOWN) >= DP_N_RUNTIMES)
		return false;
	if (runtime_is_known(h->runtime_kind))
		head += CELLS(struct dp_runtime_image);
	return h->rules == head;
}

/* Finds the parts of the dictionary: in order, each with whole records. */
static bool check_parts(const uint64_t *cells, uint32_t n_cells, struct check *ret)
{
	const struct dp_image *h = (const void *)cells;
	uint32_t n_rules, n_state_cells, n_start_cells;

	if (!check_runtime(h) || !is_array(h->rules, h->full, 1, &n_rules) ||
	    n_rules != h->n_rules || n_rules == 0 || n_rules > DP_MAX_RULES)
		return false;
	if (!is_array(h->full, h->saves, CELLS(struct dp_rule), &ret->n_full) ||
	    !is_array(h->saves, h->programs, CELLS(struct dp_saves), &ret->n_saves) ||
	    !is_array(h->programs, h->states, 1, &ret->n_program_cells) ||
	    !is_array(h->states, h->starts, 1, &n_state_cells) ||
	    !is_array(h->starts, h->pages, 1, &n_start_cells))
		return false;
	/* An image longer than a segment begins with one, which contains the dictionary. */
	if (h->pages > n_cells || h->pages > DP_SEGMENT_CELLS)
		return false;
	ret->words = cells + h->rules;
	ret->full = (const void *)(cells + h->full);
	ret->saves = (const void *)(cells + h->saves);
	ret->programs = cells + h->programs;
	ret->states = (const void *)(cells + h->states);
	ret->n_states = n_state_cells * STATES_PER_CELL;
	ret->starts = (const void *)(cells + h->starts);
	ret->n_starts = n_start_cells * STATES_PER_CELL;
	return true;
}

static bool check_head(const uint64_t *cells, uint32_t n_cells, struct check *ret)
{
	const struct dp_image *h = (const void *)cells;
	size_t in_segment;
	uint64_t last;

	if (n_cells < CELLS(struct dp_image) || h->n_cells != n_cells ||
	    !check_parts(cells, n_cells, ret))
		return false;
	/* The last page may be the last of the address space. */
	if (h->n_pages == 0 || h->n_pages > n_cells - h->pages || h->base % DP_PAGE_SIZE != 0 ||
	    __builtin_add_overflow(h->base, ((uint64_t)h->n_pages << DP_PAGE_BITS) - 1, &last))
		return false;
	ret->head = h;
	ret->bytes = (const uint8_t *)cells;
	ret->size = (size_t)n_cells * DP_CELL_SIZE;
	ret->pages = (const void *)(cells + h->pages);
	in_segment = ret->size < DP_SEGMENT_SIZE ? ret->size : DP_SEGMENT_SIZE;
	ret->any_state = (size_t)h->states * DP_CELL_SIZE + ANY_STATE_SIZE <= in_segment &&
			 (size_t)h->starts * DP_CELL_SIZE + ANY_START_SIZE <= in_segment;
	return true;
}

/* The number of values that an instruction takes from the stack, and by how many it grows. */
static bool check_op(const struct dp_op *op, uint32_t *needs, int *grows)
{
	*grows = 0;
	switch (op->code) {
	case DP_OP_REGISTER:
	case DP_OP_CONSTANT:
		*needs = 0;
		*grows = 1;
		break;
	case DP_OP_PICK:
		*needs = op->arg + 1U;
		*grows = 1;
		break;
	case DP_OP_DROP:
		*needs = 1;
		*grows = -1;
		break;
	case DP_OP_SWAP:
		*needs = 2;
		break;
	case DP_OP_ROT:
		*needs = 3;
		break;
	default:
		*needs = op->code < DP_OP_ADD ? 1 : 2;
		*grows = op->code < DP_OP_ADD ? 0 : -1;
	}
	return op->code < DP_N_OPS && op->zero == 0 &&
	       (op->code != DP_OP_REGISTER || op->arg < DP_N_VALUE_REGISTERS) &&
	       (op->code != DP_OP_DEREF || (op->arg >= 1 && op->arg <= 8));
}

/* True if a program is `at` cells behind the first one, for a stack of n_values values. */
static bool check_program(const struct check *c, int32_t at, uint32_t n_values)
{
	const struct dp_op *ops;
	uint64_t n_ops;

	if (at < 0 || (uint32_t)at >= c->n_program_cells)
		return false;
	n_ops = c->programs[at];
	if (n_ops > DP_MAX_OPS || n_ops >= c->n_program_cells - (uint32_t)at)
		return false;
	ops = (const void *)&c->programs[at + 1];
	for (uint64_t i = 0; i < n_ops; i++) {
		uint32_t needs;
		int grows;

		if (!check_op(&ops[i], &needs, &grows) || n_values < needs)
			return false;
		n_values += (uint32_t)grows;
		if (n_values > DP_MAX_VALUES)
			return false;
	}
	return n_values > 0;
}

static bool check_where(const struct dp_where *w)
{
	return w->kind <= DP_WHERE_VALUE && w->reg < DP_N_REGISTERS && w->zero == 0;
}

static bool check_full(const struct check *c, const struct dp_rule *rule)
{
	struct dp_rule r = *rule;

	if (r.cfa >= DP_N_CFA || r.cfa_reg >= DP_N_REGISTERS || r.why >= DP_N_OUTCOMES ||
	    r.lands >= DP_N_LANDS || (r.cfa == DP_CFA_NONE) != (r.why != DP_WALKING))
		return false;
	if (!check_where(&r.ra) || !check_where(&r.fp) || !check_where(&r.sp))
		return false;
	if ((r.saves & DP_SAVES_APART) && (r.saves & ~DP_SAVES_APART) >= c->n_saves)
		return false;
	for (int part = 0; part < RULE_N_PARTS; part++) {
		const int32_t *at = rule_program_of(&r, (enum rule_part)part);

		/* Programs of registers start with the CFA. */
		if (at && !check_program(c, *at, part == RULE_PART_CFA ? 0 : 1))
			return false;
	}
	return true;
}

/* Forms beside the one that is read. */
static bool check_other_labels(unsigned int form, unsigned int others)
{
	if (form == DP_LABELS_NONE || form >= DP_N_LABELS_FORMS)
		return others == 0;
	return others >> DP_N_LABELS_FORMS == 0 &&
	       (others & (1U << DP_LABELS_NONE | 1U << form)) == 0;
}

/* Go's labels have a program, the others a variable. */
static bool check_labels(const struct check *c)
{
	const struct dp_tls *variable = &c->head->variable;
	unsigned int form = c->head->labels_form;

	if (!check_other_labels(form, c->head->other_labels))
		return false;
	if (DP_LABELS_IN_VARIABLE(form))
		return form < DP_N_LABELS_FORMS && variable->kind > DP_TLS_NONE &&
		       variable->kind < DP_N_TLS_KINDS && variable->zero == 0;
	if (variable->value != 0 || variable->kind != DP_TLS_NONE || variable->zero != 0)
		return false;
	if (form == DP_LABELS_NONE)
		return true;
	return c->head->labels <= INT32_MAX && check_program(c, (int32_t)c->head->labels, 0);
}

static bool check_rules(const struct check *c)
{
	for (uint32_t i = 0; i < c->head->n_rules; i++) {
		uint64_t form = c->words[i] & ((1 << DP_FORM_BITS) - 1);

		/* A bit above the slots would mean DP_SAVES_APART. */
		if (form > DP_FORM_FP ||
		    (form != DP_FORM_FULL && c->words[i] >> DP_WORD_RA_SHIFT >= DP_N_RA) ||
		    (form == DP_FORM_FULL && c->words[i] >> DP_FORM_BITS >= c->n_full))
			return false;
	}
	for (uint32_t i = 0; i < c->n_full; i++)
		if (!check_full(c, &c->full[i]))
			return false;
	for (uint32_t i = 0; i < c->n_saves; i++)
		for (int reg = 0; reg < DP_N_SAVED; reg++)
			if (!check_where(&c->saves[i].where[reg]) ||
			    c->saves[i].where[reg].kind > DP_WHERE_UNKNOWN)
				return false;
	return true;
}

/* True if the state leads to a rule. */
static bool check_state(const struct check *c, uint32_t state)
{
	return state < c->n_states && c->states[state] < c->head->n_rules;
}

/* The position in a block. */
struct place {
	const uint8_t *at, *end; /* of the block's rows */
	uint32_t pc, pc_end;     /* in the page */
	uint32_t state;
};

/* Reads a distance; false: it is truncated. */
static bool check_distance(struct place *p, uint32_t distance)
{
	if (distance < DWARF_DELTA_BYTE) {
		p->pc += 1 + distance;
		return true;
	}
	if (p->end - p->at < (distance == DWARF_DELTA_BYTE ? 1 : 2))
		return false;
	if (distance == DWARF_DELTA_BYTE) {
		p->pc += 15U + *p->at++;
		return true;
	}
	p->pc += p->at[0] | (uint32_t)p->at[1] << 8;
	p->at += 2;
	return true;
}

/*
 * Reads a row: its address must be in the block and above the previous one, and its state must lead
 * to a rule.
 */
static bool check_row(const struct check *c, struct place *p)
{
	uint32_t before = p->pc, delta, code;

	delta = *p->at++;
	if (!check_distance(p, delta & 15) || p->pc <= before)
		return false;
	code = delta >> 4;
	if (code == DWARF_DELTA_NUMBER) {
		if (p->end - p->at < 2)
			return false;
		p->state = p->at[0] | (uint32_t)p->at[1] << 8;
		p->at += 2;
	} else {
		p->state += 1 + code;
		if (code == DWARF_DELTA_PADDING) {
			p->pc = (p->pc + DWARF_DELTA_ALIGN - 1) & ~(DWARF_DELTA_ALIGN - 1U);
			p->state = DP_STATE_NONE + 1;
		}
		if (p->state >= c->n_states)
			return false;
		p->state = c->states[p->state];
	}
	return p->pc < p->pc_end && check_state(c, p->state);
}

/* Reads the state at a block's start, and moves p->at past it. */
static bool check_start(const struct check *c, uint8_t start, struct place *p)
{
	if (start == DP_START_APART) {
		if (p->end - p->at < 2)
			return false;
		p->state = p->at[0] | (uint32_t)p->at[1] << 8;
		p->at += 2;
		return check_state(c, p->state);
	}
	if (start >= c->n_starts)
		return false;
	p->state = c->starts[start];
	return check_state(c, p->state);
}

/* Reads the rows of a block. Behind END there is only padding. */
static bool check_block(const struct check *c, uint8_t start, struct place *p)
{
	if (!check_start(c, start, p))
		return false;
	for (int i = 0; p->at < p->end; i++) {
		if (*p->at == DWARF_DELTA_END)
			return true;
		if (i == DP_BLOCK_ROWS || !check_row(c, p))
			return false;
	}
	return true;
}

/*
 * True if all blocks end before `end`. If their rows are not read, because that is slow, the last
 * one may end behind it.
 */
static bool check_blocks(const struct check *c, const struct dp_page *page, const uint8_t *data,
			 const uint8_t *end)
{
	uint32_t n = DP_PAGE_SIZE >> page->block_bits;
	const uint8_t *rows = data + n * sizeof(struct dp_anchor) + 1;
	size_t size = (size_t)(end - rows);

	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *anchor = data + i * sizeof(struct dp_anchor);
		size_t block = i * page->stride + anchor[0];
		size_t next = (i + 1) * page->stride + anchor[sizeof(struct dp_anchor)];
		struct place p = {
			.pc = i << page->block_bits,
			.pc_end = (i + 1) << page->block_bits,
		};

		if (block > next || next > size)
			return false;
		if (c->any_state && size - next >= DWARF_DELTA_MAX_SIZE)
			continue;
		p.at = rows + block;
		p.end = rows + next;
		if (!check_block(c, anchor[1], &p))
			return false;
	}
	return true;
}

static bool check_page(const struct check *c, const struct dp_page *page)
{
	size_t start = page->data, end = (start | (DP_SEGMENT_SIZE - 1)) + 1, anchors;

	if (start == 0)
		return c->any_state || check_state(c, page->state);
	/* A page's data must not cross a segment boundary. */
	if (end > c->size)
		end = c->size;
	if (page->block_bits < DP_MIN_BLOCK_BITS || page->block_bits > DP_PAGE_BITS)
		return false;
	anchors = (DP_PAGE_SIZE >> page->block_bits) * sizeof(struct dp_anchor) + 1;
	/* Two anchors are read at once, and a byte behind the last one. */
	return start < end && end - start > anchors &&
	       check_blocks(c, page, c->bytes + start, c->bytes + end);
}

bool image_is_sound(const uint64_t *cells, uint32_t n_cells)
{
	struct check c;

	if (!check_head(cells, n_cells, &c) || !check_rules(&c) || !check_labels(&c))
		return false;
	/* Padding or a gap from here on: the first state is that of no rule. */
	if (!check_state(&c, DP_STATE_NONE) || c.states[DP_STATE_NONE] != DP_RULE_NONE)
		return false;
	for (uint32_t i = 0; i < c.head->n_pages; i++)
		if (!check_page(&c, &c.pages[i]))
			return false;
	return true;
}
