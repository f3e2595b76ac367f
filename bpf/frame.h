/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_FRAME_H
#define DP_BPF_FRAME_H

/*
 * What a walk knows of the frame that it is in: the rule for its address, its
 * registers, and the memory of the process.
 */

#include "abi.h"
#include "lookup.h"
#include "port.h"

/* Addresses whose rules are remembered. */
#define WALK_CACHE_BITS 10
#define WALK_CACHE_SIZE (1 << WALK_CACHE_BITS)

/* In place of dp_rule.saves: the frame was left without knowing what it saved. */
#define WALK_SAVES_UNKNOWN (~0U)

/* Mappings whose marks are remembered; a power of two. */
#define WALK_MARKS 8

/* Bytes of the stack that are read in one go; a power of two. */
#define WALK_WINDOW 1024

/*
 * What is remembered of an address: what nearly all frames need, in half of a cache
 * line. The step is that of a caller whose rule is of the common form and which was
 * seen to be behind a call (walk_remember()).
 */
struct walk_cached {
	__u64 space;
	__u64 pc;
	__u32 mapping; /* cell of the struct dp_mapping, 0: none */
	__u32 saves;   /* as in struct dp_rule */
	__u32 step;    /* the CFA is the base register plus this; 0: look at the rule */
	__u16 below;   /* rbp is saved so far below the return address; 0: it is unchanged */
	__u16 is_rsp;  /* the base register is rsp, not rbp */
};

/* A mapping's mark (struct dp_mapping), and the last walk that has found it in memory. */
struct walk_mark {
	__u64 space;
	__u64 walk;
	__u64 address; /* 0: it has none */
	__u64 mark;
	__u32 mapping;
	__u32 zero;
};

/* And what the others need. */
struct walk_rule {
	struct dp_rule rule;
	__u32 called; /* the instruction that ends behind the address was seen to be a call */
	__u32 zero;
};

/* How a frame was left, kept to find the registers it had saved. */
struct walk_trail {
	__u64 cfa;
	__u64 rbp;   /* in the frame itself */
	__u32 saves; /* as in struct dp_rule */
	__u32 zero;
};

struct walk {
	struct port_world world;

	/* What to walk, and how */
	__u64 space; /* id and cell of the process's struct dp_space */
	__u32 space_cell;
	__u32 unwind;     /* enum dp_unwind */
	__u32 max_frames; /* at most DP_MAX_FRAMES */
	__u32 in_syscall; /* the innermost pc is behind an instruction that has the kernel at work */

	/* Where the walk is: frames found are n_frames, the one at pc is the next */
	__u32 n_frames;
	__u32 method; /* how the frame at pc was found: enum dp_method */
	__u32 rbp_lost;
	__u32 lands;        /* the frame at pc may be a handler: dp_rule.lands of its callee */
	__u32 code_changed; /* a mark was read, and differs */
	__u64 pc, sp, rbp;
	__u64 trampoline; /* that uretprobes return to, in this process; 0: there is none */
	__u64 fault;      /* the address that could not be read last */

	__u32 last;        /* cell of the mapping that an address was looked up in last; 0: none */
	__u32 n_looked_up; /* addresses, by all walks */
	__u64 number;      /* of this walk; no other one with this memory has the same */
	struct walk_mark marks[WALK_MARKS]; /* at the place that the mapping's cell determines */

	/* The last frame whose registers are known completely, and these registers */
	__u32 fresh;

	/* What walk_recover() looks for, and where */
	__u32 wanted;  /* enum dp_saved */
	__u32 callees; /* the frame looked at last */
	__u32 is_found;
	__u64 found;
	struct dp_regs regs;

	/* The program that walk_program() runs, how that went, and its stack */
	__u32 program;
	__u32 program_outcome; /* enum dp_outcome */
	__u32 n_values;
	__u64 values[DP_MAX_VALUES];

	/*
	 * The part of the stack that was read last, which lies in one page, at its place in
	 * the page: the words that start at window, or less than window_words bytes above
	 * it. The verifier wants room for a whole one behind any offset.
	 */
	__u64 window, window_words;
	__u64 word; /* what walk_fetch() has read */
	__u8 page[DP_USER_PAGE_SIZE + WALK_WINDOW];

	/* The sample being made; the kernel's frames come behind the user's */
	struct dp_sample sample;
	__u64 frames[DP_MAX_FRAMES + DP_MAX_KERNEL_FRAMES];

	struct walk_trail trail[DP_MAX_FRAMES];
	struct walk_cached cache[WALK_CACHE_SIZE];
	struct walk_rule rules[WALK_CACHE_SIZE]; /* of the addresses in the cache */
};

