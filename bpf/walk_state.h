/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_WALK_STATE_H
#define DP_BPF_WALK_STATE_H

/*
 * What a walk works with, and what is remembered from one walk to the next: struct walk, whose
 * parts are what goes in, where it is, what it remembers, and what comes out.
 */

#include "bpf/abi.h"
#include "bpf/port.h"

/* Addresses whose rules are remembered. */
#define WALK_CACHE_BITS 10
#define WALK_CACHE_SIZE (1 << WALK_CACHE_BITS)

/* In place of dp_rule.saves: the frame was left without knowing what it saved. */
#define WALK_SAVES_UNKNOWN (~0U)

/* Room for enum dp_saved; a power of two. */
#define WALK_RECOVERED 8
DP_ASSERT(DP_N_SAVED <= WALK_RECOVERED, "each saved register has room");

/* Mappings whose cookies are remembered; a power of two. */
#define WALK_COOKIES 8

/*
 * Bytes of the stack that are read in one go at first; then it is a page: who has read much
 * will read more, and others are spared what they do not need.
 */
#define WALK_WINDOW 2048

/*
 * What one walk may spend. Unwind information is the profiled program's, and can make each frame
 * expensive; while a sample is taken, its CPU does nothing else. The unit is one operation of a
 * program, some 7 ns. A frame of the common form costs nothing.
 */
#define WALK_MAX_COST 24576
#define WALK_COST_LOOKUP 8     /* an address that is not in the cache */
#define WALK_COST_READ 22      /* of the walked process's memory, at most a page */
#define WALK_COST_URETPROBE 99 /* to find what a uretprobe replaced */

/* The verifier wants room for a whole label behind any place. */
#define WALK_LABEL_SLACK (sizeof(struct dp_label) + 2 * (DP_LABEL_CUT + 1) + 6)
#define WALK_LABELS_CELLS ((sizeof(struct dp_labels) + DP_LABELS_MAX_SIZE) / DP_CELL_SIZE)

/*
 * How a frame of the common form is left: the number of its mapping; above that, how many
 * words below the return address fp is saved, 0 if it is unchanged; and whether the CFA
 * follows from fp, else from sp.
 */
#define WALK_MAPPING_BITS 28
#define WALK_MAX_BELOW 7
#define WALK_BY_FP (1U << 31)
#define WALK_LINK(mapping, below) ((mapping) | (below) << WALK_MAPPING_BITS)
#define WALK_MAPPING(link) ((link) & ((1U << WALK_MAPPING_BITS) - 1))
#define WALK_BELOW(link) ((__u64)((link) >> WALK_MAPPING_BITS & WALK_MAX_BELOW) * 8)
DP_ASSERT(DP_MAX_MAPPINGS < 1 << WALK_MAPPING_BITS, "a link has room for any mapping");

/*
 * What is remembered is so of all processes with the same memory map (struct dp_snapshot). So
 * mappings are told by their numbers in the snapshot (dp_mapping_cell()): cells differ.
 *
 * Of an address, there is what nearly all frames need, in half of a cache line. There is
 * a step if the rule is of the common form (walk_remember()).
 */
struct walk_cached {
	__u64 memory_map; /* 0: nothing is */
	__u64 pc;
	__u32 link;  /* the mapping, 0: none; the other part only if there is a step */
	__u32 saves; /* as in struct dp_rule */
	__u32 step;  /* the CFA is the base register plus this; 0: look at the rule */
	__u32 is_sp; /* the base register is sp, not fp */
};

/* A mapping's cookie (struct dp_mapping), and the last walk that has found it in memory. */
struct walk_cookie {
	__u64 memory_map;
	__u64 walk;
	__u64 address; /* 0: it has none */
	__u64 cookie;
	__u32 mapping;
	__u32 zero;
};

/* And what the others need. */
struct walk_rule {
	struct dp_rule rule;
	__u32 called; /* the instruction that ends behind the address was seen to be a call */
	__u32 zero;
};

