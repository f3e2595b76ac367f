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

/* Addresses whose rules are remembered. Direct mapped; a power of two. */
#define WALK_CACHE_SIZE 1024

/* In place of dp_rule.saves: the frame was left without knowing what it saved. */
#define WALK_SAVES_UNKNOWN (~0U)

#define WALK_NO_PAGE (~0ULL)

/* Mappings that were compared with the process's memory in this walk; a power of two. */
#define WALK_CHECKED 8

struct walk_cached {
	__u64 space;
	__u64 pc;
	struct dp_rule rule;
	__u32 mapping; /* cell of the struct dp_mapping, 0: none */
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
	__u64 pc, sp, rbp;

	__u32 checked[WALK_CHECKED]; /* cells of mappings, at the place that the cell determines */

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

	/* The page of the stack read last; the verifier wants room for a word behind any offset */
	__u64 page_address;
	__u8 page[DP_USER_PAGE_SIZE + 8];

	/* The sample being made; the kernel's frames come behind the user's */
	struct dp_sample sample;
	__u64 frames[DP_MAX_FRAMES + DP_MAX_KERNEL_FRAMES];

	struct walk_trail trail[DP_MAX_FRAMES];
	struct walk_cached cache[WALK_CACHE_SIZE];
};

/* What the callback of a loop is given. */
struct walk_ref {
	struct walk *w;
};

/*
 * Read the word at an address of the walked process. The stack is read by
 * aligned pages: neighbouring frames then cost no further read, and a page is
 * either readable or not, so that no read fails for reaching beyond its end.
 */
static __always_inline int walk_read(struct walk *w, __u64 address, __u64 *ret)
{
	__u64 offset = address & (DP_USER_PAGE_SIZE - 1);
	__u64 page = address - offset;

	if (offset > DP_USER_PAGE_SIZE - sizeof(*ret))
		return port_read_user(w, ret, sizeof(*ret), address);
	if (page != w->page_address) {
		w->page_address = WALK_NO_PAGE;
		if (port_read_user(w, w->page, DP_USER_PAGE_SIZE, page) < 0)
			return -1;
		w->page_address = page;
	}
	__builtin_memcpy(ret, w->page + port_index((__u32)offset, DP_USER_PAGE_SIZE), sizeof(*ret));
	return 0;
}

/* Is the binary that the mapping at cell tells of still the one that is there? */
static __noinline int walk_check(struct walk *w, __u32 cell)
{
	const struct dp_mapping *m = port_pool(w, cell);
	__u64 mark;

	if (!m)
		return -1;
	if (m->mark_below == 0)
		return 0;
	if (port_read_user(w, &mark, sizeof(mark), m->start - m->mark_below) < 0)
		return -1;
	return mark == m->mark ? 0 : -1;
}

/* The rule for an address, from the cache or the tables; NULL if they are out of date. */
static __always_inline const struct dp_rule *walk_rule(struct walk *w, __u64 pc)
{
	struct walk_cached *c = &w->cache[(pc ^ pc >> 12) & (WALK_CACHE_SIZE - 1)];
	__u32 *checked;

	if (c->space != w->space || c->pc != pc) {
		c->mapping = lookup_space(w, w->space_cell, pc, &c->rule);
		c->space = w->space;
		c->pc = pc;
	}
	checked = &w->checked[c->mapping / DP_CELLS(struct dp_mapping) & (WALK_CHECKED - 1)];
	if (c->mapping != 0 && *checked != c->mapping) {
		if (walk_check(w, c->mapping) < 0)
			return NULL;
		*checked = c->mapping;
	}
	return &c->rule;
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
static __noinline int walk_recover(struct walk *w, __u32 saved, __u64 initial)
{
	struct walk_ref ref = { w };

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
