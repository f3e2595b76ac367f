/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BPF_TESTS_WORLD_FEED_H
#define DP_BPF_TESTS_WORLD_FEED_H

/*
 * Rules, programs, a stack and walks in a world (world.h), from the bytes of a fuzz target's input.
 * In its order, numbers of one byte but where another size stands:
 *
 *     1 calls: nothing is a call; 2: the library's cookie differs; the number of walks, less one, in the
 *     next three bits
 *     for each walk: its unwind mode (0 to 2), system call (4) and new memory map (8); its pc (a place); sp
 *     and fp, in words above the stack's start (2 each)
 *     registers: so many words above sp are rbx, r12 to r15
 *     the number of the stack's words, less one; for each: its kind (enum world_word_kind), two numbers
 *     programs: the number of them; for each the number of instructions, each of three bytes
 *     saves: the number of dp_saves; for each, for each register, its kind and offset
 *     rules: one for each function from 1 on, as long as there is input; the others leave 16 bytes
 *
 * What would not be a sound image (image_check) is left out.
 */

#include "bpf/tests/world.h"
#include "cfi/tests/fuzz.h"

#define WORLD_MAX_WALKS 8
#define WORLD_MAX_WORDS 64
/* Programs that begin with a CFA are behind those that compute one. */
#define WORLD_CFA_PROGRAMS (WORLD_PROGRAMS / 2)
#define WORLD_N_SAVES 8
/* Addresses that differ from word to word are in the functions with rules, but for the root's. */
#define WORLD_FIRST_PLACE (WORLD_FUNCTION_SIZE + 1)
#define WORLD_PLACES (DP_PAGE_SIZE - 2 * WORLD_FUNCTION_SIZE - 1)

enum world_word_kind {
	WORLD_WORD_CODE,   /* in a function: a place */
	WORLD_WORD_PLACES, /* another address in the code for each word */
	WORLD_WORD_ABOVE,  /* words, and pages, above the word itself */
	WORLD_WORD_NUMBER,
	WORLD_N_WORDS,
};

struct world_word {
	uint8_t kind, of, by;
};

/* The stack: these words again and again. */
struct world_words {
	uint32_t n;
	struct world_word words[WORLD_MAX_WORDS];
};

struct world_walk {
	struct dp_regs regs;
	uint32_t unwind, in_syscall;
	bool is_new; /* nothing that was looked up is known */
};

struct world_case {
	struct world_words stack;
	struct world_walk walks[WORLD_MAX_WALKS];
	uint32_t n_walks;
};

/* Function number `of`, in the library if its 64 is set. */
static inline uint64_t world_place(uint8_t of)
{
	return WORLD_IN(of & WORLD_FUNCTIONS ? WORLD_LIBRARY : WORLD_CODE, of % WORLD_FUNCTIONS);
}

/* The word at an address, which is a multiple of 8. */
static inline uint64_t world_word(const struct world_words *s, uint64_t address)
{
	uint64_t number = (address - WORLD_STACK) / 8;
	const struct world_word *word = &s->words[number % s->n];

	switch (word->kind) {
	case WORLD_WORD_CODE:
		return world_place(word->of);
	case WORLD_WORD_PLACES:
		return (word->of & 1 ? WORLD_LIBRARY : WORLD_CODE) + WORLD_FIRST_PLACE +
		       (word->of + number * word->by) % WORLD_PLACES;
	case WORLD_WORD_ABOVE:
		return address + 8ULL * word->by + (uint64_t)word->of * DP_USER_PAGE_SIZE;
	}
	return word->of;
}

/* An address of the stack, of so many words in the next bytes. */
static inline uint64_t world_feed_address(struct feed *feed)
{
	return WORLD_STACK + 8 * (feed_number(feed, 2) + 1);
}

static inline void world_feed_walk(struct feed *feed, struct world_walk *walk)
{
	uint8_t flags = feed_u8(feed);

	walk->unwind = (flags & 3) % DP_UNWIND_COPY;
	walk->in_syscall = flags >> 2 & 1;
	walk->is_new = flags & 8;
	walk->regs.reg[DP_REG_PC] = world_place(feed_u8(feed));
	walk->regs.reg[DP_REG_SP] = world_feed_address(feed);
	walk->regs.reg[DP_REG_FP] = world_feed_address(feed);
}