/* What the callback of a loop is given. */
struct walk_ref {
	struct walk *w;
};

/*
 * Read the stack from here on, so far as it lies in the same page: a page is either
 * readable or not, so that no read fails for what lies beyond.
 */
static __always_inline int walk_read_stack(struct walk *w, __u64 from)
{
	__u32 offset, size;

	from &= ~63ULL; /* whole cache lines */
	offset = port_index((__u32)from & (DP_USER_PAGE_SIZE - 1), DP_USER_PAGE_SIZE);
	size = DP_USER_PAGE_SIZE - offset;
	if (size > WALK_WINDOW)
		size = WALK_WINDOW;
	w->window_words = 0;
	if (port_read_user(w, w->page + offset, size, from) < 0)
		return -1;
	w->window = from;
	w->window_words = size - sizeof(__u64) + 1;
	return 0;
}

static __always_inline __u32 walk_in_window(const struct walk *w, __u64 address)
{
	return address - w->window < w->window_words;
}

/* The word at an address that is in the window. */
static __always_inline __u64 walk_window_word(const struct walk *w, __u64 address)
{
	__u32 offset = (__u32)address & (DP_USER_PAGE_SIZE - 1);

	return port_u64(w->page + port_index(offset, DP_USER_PAGE_SIZE));
}

/* Read the word at an address outside of the window, which goes there, into w->word. */
PORT_GLOBAL int walk_fetch(struct walk *w, __u64 address)
{
	__u64 page = address & ~(__u64)(DP_USER_PAGE_SIZE - 1), from;

	if (!w)
		return -1;
	w->fault = address;
	if (address - page > DP_USER_PAGE_SIZE - sizeof(w->word))
		return port_read_user(w, &w->word, sizeof(w->word), address);
	/* What a frame needs lies above its stack pointer. */
	from = w->sp;
	if (address - from > WALK_WINDOW / 2)
		from = address - WALK_WINDOW / 8;
	if (from - page >= DP_USER_PAGE_SIZE)
		from = page;
	if (walk_read_stack(w, from) < 0)
		return -1;
	w->word = walk_window_word(w, address);
	return 0;
}

/*
 * Read the word at an address of the walked process. Of the stack more is read at once:
 * neighbouring frames then cost no further read.
 */
static __always_inline int walk_read(struct walk *w, __u64 address, __u64 *ret)
{
	if (walk_in_window(w, address)) {
		*ret = walk_window_word(w, address);
		return 0;
	}
	if (walk_fetch(w, address) < 0)
		return -1;
	*ret = w->word;
	return 0;
}

/*
 * Where a mapping's mark is remembered. The cells of a space's mappings are an odd number
 * apart, so that neighbours do not share a place.
 */
static __always_inline struct walk_mark *walk_mark_of(struct walk *w, __u32 mapping)
{
	return &w->marks[mapping & (WALK_MARKS - 1)];
}

/* Has this walk seen that the mapping's binary is still the one that is there? */
static __always_inline __u32 walk_is_checked(struct walk *w, __u32 mapping)
{
	const struct walk_mark *mark = walk_mark_of(w, mapping);

	return (mark->walk == w->number) & (mark->mapping == mapping);
}

/* See that it is; negative if not. A space's mappings do not change, so a mark is remembered. */
PORT_GLOBAL int walk_check(struct walk *w, __u32 cell)
{
	const struct dp_mapping *m;
	struct walk_mark *mark;
	__u64 found;

	if (!w)
		return -1;
	mark = walk_mark_of(w, cell);
	if (mark->mapping != cell || mark->space != w->space) {
		m = port_pool(w, cell);
		if (!m)
			return -1;
		mark->mapping = cell;
		mark->space = w->space;
		mark->walk = 0;
		mark->mark = m->mark;
		mark->address = m->mark_below ? m->start - m->mark_below : 0;
	}
	if (mark->address != 0) {
		if (port_read_user(w, &found, sizeof(found), mark->address) < 0)
			return -1;
		w->code_changed = found != mark->mark;
		if (w->code_changed)
			return -1;
	}
	mark->walk = w->number;
	return 0;
}

/*
 * An address is remembered at this place of the cache or at the next one. Callers of one
 * program are alike in their low bits, so these alone would put them at few places.
 */
static __always_inline __u32 walk_place(__u64 pc)
{
	return (__u32)(pc * 0x9e3779b97f4a7c15ULL >> (64 - WALK_CACHE_BITS)) &
	       (WALK_CACHE_SIZE - 2);
}

static __always_inline __u32 walk_is_at(const struct walk *w, const struct walk_cached *c, __u64 pc)
{
	return c->pc == pc && c->space == w->space;
}

