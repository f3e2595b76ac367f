/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_FRAME_H
#define DP_BPF_FRAME_H

/*
 * The current frame of a walk: the rule for its address, its registers, and the process's memory.
 */

#include "bpf/call.h"
#include "bpf/lookup.h"
#include "bpf/cookie.h"
#include "bpf/walk_state.h"

/*
 * The size of the next read of the stack. Behind a frame that reaches far beyond the window, it is
 * small: the next frames are often as large. Where the walk before ended, this one will, too, if it
 * is of the same thread; otherwise the number is rarely near.
 */
static __always_inline __u32 walk_reach(const struct walk *w, __u64 from)
{
	__u32 reach = WALK_WINDOW, left = w->memo.top - (__u32)from;

	/* They overlap by a line at most. */
	if (from + 64 - (w->stack.start + w->stack.n_words) > WALK_WINDOW_GAP)
		reach = WALK_WINDOW_APART;
	if (left - 1 < reach)
		reach = (left + WALK_WINDOW_LEAST - 1) & ~(WALK_WINDOW_LEAST - 1U);
	return reach;
}

/*
 * Reads the stack from here: WALK_WINDOW_LEAST bytes or more, but to the end of the page at most. A
 * page is readable as a whole or not at all, so the read does not fail because of bytes that are
 * not needed.
 */
static __always_inline int walk_read_stack(struct walk *w, __u64 from)
{
	__u32 reach, size;

	from &= ~63ULL; /* whole cache lines */
	reach = walk_reach(w, from);
	size = DP_USER_PAGE_SIZE - ((__u32)from & (DP_USER_PAGE_SIZE - 1));
	if (size > reach)
		size = reach;
	size = port_opaque(size);
	if (size > DP_USER_PAGE_SIZE) /* for the verifier */
		return -1;
	w->stack.n_words = 0;
	w->at.n_pages++;
	if (w->at.n_pages > WALK_FREE_PAGES)
		w->at.cost += WALK_COST_READ;
	if (walk_is_over(w))
		return -1;
	if (port_read_user(w, w->stack.page, size, from) < 0)
		return -1;
	w->stack.start = from;
	w->stack.n_words = size - sizeof(__u64) + 1;
	return 0;
}

/*
 * The same, where bytes up to `end` are needed, at most WALK_WINDOW_LEAST less a line. Negative if
 * that takes two reads. A global function, which is there once.
 */
PORT_GLOBAL int walk_read_part(struct walk *w, __u64 from, __u64 end)
{
	if (!w || ((end - 1) ^ from) >= DP_USER_PAGE_SIZE)
		return -1;
	return walk_read_stack(w, from);
}

static __always_inline __u32 walk_in_window(const struct walk *w, __u64 address)
{
	return address - w->stack.start < w->stack.n_words;
}

/* Returns the word at an address inside the window. */
static __always_inline __u64 walk_window_word(const struct walk *w, __u64 address)
{
	__u32 offset = (__u32)(address - w->stack.start) & (DP_USER_PAGE_SIZE - 1);

	return port_u64(w->stack.page + port_index(offset, DP_USER_PAGE_SIZE));
}

/* Reads the word at an address outside the window into w->stack.word; moves the window there. */
PORT_GLOBAL int walk_fetch(struct walk *w, __u64 address)
{
	__u64 page = address & ~(__u64)(DP_USER_PAGE_SIZE - 1), from;

	if (!w)
		return -1;
	if (address - page > DP_USER_PAGE_SIZE - sizeof(w->stack.word)) {
		w->at.cost += WALK_COST_READ;
		if (port_read_user(w, &w->stack.word, sizeof(w->stack.word), address) == 0)
			return 0;
		w->at.cost += WALK_COST_FAULT;
		w->stack.fault = address;
		return -1;
	}
	/* What a frame needs is above its stack pointer, and mostly beside its return address. */
	from = w->at.sp;
	if (address - from > 256)
		from = address - 256;
	if (from - page >= DP_USER_PAGE_SIZE)
		from = page;
	if (walk_read_stack(w, from) < 0) {
		w->at.cost += WALK_COST_FAULT;
		w->stack.fault = address;
		return -1;
	}
	w->stack.word = walk_window_word(w, address);
	return 0;
}

/*
 * Reads the word at an address of the walked process. A read of the stack fills the window, so that
 * neighbouring frames need no further read.
 */
static __always_inline int walk_read(struct walk *w, __u64 address, __u64 *ret)
{
	if (walk_in_window(w, address)) {
		*ret = walk_window_word(w, address);
		return 0;
	}
	if (walk_fetch(w, address) < 0)
		return -1;
	*ret = w->stack.word;
	return 0;
}

/*
 * An address is cached at this index or at the next one. Callers in one program have similar low
 * bits, and forked processes have the same addresses with different memory maps: the index depends
 * on all of these.
 */