static inline void world_feed_walks(struct feed *feed, struct world_case *c)
{
	for (uint32_t i = 0; i < c->n_walks; i++)
		world_feed_walk(feed, &c->walks[i]);
#define X(name, word)                                                                              \
	{                                                                                          \
		uint64_t words = feed_u8(feed);                                                    \
                                                                                                   \
		for (uint32_t i = 0; i < c->n_walks; i++)                                          \
			c->walks[i].regs.reg[DP_##name] =                                          \
				c->walks[i].regs.reg[DP_REG_SP] + 8 * words;                       \
	}
	DP_SAVED_REGISTERS(X)
#undef X
}

static inline void world_feed_stack(struct feed *feed, struct world_words *stack)
{
	stack->n = 1 + feed_u8(feed) % WORLD_MAX_WORDS;
	for (uint32_t i = 0; i < stack->n; i++) {
		stack->words[i].kind = feed_u8(feed) % WORLD_N_WORDS;
		stack->words[i].of = feed_u8(feed);
		stack->words[i].by = feed_u8(feed);
	}
}

/* The high bits of the first byte say how far the value is shifted: constants are as large as pages. */
static inline struct dp_op world_feed_op(struct feed *feed)
{
	uint8_t code = feed_u8(feed);
	struct dp_op op = { .code = (code & 31) % DP_N_OPS, .arg = feed_u8(feed) };

	op.value = (int8_t)feed_u8(feed) * (1 << 3 * (code >> 5));
	if (op.code == DP_OP_REGISTER)
		op.arg %= DP_N_VALUE_REGISTERS;
	if (op.code == DP_OP_DEREF)
		op.arg = op.arg % 8 + 1;
	return op;
}

static inline void world_feed_program(struct feed *feed, struct world *w, int number)
{
	struct dp_op ops[DP_MAX_OPS] = { { DP_OP_REGISTER, DP_REG_SP, 0, 16 } };
	int depth = number < WORLD_CFA_PROGRAMS ? 1 : 2;
	int n_fed = feed_u8(feed) % DP_MAX_OPS, n = 1;

	while (n_fed-- > 0) {
		struct dp_op op = world_feed_op(feed);
		int after = world_depth_after(&op, depth);

		if (after < 0)
			continue;
		depth = after;
		ops[n++] = op;
	}
	world_program(w, number, ops, (size_t)n);
}

/* Programs are only among the rules. */
static inline struct dp_where world_feed_where(struct feed *feed, uint8_t kind, bool in_rule)
{
	struct dp_where where = { .kind = kind %
					  (in_rule ? DP_WHERE_VALUE + 1 : DP_WHERE_UNKNOWN + 1) };
	uint8_t offset = feed_u8(feed);

	where.reg = (kind >> 3) % DP_N_REGISTERS;
	where.offset = 8 * (int8_t)offset;
	if (where.kind >= DP_WHERE_EXPRESSION)
		where.offset = WORLD_PROGRAM(WORLD_CFA_PROGRAMS + offset % WORLD_CFA_PROGRAMS);
	return where;
}

static inline void world_feed_saves(struct feed *feed, struct dp_saves *saves)
{
	for (int i = 0; i < DP_N_SAVED; i++)
		saves->where[i] = world_feed_where(feed, feed_u8(feed), false);
}

/* Which parts of a rule follow; the others are the usual ones. */
enum {
	WORLD_FEED_RA = 1,
	WORLD_FEED_FP = 2,
	WORLD_FEED_SP = 4,
	WORLD_FEED_SLOTS = 8,
	WORLD_FEED_SAVES = 16,
	WORLD_FEED_LANDS = 32,
	WORLD_FEED_LARGE = 64, /* the CFA is 16 times as far away */
};

static inline void world_feed_rule(struct feed *feed, struct dp_rule *rule)
{
	uint8_t cfa = feed_u8(feed), parts = feed_u8(feed), offset = feed_u8(feed);

	rule->cfa = cfa % DP_N_CFA;
	rule->cfa_reg = (cfa >> 3) % DP_N_REGISTERS;
	rule->cfa_offset = (parts & WORLD_FEED_LARGE ? 128 : 8) * (int8_t)offset;
	if (rule->cfa == DP_CFA_NONE)
		rule->why = offset & 1 ? DP_NO_RULE : DP_UNSUPPORTED_RULE;
	if (rule->cfa == DP_CFA_EXPRESSION || rule->cfa == DP_CFA_SWITCH)
		rule->cfa_offset = WORLD_PROGRAM(offset % WORLD_CFA_PROGRAMS);
	if (parts & WORLD_FEED_RA)
		rule->ra = world_feed_where(feed, feed_u8(feed), true);
	if (parts & WORLD_FEED_FP)
		rule->fp = world_feed_where(feed, feed_u8(feed), true);
	if (parts & WORLD_FEED_SP)
		rule->sp = world_feed_where(feed, feed_u8(feed), true);
	if (parts & WORLD_FEED_SLOTS)
		rule->saves =
			(uint32_t)feed_number(feed, 4) & ((1U << DP_N_SAVED * DP_SLOT_BITS) - 1);
	if (parts & WORLD_FEED_SAVES)
		rule->saves = DP_SAVES_APART | feed_u8(feed) % WORLD_N_SAVES;
	if (parts & WORLD_FEED_LANDS)
		rule->lands = feed_u8(feed) % DP_N_LANDS;
}

static inline void world_feed_image(struct feed *feed, struct world *w)
{
	int n_programs = feed_u8(feed) % (WORLD_PROGRAMS + 1), n_saves;

	for (int i = 0; i < WORLD_PROGRAMS; i++)
		if (i < n_programs)
			world_feed_program(feed, w, i);
		else
			world_program(w, i, &(struct dp_op){ DP_OP_REGISTER, DP_REG_SP, 0, 16 }, 1);
	memset(world_saves(w), 0, WORLD_N_SAVES * sizeof(*world_saves(w)));
	n_saves = feed_u8(feed) % (WORLD_N_SAVES + 1);
	for (int i = 0; i < n_saves; i++)
		world_feed_saves(feed, &world_saves(w)[i]);
	world_root(w, 0);
	for (int i = 1; i < WORLD_FUNCTIONS - 1; i++) {
		struct dp_rule *rule = world_rule(w, i, 16);

		if (feed->pos < feed->end)
			world_feed_rule(feed, rule);
	}
}

/* Fills a world, but for its stack: the caller makes that by world_word(). */
static inline void world_feed(struct feed *feed, struct world *w, struct world_case *ret)
{
	uint8_t flags = feed_u8(feed);

	*ret = (struct world_case){ .n_walks = 1 + (flags >> 2) % WORLD_MAX_WALKS };
	memset(w->code, flags & 1 ? 0 : 0xe8, sizeof(w->code));
	w->cookie = flags & 2 ? WORLD_COOKIE + 1 : WORLD_COOKIE;
	world_feed_walks(feed, ret);
	world_feed_stack(feed, &ret->stack);
	world_feed_image(feed, w);
}

#endif