/* Look up an address that is not in the cache, and remember it: its place. */
PORT_GLOBAL int walk_learn(struct walk *w, __u64 pc)
{
	struct walk_cached *c;
	__u32 place;

	if (!w)
		return -1;
	/* By turns, so that two addresses with the same places soon have one each. */
	place = walk_place(pc) + (w->n_looked_up++ & 1);
	c = &w->cache[port_index(place, WALK_CACHE_SIZE)];
	c->mapping = lookup_space(w, w->space_cell, w->last, pc,
				  &w->rules[port_index(place, WALK_CACHE_SIZE)].rule);
	w->rules[port_index(place, WALK_CACHE_SIZE)].called = 0;
	w->last = c->mapping;
	c->step = 0;
	c->pc = pc;
	c->space = w->space;
	return (int)place;
}

/*
 * What is known of an address, from the cache or the tables: its place in the cache,
 * negative if they are out of date. What is remembered can be of no older mappings: these
 * have another space, whose number is never given again. An image stays where it is for
 * as long as a space names it. And what a walk wrote that was overtaken, and read memory
 * with other contents by then, is under a number that was given up before.
 */
static __always_inline int walk_look_up(struct walk *w, __u64 pc)
{
	__u32 place = walk_place(pc), mapping;

	if (!walk_is_at(w, &w->cache[place], pc))
		place++;
	if (!walk_is_at(w, &w->cache[place], pc))
		place = (__u32)walk_learn(w, pc);
	mapping = w->cache[port_index(place, WALK_CACHE_SIZE)].mapping;
	if (mapping != 0 && !walk_is_checked(w, mapping) && walk_check(w, mapping) < 0)
		return -1;
	return (int)place;
}

/* Is this a call instruction ff /2 of so many bytes, the first of which is the lowest? */
PORT_GLOBAL __u32 walk_is_call_of(__u64 code, __u32 size)
{
	__u32 modrm = code >> 8 & 255, rm = modrm & 7, mod = modrm >> 6;
	__u32 has_sib = (mod != 3) & (rm == 4);
	/* A base of 5 without a displacement is none, but 4 bytes of an address. */
	__u32 base = has_sib ? code >> 16 & 7 : rm;
	__u32 length = 2 + has_sib + (mod == 1) + 4 * (mod == 2) + 4 * ((mod == 0) & (base == 5));

	return ((code & 255) == 0xff || (code & 255) == 0xcc) & ((modrm & 0x38) == 0x10) &
	       (length == size);
}

/*
 * Does a call instruction end where these eight bytes do? Its forms are e8 and ff /2
 * (Intel's manual, volume 2, CALL); a breakpoint may stand in for the first byte.
 */
PORT_GLOBAL __u32 walk_ends_with_call(__u64 bytes)
{
	__u32 found = 0;

	if ((bytes >> 24 & 255) == 0xe8 || (bytes >> 24 & 255) == 0xcc)
		return 1;
	for (__u32 size = 2; size < 8; size++)
		found |= walk_is_call_of(bytes >> (64 - 8 * size), size);
	return found;
}

/*
 * An address was seen to be behind a call: from now on, a frame there is left in one
 * step, if its rule is of the common form.
 */
static __always_inline void walk_remember(struct walk_cached *c, const struct dp_rule *rule)
{
	__u32 below = -8 - rule->rbp.offset;

	if (rule->cfa != DP_CFA_REGISTER || rule->cfa_offset <= 0 ||
	    (rule->cfa_reg != DP_RSP && rule->cfa_reg != DP_RBP) || rule->ra.kind != DP_WHERE_CFA ||
	    rule->ra.offset != -8 || rule->rsp.kind != DP_WHERE_SAME ||
	    (rule->saves & DP_SAVES_APART))
		return;
	if (rule->rbp.kind == DP_WHERE_SAME)
		below = 0;
	else if (rule->rbp.kind != DP_WHERE_CFA || below - 1 >= WALK_WINDOW / 2)
		return;
	c->saves = rule->saves;
	c->below = (__u16)below;
	c->is_rsp = rule->cfa_reg == DP_RSP;
	c->step = (__u32)rule->cfa_offset;
}

/*
 * Was the code at pc, of which the cache tells at `place`, left by a call, as far as can
 * be known? That is asked of files only: just-in-time compilers push return addresses in
 * other ways, too. A stack's root is not called, nor is what a signal handler returns
 * to; and code that is not in memory cannot be asked.
 */
