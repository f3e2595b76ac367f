// SPDX-License-Identifier: Apache-2.0
#include "tables/x86_64/return_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "limits/limits.h"

/* The most words that a path writes. */
#define MAX_WRITTEN 48

/* A word of memory that the path has written. */
struct written {
	struct sum address, value;
};

/* What is known before an instruction. */
struct return_state {
	struct sum regs[DP_RIP];
	struct written words[MAX_WRITTEN];
	size_t n_words;
};

/* The state with which an instruction was first reached. */
struct return_met {
	struct sum regs[DP_RIP];
	uint64_t words; /* a hash of all words */
	size_t search;  /* number of the last search that has reached it, and how often */
	size_t n;
};

/* One search. */
struct search {
	struct return_path *path;
	struct return_point *points; /* NULL: not requested */
	const struct sum *given;     /* find where this value is stored; NULL: not requested */
	struct sum wanted;           /* the same, or the word there */
	struct return_values values;
	bool is_word;
	struct sum left;
	enum return_found found;
};

int return_path_init(struct return_path *ret, const uint8_t *bytes, uint64_t start, uint64_t end,
		     size_t max_steps)
{
	size_t n = end - start < RETURN_MAX_INSTRUCTIONS ? end - start : RETURN_MAX_INSTRUCTIONS;

	*ret = (struct return_path){ .max_steps = max_steps };
	ret->instructions = calloc(n + 1, sizeof(*ret->instructions));
	if (!ret->instructions)
		return -ENOMEM;
	ret->n = instructions_decode(bytes, start, end, ret->instructions, n);
	ret->met = calloc(ret->n + 1, sizeof(*ret->met));
	return ret->met ? 0 : -ENOMEM;
}

void return_path_done(struct return_path *path)
{
	free(path->instructions);
	free(path->met);
	free(path->switched);
	*path = (struct return_path){ 0 };
}