/*
 * A frame, and how it was left: kept to find the registers it had saved, and for the next
 * walk (memo.h).
 */
struct walk_trail {
	__u64 frame; /* as it is sent */
	__u64 fp;    /* in the frame itself */
	__u64 cfa;
	__u32 saves; /* as in struct dp_rule */
	__u32 link;  /* 0: it cannot be followed */
};

/* What goes in: what to walk, and how far. The caller sets all but the last two. */
struct walk_input {
	__u64 snapshot; /* id, memory map and cell of the process's struct dp_snapshot */
	__u64 memory_map;
	__u32 snapshot_cell;
	__u32 unwind;     /* enum dp_unwind */
	__u32 max_frames; /* at most DP_MAX_FRAMES */
	__u32 in_syscall; /* the innermost pc is behind an instruction that has the kernel at work */
	struct dp_regs regs; /* those of the innermost frame; see walk_position.fresh */
	__u64 trampoline;    /* that uretprobes return to, in this process; 0: there is none */
	__u64 number;        /* of this walk; no other one with this memory has the same */
};

/* Where the walk is: frames found are n_frames, the one at pc is the next. */
struct walk_position {
	__u32 n_frames;
	__u32 method; /* how the frame at pc was found: enum dp_method */
	__u32 fp_lost;
	__u32 lands; /* the frame at pc may be a handler: dp_rule.lands of its callee */
	__u64 pc, sp, fp;
	__u64 left_sp; /* DP_LEFT_SP */
	__u32 mapping; /* that the frame is in whose rule is applied; 0: none */
	__u32 cost;    /* of the walk so far: WALK_MAX_COST */
	/* The last frame whose registers are known completely: walk_input.regs are then its own */
	__u32 fresh;
	__u32 zero;
};

/* The mappings that walks have come through. */
struct walk_mapped {
	__u32 last;         /* the one that an address was looked up in last; 0: none */
	__u32 code_changed; /* a cookie was read, and differs */
	__u32 n_looked_up;  /* addresses, by all walks */
	__u32 zero;
	struct walk_cookie cookies[WALK_COOKIES]; /* each at the place that its number determines */
};

/* The walk before, and what this one has in common with it: see memo.h. */
struct walk_memo {
	/* Where this walk's trail is: which side, and at which place of it frame number 0 is */
	__u32 side, base;
	__u64 memory_map; /* of the walk before, 0: it tells nothing */
	__u32 unwind;
	__u32 n_trail;   /* its frames */
	__u32 n_past;    /* the same, if this walk can follow it; else 0 */
	__u32 past_side; /* where they are */
	__u32 past_base;
	__u32 has_met; /* the two walks have met, for the first time at frame number: */
	__u32 met_at;
	__u32 past;      /* which of them the next frame may be; */
	__u64 meet;      /* its callee's CFA, ~0: none of them */
	__u32 same_from; /* the frames from here to the one before same_to are the same */
	__u32 same_to;
	__u32 same_end; /* and at most to here */
	__u32 zero;
};

/* A callee-saved register that walk_recover() found last, so that it never searches a frame twice. */
struct walk_recovered {
	__u64 walk;  /* number of the walk that has found it */
	__u64 value; /* in frame number: */
	__u32 frame;
	__u32 zero;
};

/* What walk_recover() looks for, and where. */
struct walk_search {
	__u32 wanted;  /* enum dp_saved */
	__u32 callees; /* the frame looked at last */
	__u32 end;     /* the frame in which the value is known */
	__u32 is_found;
	__u64 found;
	struct walk_recovered recovered[WALK_RECOVERED]; /* by enum dp_saved */
};

/* The program that walk_program() runs, how that went, and its stack. */
struct walk_program {
	__u32 cell;
	__u32 outcome; /* enum dp_outcome */
	__u32 n_values;
	__u32 is_elsewhere; /* words that it reads do not lie on the stack: each by itself */
	__u64 values[DP_MAX_VALUES];
};