static __always_inline __u32 walk_was_called(struct walk *w, __u32 place, __u64 pc)
{
	struct walk_rule *known = &w->rules[port_index(place, WALK_CACHE_SIZE)];
	const struct dp_rule *rule = &known->rule;
	__u64 bytes;

	if (known->called || (rule->cfa == DP_CFA_NONE && rule->why == DP_NO_TABLE) ||
	    (rule->cfa != DP_CFA_NONE && rule->ra.kind == DP_WHERE_UNDEFINED) ||
	    rule->cfa == DP_CFA_SIGNAL)
		return 1;
	if (port_read_user(w, &bytes, sizeof(bytes), pc - sizeof(bytes)) < 0)
		return 1;
	known->called = walk_ends_with_call(bytes);
	if (known->called)
		walk_remember(&w->cache[port_index(place, WALK_CACHE_SIZE)], rule);
	return known->called;
}

/* Why there is no rule. */
static __always_inline enum dp_outcome walk_out_of_date(const struct walk *w)
{
	return w->code_changed ? DP_CODE_CHANGED : DP_TABLES_CHANGED;
}

/*
 * Where a frame saved a register, by its dp_rule.saves: 1 if it did, 0 if not,
 * negative if that is not known.
 */
static __always_inline int walk_saved(struct walk *w, const struct walk_trail *t, __u32 saved,
				      __u64 *ret_address)
{
	const struct dp_saves *saves;
	struct dp_where where;
	__u32 slot;

	if (t->saves == WALK_SAVES_UNKNOWN || saved >= DP_N_SAVED)
		return -1;
	if (!(t->saves & DP_SAVES_APART)) {
		slot = t->saves >> (saved * DP_SLOT_BITS) & DP_MAX_SLOT;
		*ret_address = t->cfa - 8 * slot;
		return slot != 0;
	}
	saves = port_pool(w, t->saves & ~DP_SAVES_APART);
	if (!saves)
		return -1;
	where = saves->where[saved];
	if (where.kind == DP_WHERE_CFA)
		*ret_address = t->cfa + where.offset;
	else if (where.kind == DP_WHERE_MEMORY && where.reg == DP_RBP)
		*ret_address = t->rbp + where.offset;
	else
		return where.kind == DP_WHERE_SAME ? 0 : -1;
	return 1;
}

/* Look whether the next frame down saved the wanted register; 1 ends the search. */
static long walk_recover_step(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	const struct walk_trail *t;
	__u64 address;
	int is_saved;

	if (w->callees <= w->fresh) {
		w->is_found = 1; /* nobody saved it: it still has its initial value */
		return 1;
	}
	w->callees--;
	t = &w->trail[port_index(w->callees, DP_MAX_FRAMES)];
	is_saved = walk_saved(w, t, port_opaque(w->wanted), &address);
	if (is_saved > 0)
		w->is_found = walk_read(w, address, &w->found) == 0;
	return is_saved != 0;
}

/*
 * The value of a callee-saved register in the current frame: what it was in
 * the last frame known completely, unless a frame between has saved it since.
 * Rules that need one are rare (the lazy binding resolver is the best known),
 * so the search may be slow.
 */
PORT_GLOBAL int walk_recover(struct walk *w, __u32 saved, __u64 initial)
{
	struct walk_ref ref = { w };

	if (!w)
		return -1;
	w->wanted = saved;
	w->found = initial;
	w->is_found = 0;
	w->callees = w->n_frames - 1;
	port_loop(DP_MAX_FRAMES, walk_recover_step, &ref);
	return w->is_found ? 0 : -1;
}

static __always_inline __u32 saved_number(__u32 reg)
{
	switch (reg) {
#define X(name, word)                                                                              \
	case DP_##name:                                                                            \
		return DP_SAVED_##name;
		DP_SAVED_REGISTERS(X)
#undef X
	}
	return DP_N_SAVED;
}

/* The value of a register in the current frame. */
static __always_inline enum dp_outcome walk_register(struct walk *w, __u32 reg, __u64 *ret)
{
	__u32 saved;

	if (reg == DP_RSP) {
		*ret = w->sp;
		return DP_WALKING;
	}
	if (reg == DP_RBP) {
		*ret = w->rbp;
		return w->rbp_lost ? DP_REGISTER_LOST : DP_WALKING;
	}
	if (reg == DP_RIP) {
		*ret = w->pc;
		return DP_WALKING;
	}
	if (reg >= DP_N_REGISTERS)
		return DP_UNSUPPORTED_RULE;
	*ret = w->regs.reg[reg];
	if (w->n_frames - 1 == w->fresh)
		return DP_WALKING;
	saved = saved_number(reg);
	if (saved == DP_N_SAVED || walk_recover(w, saved, *ret) < 0)
		return DP_REGISTER_LOST;
	*ret = w->found;
	return DP_WALKING;
}

#endif