/* Index of the instruction at an address, or path->n. */
static size_t instruction_at(const struct return_path *path, uint64_t address)
{
	size_t low = 0, high = path->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (path->instructions[middle].start < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < path->n && path->instructions[low].start == address ? low : path->n;
}

static bool is_direct(const struct instruction *in)
{
	return in->from.kind == OPERAND_ADDRESS && in->from.size == 0;
}

/* Index of a jump's target inside the function; path->n: outside. */
static size_t target_of(const struct return_path *path, const struct instruction *in)
{
	return is_direct(in) ? instruction_at(path, (uint64_t)in->from.number) : path->n;
}

static struct sum address_of(const struct return_state *s, const struct operand *o)
{
	struct sum number = sum_number(o->number), base;

	if (o->is_unclear)
		return sum_unknown();
	if (o->kind == OPERAND_ADDRESS) {
		base = sum_register(DP_BIAS);
		return sum_add(&base, &number, 1);
	}
	if (o->base != DP_N_REGISTERS)
		number = sum_add(&s->regs[o->base], &number, 1);
	if (!o->is_thread)
		return number;
	base = sum_register(DP_THREAD_BASE);
	return sum_add(&base, &number, 1);
}

/*
 * The word at an address as the path has left it. Words relative to other parts are assumed to be
 * elsewhere: stacks and the memory that registers point to do not overlap.
 */
static struct sum read_word(struct return_path *path, const struct return_state *s,
			    const struct sum *address)
{
	int64_t distance;

	for (size_t i = s->n_words; i > 0; i--) {
		if (!sum_distance(address, &s->words[i - 1].address, &distance))
			continue;
		if (distance == 0)
			return s->words[i - 1].value;
		if (distance > -8 && distance < 8)
			return sum_unknown();
	}
	return sum_word(&path->parts, address);
}

static bool put_word(struct return_state *s, const struct sum *address, const struct sum *value)
{
	for (size_t i = 0; i < s->n_words; i++) {
		if (!sum_is_equal(&s->words[i].address, address))
			continue;
		s->words[i].value = *value;
		return true;
	}
	if (s->n_words == MAX_WRITTEN)
		return false;
	s->words[s->n_words++] = (struct written){ *address, *value };
	return true;
}

/*
 * Writes bytes at an address. A word's value is stored; words that overlap the bytes are forgotten.
 * False: no room.
 */
static bool write_bytes(struct return_state *s, const struct sum *address, unsigned int size,
			const struct sum *value)
{
	const struct sum unknown = sum_unknown();
	int64_t distance;

	if (!address->is_known)
		return true;
	for (size_t i = 0; i < s->n_words; i++)
		if (sum_distance(&s->words[i].address, address, &distance) && distance > -8 &&
		    distance < (int64_t)size)
			s->words[i].value = unknown;
	if (size == sizeof(uint64_t))
		return put_word(s, address, value);
	for (unsigned int at = 0; at < size; at += sizeof(uint64_t)) {
		struct sum more = sum_number(at), word = sum_add(address, &more, 1);

		if (!put_word(s, &word, &unknown))
			return false;
	}
	return true;
}

static struct sum value_of(struct return_path *path, const struct return_state *s,
			   const struct operand *o)
{
	struct sum address;

	switch (o->kind) {
	case OPERAND_REGISTER:
		return s->regs[o->reg];
	case OPERAND_NUMBER:
		return sum_number(o->number);
	case OPERAND_MEMORY:
	case OPERAND_ADDRESS:
		address = address_of(s, o);
		if (o->size == 0)
			return address;
		return o->size == 8 ? read_word(path, s, &address) : sum_unknown();
	}
	return sum_unknown();
}

static bool set_operand(struct return_state *s, const struct operand *o, struct sum value)
{
	struct sum address;

	if (o->kind == OPERAND_REGISTER)
		s->regs[o->reg] = value;
	if (o->kind != OPERAND_MEMORY && o->kind != OPERAND_ADDRESS)
		return true;
	address = address_of(s, o);
	return write_bytes(s, &address, o->size, &value);
}

/* Computes the result of an instruction with two operands. */
static struct sum calculated(struct return_path *path, const struct return_state *s,
			     const struct instruction *in)
{
	struct sum from = value_of(path, s, &in->from), to;

	switch (in->kind) {
	case INSTRUCTION_MOVE:
		return from;
	case INSTRUCTION_LOAD:
		return address_of(s, &in->from);
	}
	to = value_of(path, s, &in->to);
	if (in->kind == INSTRUCTION_AND)
		return from.is_known && from.n_terms == 0 ?
			       sum_masked(&path->parts, &to, from.number) :
			       sum_unknown();
	return sum_add(&to, &from, in->kind == INSTRUCTION_ADD ? 1 : -1);
}

static bool push(struct return_path *path, struct return_state *s, const struct operand *o)
{
	struct sum eight = sum_number(8), value = value_of(path, s, o);

	s->regs[DP_RSP] = sum_add(&s->regs[DP_RSP], &eight, -1);
	return write_bytes(s, &s->regs[DP_RSP], sizeof(uint64_t), &value);
}

static struct sum pop(struct return_path *path, struct return_state *s)
{
	struct sum eight = sum_number(8), value = read_word(path, s, &s->regs[DP_RSP]);

	s->regs[DP_RSP] = sum_add(&s->regs[DP_RSP], &eight, 1);
	return value;
}

/* Executes an instruction that continues to the next one. False: too many words were written. */
static bool execute(struct return_path *path, struct return_state *s, const struct instruction *in)
{
	switch (in->kind) {
	case INSTRUCTION_MOVE:
	case INSTRUCTION_LOAD:
	case INSTRUCTION_ADD:
	case INSTRUCTION_SUB:
	case INSTRUCTION_AND:
		return set_operand(s, &in->to, calculated(path, s, in));
	case INSTRUCTION_PUSH:
		return push(path, s, &in->from);
	case INSTRUCTION_POP:
		return set_operand(s, &in->to, pop(path, s));
	case INSTRUCTION_LEAVE:
		s->regs[DP_RSP] = s->regs[DP_RBP];
		s->regs[DP_RBP] = pop(path, s);
		return true;
	case INSTRUCTION_CALL:
		/*
		 * The function relies on what a call preserves. Results are in rax, and in r11 for
		 * Go's gcWriteBarrier().
		 */
		s->regs[DP_RAX] = s->regs[DP_R11] = sum_unknown();
		return true;
	case INSTRUCTION_OTHER:
	case INSTRUCTION_SYSTEM_CALL:
		for (int i = 0; i < DP_RIP; i++)
			if (in->spoiled & (1U << i))
				s->regs[i] = sum_unknown();
		return set_operand(s, &in->to, sum_unknown());
	}
	return true;
}

/* Ends a path: what the caller gets must be the same on all paths. */
static void end_path(struct search *search, const struct return_values *values)
{
	const struct return_values *known = &search->values;

	if (search->points)
		return;
	if (!values->sp.is_known || !values->pc.is_known) {
		search->found = RETURN_UNCLEAR;
		return;
	}
	if (search->found == RETURN_NEVER) {
		search->values = *values;
		search->found = RETURN_FOUND;
		return;
	}
	if (!sum_is_equal(&known->sp, &values->sp) || !sum_is_equal(&known->pc, &values->pc)) {
		search->found = RETURN_UNCLEAR;
		return;
	}
	/* A register is known if all paths agree. */
	if (!sum_is_equal(&known->fp, &values->fp))
		search->values.fp = sum_unknown();
	for (int i = 0; i < DP_N_SAVED; i++)
		if (!sum_is_equal(&known->saved[i], &values->saved[i]))
			search->values.saved[i] = sum_unknown();
}

static const uint8_t saved_registers[DP_N_SAVED] = {
#define X(name, word) DP_##name,
	DP_SAVED_REGISTERS(X)
#undef X
};

static bool is_on_stack(const struct sum *address)
{
	for (size_t i = 0; i < address->n_terms; i++)
		if (address->terms[i].part == DP_RSP)
			return true;
	return false;
}

/* Ends a path: where is the value that is searched for? */
static void note_left(struct search *search, const struct return_state *s)
{
	for (size_t i = 0; i < s->n_words; i++) {
		const struct written *word = &s->words[i];

		if (!sum_is_equal(&word->value, &search->wanted) || is_on_stack(&word->address))
			continue;
		if (search->found == RETURN_FOUND && !sum_is_equal(&search->left, &word->address)) {
			search->found = RETURN_UNCLEAR;
			return;
		}
		search->left = word->address;
		search->found = RETURN_FOUND;
	}
}

/* Leaves by a return, or by a jump to code that returns instead or continues. */
static void leave(struct search *search, struct return_state *s, const struct instruction *in)
{
	struct return_values values = { .fp = s->regs[DP_RBP] };

	if (search->given) {
		note_left(search, s);
		return;
	}
	for (int i = 0; i < DP_N_SAVED; i++)
		values.saved[i] = s->regs[saved_registers[i]];
	values.is_jump = in->kind == INSTRUCTION_JUMP && !is_direct(in);
	values.pc = values.is_jump ? value_of(search->path, s, &in->from) : pop(search->path, s);
	values.sp = s->regs[DP_RSP];
	end_path(search, &values);
}

/* Sums have no padding, so equal ones are equal bytes. */
static uint64_t words_mixed(const struct return_state *s)
{
	uint64_t mixed = s->n_words;

	for (size_t i = 0; i < s->n_words; i++) {
		uint64_t bytes[sizeof(*s->words) / sizeof(uint64_t)];

		memcpy(bytes, &s->words[i], sizeof(bytes));
		for (size_t k = 0; k < ARRAY_SIZE(bytes); k++)
			mixed = (mixed ^ bytes[k]) * 0x9e3779b97f4a7c15 + (mixed >> 29);
	}
	return mixed;
}

static bool has_same_saved(const struct sum *a, const struct sum *b)
{
	bool is_same = sum_is_equal(&a[DP_RSP], &b[DP_RSP]) && sum_is_equal(&a[DP_RBP], &b[DP_RBP]);

	for (int i = 0; i < DP_N_SAVED; i++)
		is_same &= sum_is_equal(&a[saved_registers[i]], &b[saved_registers[i]]);
	return is_same;
}

/*
 * True if the continuation of an instruction is known: it was reached with the same state before.
 */
static bool was_met(struct search *search, size_t number, const struct return_state *s)
{
	struct return_met *met = &search->path->met[number];
	uint64_t words = words_mixed(s);

	if (met->search != search->path->n_searches) {
		memcpy(met->regs, s->regs, sizeof(met->regs));
		met->words = words;
		met->search = search->path->n_searches;
		met->n = 1;
		return false;
	}
	/* A function starts again, with the same arguments, after it got a larger stack. */
	if (memcmp(met->regs, s->regs, sizeof(met->regs)) == 0 &&
	    (met->words == words || (search->given && number == 0)))
		return true;
	if (met->n++ < RETURN_MAX_MEETINGS)
		return false;
	if (met->words != words || !has_same_saved(met->regs, s->regs))
		search->found = RETURN_UNCLEAR;
	return true;
}

static void follow(struct search *search, size_t number, const struct return_state *from,
		   int branches);

static void note_point(struct search *search, size_t number, const struct return_state *s)
{
	struct sum start = sum_register(DP_RSP);
	int64_t distance;

	if (!search->points)
		return;
	search->points[number].is_met = true;
	search->points[number].sp = s->regs[DP_RSP];
	if (sum_distance(&s->regs[DP_RSP], &start, &distance))
		return;
	search->points[number].is_switched = true;
	if (search->path->switched)
		return;
	/* Without memory, the written words are not known. */
	search->path->switched = malloc(sizeof(*s));
	if (search->path->switched)
		*search->path->switched = *s;
}

/* Follows both ways. */
static void branch(struct search *search, size_t number, const struct return_state *s, int branches)
{
	size_t target = target_of(search->path, &search->path->instructions[number]);

	if (branches == RETURN_MAX_BRANCHES) {
		search->found = RETURN_UNCLEAR;
		return;
	}
	if (target < search->path->n)
		follow(search, target, s, branches + 1);
	else if (!search->points &&
		 !search->given) /* it returns elsewhere, perhaps on another stack */
		search->found = RETURN_UNCLEAR;
}

/* Follows all paths from an instruction to their ends. */
static void follow(struct search *search, size_t number, const struct return_state *from,
		   int branches)
{
	struct return_path *path = search->path;
	struct return_state s = *from;

	while (number < path->n && search->found != RETURN_UNCLEAR) {
		const struct instruction *in = &path->instructions[number];

		if (++path->n_steps > path->max_steps) {
			search->found = RETURN_UNCLEAR;
			return;
		}
		note_point(search, number, &s);
		if (was_met(search, number, &s) || in->kind == INSTRUCTION_STOP)
			return;
		if (in->kind == INSTRUCTION_RETURN ||
		    (in->kind == INSTRUCTION_JUMP && target_of(path, in) == path->n)) {
			leave(search, &s, in);
			return;
		}
		if (in->kind == INSTRUCTION_BRANCH)
			branch(search, number, &s, branches);
		else if (!execute(path, &s, in))
			search->found = RETURN_UNCLEAR;
		number = in->kind == INSTRUCTION_JUMP ? target_of(path, in) : number + 1;
	}
}

static void begin(struct search *search, size_t number)
{
	struct return_state start = { 0 };

	search->path->n_searches++;
	search->path->parts.n_made = 0;
	if (search->given)
		search->wanted = search->is_word ? sum_word(&search->path->parts, search->given) :
						   *search->given;
	for (unsigned int i = 0; i < DP_RIP; i++)
		start.regs[i] = sum_register(i);
	follow(search, number, &start, 0);
}

bool return_path_points(struct return_path *path, struct return_point *ret)
{
	struct search search = { .path = path, .points = ret, .found = RETURN_NEVER };

	begin(&search, 0);
	return search.found != RETURN_UNCLEAR;
}

bool return_path_written(const struct return_path *path, const struct sum *value,
			 struct sum *ret_address)
{
	for (size_t i = 0; path->switched && i < path->switched->n_words; i++) {
		if (!sum_is_equal(&path->switched->words[i].value, value))
			continue;
		*ret_address = path->switched->words[i].address;
		return true;
	}
	return false;
}

bool return_path_left(struct return_path *path, const struct sum *given, bool is_word,
		      struct sum *ret_address)
{
	struct search search = {
		.path = path, .given = given, .is_word = is_word, .found = RETURN_NEVER
	};

	begin(&search, 0);
	if (search.found == RETURN_FOUND)
		*ret_address = search.left;
	return search.found == RETURN_FOUND;
}

bool return_path_depth(const struct return_path *path, const struct sum *sp, int64_t *ret)
{
	return path->switched && sum_distance(&path->switched->regs[DP_RSP], sp, ret);
}

enum return_found return_path_find(struct return_path *path, size_t number,
				   struct return_values *ret)
{
	struct search search = { .path = path, .found = RETURN_NEVER };

	begin(&search, number);
	if (search.found == RETURN_FOUND)
		*ret = search.values;
	return search.found;
}