static __always_inline __u32 walk_cache_index(const struct walk *w, __u64 pc)
{
	return (__u32)((pc + (w->in.memory_map << 32)) * 0x9e3779b97f4a7c15ULL >>
		       (64 - WALK_CACHE_BITS)) &
	       (WALK_CACHE_SIZE - 2);
}

static __always_inline __u32 walk_is_at(const struct walk *w, const struct walk_cached *c, __u64 pc)
{
	return c->pc == pc && c->memory_map == w->in.memory_map;
}

/*
 * How many words below the return address a rule saves fp; 0 if unchanged, negative if elsewhere.
 */
static __always_inline int walk_below(const struct dp_rule *rule)
{
	__u32 below = (__u32)(DP_CALLER_RA(0) - rule->fp.offset);

	if (rule->fp.kind == DP_WHERE_SAME)
		return 0;
	if (rule->fp.kind != DP_WHERE_CFA || below == 0 || below % 8 != 0 ||
	    below / 8 > WALK_MAX_BELOW)
		return -1;
	return (int)(below / 8);
}

/* Caches a rule. A caller whose rule has the common form is then left in one step. */
static __always_inline void walk_remember(struct walk_cached *c, const struct dp_rule *rule)
{
	int below = walk_below(rule);

	if (rule->cfa != DP_CFA_REGISTER || rule->cfa_offset <= 0 ||
	    (rule->cfa_reg != DP_REG_SP && rule->cfa_reg != DP_REG_FP) ||
	    !DP_IS_CALL_RA(&rule->ra) || rule->sp.kind != DP_WHERE_SAME || below < 0 ||
	    (rule->saves & DP_SAVES_APART) || rule->lands)
		return;
	c->saves = rule->saves;
	c->link = WALK_LINK(c->link, (__u32)below);
	c->is_sp = rule->cfa_reg == DP_REG_SP;
	if (!c->is_sp)
		c->link |= WALK_BY_FP;
	c->step = (__u32)rule->cfa_offset;
}

/* Looks up an address that is not in the cache, and caches it. Returns its index. */
static __always_inline int walk_learn(struct walk *w, __u64 pc)
{
	struct walk_cached *c;
	struct dp_rule *rule;
	__u32 place;

	w->at.cost += WALK_COST_LOOKUP;
	/* Alternates, so that two addresses with the same indices soon have one each. */
	place = walk_cache_index(w, pc) + (w->mapped.n_looked_up++ & 1);
	c = &w->cache[port_index(place, WALK_CACHE_SIZE)];
	rule = &w->rules[port_index(place, WALK_CACHE_SIZE)].rule;
	c->link = lookup_snapshot(w, w->in.snapshot_cell, w->mapped.last, pc, rule);
	w->rules[port_index(place, WALK_CACHE_SIZE)].called = 0;
	w->mapped.last = c->link;
	c->step = 0;
	c->pc = pc;
	c->memory_map = w->in.memory_map;
	walk_remember(c, rule);
	return (int)place;
}

/*
 * Looks up an address in the cache or the tables. Returns its index in the cache, negative if the
 * tables are out of date.
 *
 * A cached entry cannot belong to other mappings: those have another memory map, whose number is
 * never reused. An image stays in place while a snapshot refers to it, and a snapshot with the
 * memory map does. A walk that may have read another snapshot's memory clears the cache at its end.
 */
static __always_inline int walk_look_up(struct walk *w, __u64 pc)
{
	__u32 place = walk_cache_index(w, pc), mapping;

	if (!walk_is_at(w, &w->cache[place], pc))
		place++;
	if (!walk_is_at(w, &w->cache[place], pc))
		place = (__u32)walk_learn(w, pc);
	mapping = WALK_MAPPING(w->cache[port_index(place, WALK_CACHE_SIZE)].link);
	if (mapping != 0 && !walk_is_checked(w, mapping) && walk_check(w, mapping) < 0)
		return -1;
	return (int)place;
}

/* The same, as a global function, which is there and verified once. */
PORT_GLOBAL int walk_look_up_noinline(struct walk *w, __u64 pc)
{
	return w ? walk_look_up(w, pc) : -1;
}

/* The same, with a call only for what is not in the cache, or in a mapping that is not checked. */
static __always_inline int walk_find(struct walk *w, __u64 pc)
{
	__u32 place = walk_cache_index(w, pc), mapping;

	if (!walk_is_at(w, &w->cache[place], pc))
		place++;
	mapping = WALK_MAPPING(w->cache[port_index(place, WALK_CACHE_SIZE)].link);
	if (walk_is_at(w, &w->cache[port_index(place, WALK_CACHE_SIZE)], pc) &&
	    (mapping == 0 || walk_is_checked(w, mapping)))
		return (int)place;
	return walk_look_up_noinline(w, pc);
}

/*
 * True if a call is in front of pc, whose cache index is `place`, as far as can be known. Only
 * files are checked: JIT compilers push return addresses in other ways. A stack's root and the code
 * that a signal handler returns to are not called. Code that is not in memory cannot be checked.
 */