/*
 * The part of the stack that was read last, which lies in one page, at its place in the page:
 * the words that start at `start`, or less than n_words bytes above it. The verifier wants
 * room for a whole page behind any offset.
 */
struct walk_stack {
	__u64 start, n_words;
	__u64 reach; /* how much to read next */
	__u64 fault; /* the address that could not be read last */
	__u64 word;  /* what walk_fetch() has read */
	__u8 page[2 * DP_USER_PAGE_SIZE];
};

/*
 * What comes out: the sample being made, with its names. The kernel's frames come behind the
 * user's, and behind them its labels.
 */
struct walk_output {
	__u32 n_same; /* the outermost frames that are those of the walk before; set at the end */
	__u32 zero;
	struct dp_names names;
	struct dp_sample sample;
	__u64 frames[DP_MAX_FRAMES + DP_MAX_KERNEL_FRAMES + WALK_LABELS_CELLS];
};

/* The program's labels, and which mapping's image says where they are: see labels.h. */
struct walk_labels {
	__u32 mapping; /* 0: it has none */
	__u32 bucket;  /* number of the one that the chain at `at` began with */
	__u32 n_buckets;
	__u32 left;  /* that have not been met */
	__u64 at;    /* the list, or the bucket that is read */
	__u64 first; /* bucket */
	__u64 old;   /* and of those that come then; 0: none */
	__u32 n_old;
	__u32 size; /* of what is in `bytes` */
	struct dp_labels head;
	__u8 bytes[DP_LABELS_MAX_SIZE + WALK_LABEL_SLACK];
};

/*
 * A walk. What every frame touches comes first, in eleven cache lines. Behind it are what few
 * rules need, a page of the stack, and the sample, which is written as far as the stack is deep;
 * last comes what is found by an address or by the number of a frame.
 *
 *     bytes                    touched by     kept for the next walk
 *     0.2 K   in               each frame     number
 *     0.1 K   at               each frame
 *     0.3 K   mapped           each frame     all
 *     0.1 K   memo             each frame     all
 *     0.1 K   search, program  a few rules
 *     8 K     stack            each frame
 *     19 K    out              each frame
 *     3 K     labels           each sample
 *     208 K   trail to rules   each frame     all
 *
 * The large arrays are members of the walk itself: in a structure of their own, each access would
 * take one more instruction.
 */
struct walk {
	struct port_world world;
	struct walk_input in;
	struct walk_position at;
	struct walk_mapped mapped;
	struct walk_memo memo;
	struct walk_search search;
	struct walk_program program;
	struct walk_stack stack;
	struct walk_output out;
	struct walk_labels labels;
	struct walk_trail
		trail[2 * DP_MAX_FRAMES]; /* two sides, 0 and DP_MAX_FRAMES, each a ring */
	struct walk_cached cache[WALK_CACHE_SIZE];
	struct walk_rule rules[WALK_CACHE_SIZE]; /* of the addresses in the cache */
};

static __always_inline struct walk_trail *walk_trail_at(struct walk *w, __u32 side, __u32 at)
{
	/* Or clang sees that no bit is in both, and makes it an `or`, of which Linux 6.1 loses the bounds. */
	__u32 start = port_opaque(port_opaque(side) & DP_MAX_FRAMES);

	return &w->trail[(port_opaque(at) & (DP_MAX_FRAMES - 1)) + start];
}

/* Frame number n of this walk. */
static __always_inline struct walk_trail *walk_trail(struct walk *w, __u32 n)
{
	return walk_trail_at(w, w->memo.side, w->memo.base + n);
}

/*
 * Is the stack pointer in frame number n, which is the walk's last or next one, its callee's
 * CFA? Nearly always it is; what a rule has restored from elsewhere may not be.
 */
static __always_inline __u32 walk_is_above(struct walk *w, __u32 n)
{
	return n > 0 && walk_trail(w, n - 1)->cfa == w->at.sp;
}

/* What the callback of a loop is given. */
struct walk_ref {
	struct walk *w;
};

#endif