static __always_inline __u32 walk_follows_call(struct walk *w, __u32 place, __u64 pc)
{
	struct walk_rule *known = &w->rules[port_index(place, WALK_CACHE_SIZE)];
	const struct dp_rule *rule = &known->rule;
	__u64 bytes;

	if (known->called || (rule->cfa == DP_CFA_NONE && rule->why == DP_NO_TABLE) ||
	    (rule->cfa != DP_CFA_NONE && rule->ra.kind == DP_WHERE_UNDEFINED) ||
	    rule->cfa == DP_CFA_SIGNAL)
		return 1;
	w->at.cost += WALK_COST_WORD;
	if (port_read_user(w, &bytes, sizeof(bytes), pc - sizeof(bytes)) < 0)
		return 1;
	known->called = call_ends(bytes);
	return known->called;
}

/* The outcome if tables are out of date. */
static __always_inline enum dp_outcome walk_out_of_date(const struct walk *w)
{
	return w->mapped.code_changed ? DP_CODE_CHANGED : DP_TABLES_CHANGED;
}

/*
 * Whether a frame saved a register, by its dp_rule.saves: 1 if it did, 0 if not, negative if
 * unknown.
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
	else if (where.kind == DP_WHERE_MEMORY && where.reg == DP_REG_FP)
		*ret_address = t->fp + where.offset;
	else
		return where.kind == DP_WHERE_SAME ? 0 : -1;
	return 1;
}

/* Checks whether the next frame inwards saved the wanted register. Returns 1 to end the search. */
static long walk_recover_step(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	const struct walk_trail *t;
	__u64 address;
	int is_saved;

	if (w->search.callees <= w->search.end) {
		w->search.outcome = DP_WALKING; /* no frame since has saved it: it is still that */
		return 1;
	}
	if (walk_is_over(w))
		return 1;
	w->search.callees--;
	w->at.cost++;
	t = walk_trail(w, w->search.callees);
	is_saved = walk_saved(w, t, port_opaque(w->search.wanted), &address);
	if (is_saved > 0)
		w->search.outcome =
			walk_read(w, address, &w->search.found) < 0 ? DP_READ_FAULT : DP_WALKING;
	return is_saved != 0;
}

/*
 * Reads a callee-saved register's value in the current frame: its value in the last frame with
 * complete registers, or the last one in which it was recovered, unless a frame in between has saved
 * it. Such rules are rare (an example is the lazy binding resolver's), so the search may be slow.
 * Negative if search.outcome says why it is not known.
 */
PORT_GLOBAL int walk_recover(struct walk *w, __u32 saved, __u64 initial)
{
	struct walk_ref ref = { w };
	struct walk_recovered *known;

	if (!w)
		return -1;
	w->at.cost += WALK_COST_RECOVER;
	known = &w->search.recovered[port_index(saved, WALK_RECOVERED)];
	w->search.wanted = saved;
	w->search.end = w->at.fresh;
	w->search.found = initial;
	if (known->walk == w->in.number && known->frame > w->at.fresh) {
		w->search.end = known->frame;
		w->search.found = known->value;
	}
	w->search.outcome = DP_REGISTER_LOST;
	w->search.callees = w->at.n_frames - 1;
	port_loop(DP_MAX_FRAMES, walk_recover_step, &ref);
	if (w->search.outcome != DP_WALKING)
		return -1;
	known->walk = w->in.number;
	known->frame = w->at.n_frames - 1;
	known->value = w->search.found;
	return 0;
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

/* How a walk without a register ends. Not the outcome itself: the verifier would take it for any. */
static __always_inline enum dp_outcome walk_lost_outcome(__u32 outcome)
{
	return outcome == DP_READ_FAULT ? DP_READ_FAULT : DP_REGISTER_LOST;
}

/* Reads a register's value in the current frame. */
static __always_inline enum dp_outcome walk_register(struct walk *w, __u32 reg, __u64 *ret)
{
	__u32 saved;

	if (reg == DP_REG_SP) {
		*ret = w->at.sp;
		return DP_WALKING;
	}
	if (reg == DP_REG_FP) {
		*ret = w->at.fp;
		return w->at.fp_lost ? walk_lost_outcome(w->at.fp_lost) : DP_WALKING;
	}
	if (reg == DP_REG_PC) {
		*ret = w->at.pc;
		return DP_WALKING;
	}
	if (reg >= DP_N_REGISTERS)
		return DP_UNSUPPORTED_RULE;
	*ret = w->in.regs.reg[reg];
	if (w->at.n_frames - 1 == w->at.fresh)
		return DP_WALKING;
	saved = saved_number(reg);
	if (saved == DP_N_SAVED)
		return DP_REGISTER_LOST;
	if (walk_recover(w, saved, *ret) < 0)
		return walk_lost_outcome(w->search.outcome);
	*ret = w->search.found;
	return DP_WALKING;
}

#endif
