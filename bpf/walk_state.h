/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_WALK_STATE_H
#define DP_BPF_WALK_STATE_H

/*
 * struct walk: the input of a walk, its position, what is kept from one walk to the next, and its
 * output.
 */

#include "bpf/abi.h"
#include "bpf/port.h"

/* Number of cached addresses. */
#define WALK_CACHE_BITS 10
#define WALK_CACHE_SIZE (1 << WALK_CACHE_BITS)

/* In place of dp_rule.saves: the frame was left without knowing what it saved. */
#define WALK_SAVES_UNKNOWN (~0U)

/* Room for enum dp_saved; a power of two. */
#define WALK_RECOVERED 8
DP_ASSERT(DP_N_SAVED <= WALK_RECOVERED, "each saved register has room");

/* Number of mappings whose cookies are cached; a power of two. */
#define WALK_COOKIES 8

/*
 * Bytes of the stack in one read. What is not needed costs a line of the program's memory, and one
 * of ours, for every 64 bytes.
 */
#define WALK_WINDOW 2048
#define WALK_WINDOW_APART 512 /* of the first read that lies apart from the one before, */
#define WALK_WINDOW_GAP 256   /* by more than this */
#define WALK_WINDOW_LEAST 512 /* a power of two */

/*
 * Limits of one walk. Unwind information belongs to the profiled program and may make any frame
 * expensive; while a sample is taken, its CPU does nothing else. The unit is one operation of an
 * expression, 5 to 30 ns. Each cost is at least what it takes (bench/walk_cost.c): else walks that do
 * much of one thing would take longer than others. Real programs need a third of the limit at most
 * (bench/touches.c). What is left of a stack that needs more, user space walks in a copy
 * (samples/unwinder.h), at UNWINDER_TIMES the cost.
 */
#define WALK_MAX_COST 7168
#define WALK_FREE_PAGES 64     /* of the stack */
#define WALK_COST_FRAME 4      /* that is left by walk_step() */
#define WALK_COST_PROGRAM 4    /* without its operations */
#define WALK_COST_RECOVER 4    /* of a register, without the search */
#define WALK_COST_LOOKUP 32    /* an address that is not in the cache */
#define WALK_COST_READ 22      /* of the walked process's memory, at most a page */
#define WALK_COST_WORD 10      /* of a word of it, such as a cookie */
#define WALK_COST_PEEK 6       /* of a few bytes of a runtime, near which each frame reads again */
#define WALK_COST_FAULT 100    /* more, if it cannot be read */
#define WALK_COST_URETPROBE 99 /* to find what a uretprobe replaced */

/*
 * What is read beside the walk counts as well: labels, which are few, and frames of runtimes. For these there
 * is more: 1,024 frames of Python, which an honest thread may have, take 4,096 reads, those of Perl some more.
 */
#define RUNTIME_MAX_COST (WALK_MAX_COST + 5632 * WALK_COST_PEEK)

/* The verifier requires room for a whole label at any offset. */
#define WALK_LABEL_SLACK (sizeof(struct dp_label) + 2 * (DP_LABEL_CUT + 1) + 6)
#define WALK_LABELS_CELLS ((sizeof(struct dp_labels) + DP_LABELS_MAX_SIZE) / DP_CELL_SIZE)
#define WALK_RUNTIME_CELLS                                                                         \
	((sizeof(struct dp_runtime) + DP_MAX_RUNTIME_FRAMES * sizeof(struct dp_runtime_frame)) /   \
	 DP_CELL_SIZE)
/* The values of a call that labels a sample, with their head */
#define WALK_SPAN_CELLS 32
/* Those of all probes that may label one: struct dp_calls, in whole cache lines */
#define WALK_CALLS_CELLS (8 + DP_MAX_LABEL_PROBES * WALK_SPAN_CELLS)
/* Whole cache lines, so that what follows lies in as few. */
#define WALK_RUNTIME_ROOM ((WALK_RUNTIME_CELLS + 7) / 8 * 8)

/*
 * How to leave a frame of the common form, packed: the number of its mapping; above that, how many
 * words below the return address fp is saved, 0 if it is unchanged; and whether the CFA is computed
 * from fp instead of sp.
 */
#define WALK_MAPPING_BITS 28
#define WALK_MAX_BELOW 7
#define WALK_BY_FP (1U << 31)
#define WALK_LINK(mapping, below) ((mapping) | (below) << WALK_MAPPING_BITS)
#define WALK_MAPPING(link) ((link) & ((1U << WALK_MAPPING_BITS) - 1))
#define WALK_BELOW(link) ((__u64)((link) >> WALK_MAPPING_BITS & WALK_MAX_BELOW) * 8)
DP_ASSERT(DP_MAX_MAPPINGS < 1 << WALK_MAPPING_BITS, "a link has room for any mapping");

/*
 * Entries are valid for all processes with the same memory map (struct dp_snapshot). Therefore
 * mappings are identified by their numbers in the snapshot (dp_mapping_cell()): the cells differ.
 *
 * An entry has what nearly all frames need, in half a cache line. It has a step if the rule has the
 * common form (walk_remember()).
 */
struct walk_cached {
	__u64 memory_map; /* 0: unused */
	__u64 pc;
	__u32 link;  /* number of the mapping, 0: none; the rest is only valid with a step */
	__u32 saves; /* as in struct dp_rule */
	__u32 step;  /* the CFA is the base register plus this; 0: use the rule */
	__u32 is_sp; /* the base register is sp, not fp */
};

/* A mapping's cookie (struct dp_mapping), and the last walk that has compared it with memory. */
struct walk_cookie {
	__u64 memory_map;
	__u64 walk;
	__u64 address; /* 0: no cookie */
	__u64 cookie;
	__u32 mapping;
	__u32 zero;
};

/* The part of a cache entry that few frames need, in a cache line. */
struct walk_rule {
	struct dp_rule rule;
	__u32 called; /* the instruction before the address is known to be a call */
	__u32 zero[5];
};

/*
 * A frame and how it was left, kept to find the registers that it saved, and for the next walk
 * (memo.h).
 */
struct walk_trail {
	__u64 frame; /* as it is sent */
	__u64 fp;    /* its value in the frame itself */
	__u64 cfa;
	__u32 saves; /* as in struct dp_rule */
	__u32 link;  /* 0: it cannot be followed */
};

/* The input: what to walk, and how far. The caller sets all but the last two. */
struct walk_input {
	__u64 snapshot; /* id, memory map and cell of the process's struct dp_snapshot */
	__u64 memory_map;
	__u32 snapshot_cell;
	__u32 unwind;        /* enum dp_unwind */
	__u32 max_frames;    /* at most DP_MAX_FRAMES */
	__u32 in_syscall;    /* the innermost pc is behind a system call instruction */
	struct dp_regs regs; /* of the innermost frame; see walk_position.fresh */
	__u64 trampoline;    /* return address of uretprobes in this process; 0: none */
	__u64 number;        /* of this walk, unique for this memory */
};

/* The position: n_frames frames are found, the one at pc is the next. */
struct walk_position {
	__u32 n_frames;
	__u32 method;  /* how the frame at pc was found: enum dp_method */
	__u32 fp_lost; /* 0, or how a walk that needs fp ends: enum dp_outcome */
	__u32 lands;   /* the frame at pc may be a handler: dp_rule.lands of its callee */
	__u64 pc, sp, fp;
	__u64 left_sp; /* DP_LEFT_SP */
	__u32 mapping; /* of the frame whose rule is applied; 0: none */
	__u32 cost;    /* of the walk so far: walk_is_over() */
	/* The last frame whose registers are all known: they are in walk_input.regs */
	__u32 fresh;
	__u32 n_pages; /* of the stack, read so far */
};

/* The mappings that walks have passed through. */
struct walk_mapped {
	__u32 last;         /* mapping of the last address looked up; 0: none */
	__u32 code_changed; /* a cookie in memory differs */
	__u32 n_looked_up;  /* number of addresses looked up, by all walks */
	__u32 zero;
	struct walk_cookie cookies[WALK_COOKIES]; /* by mapping number modulo WALK_COOKIES */
};

/* The previous walk, and what this one has in common with it: see memo.h. */
struct walk_memo {
	/* Where this walk's trail is: the side, and the index in it of frame number 0 */
	__u32 side, base;
	__u64 memory_map; /* of the previous walk; 0: it cannot be followed */
	__u32 unwind;
	__u32 n_trail;   /* number of its frames */
	__u32 n_past;    /* the same if this walk can follow it, else 0 */
	__u32 past_side; /* side of its trail */
	__u32 past_base;
	__u32 has_met; /* the two walks have met; the first common frame is number: */
	__u32 met_at;
	__u32 past;      /* number of the candidate for the next frame */
	__u64 meet;      /* CFA of its callee; ~0: no candidate */
	__u32 same_from; /* frames from here to the one before same_to are the same */
	__u32 same_to;
	__u32 same_end; /* limit of same_to */
	__u32 top;      /* low half of the stack pointer of the previous walk's last frame */
};

/* The last recovery of a callee-saved register, so that no frame is searched for it twice. */
struct walk_recovered {
	__u64 walk;  /* number of the walk */
	__u64 value; /* of the register in frame number: */
	__u32 frame;
	__u32 zero;
};

/* What walk_recover() searches for, and where. */
struct walk_search {
	__u32 wanted;  /* enum dp_saved */
	__u32 callees; /* the frame examined last */
	__u32 end;     /* the frame in which the value is known */
	__u32 outcome; /* enum dp_outcome; DP_WALKING: found */
	__u64 found;
	struct walk_recovered recovered[WALK_RECOVERED]; /* by enum dp_saved */
};

/* The program that walk_program() runs, its outcome and its stack. */
struct walk_program {
	__u32 cell;
	__u32 outcome; /* enum dp_outcome */
	__u32 n_values;
	__u32 is_elsewhere; /* its words are not on the stack: read each of them singly */
	__u64 values[DP_MAX_VALUES];
};

/*
 * The part of the stack that was read last: the words that start at `start`, or less than n_words
 * bytes above it. It is always at the same place, so that all reads of a walk fill the same few
 * cache lines. The verifier requires room for a word at any offset in a page.
 */
struct walk_stack {
	__u64 start, n_words;
	__u64 fault; /* the last address that could not be read */
	__u64 word;  /* result of walk_fetch() */
	__u64 zeros[4];
	__u8 page[DP_USER_PAGE_SIZE + 64];
};
DP_ASSERT(WALK_WINDOW_LEAST >= 64 + 256 + sizeof(__u64),
	  "one read has a word and what walk_fetch() reads below it");

/*
 * The output: the sample, with its names. The kernel's frames follow the user's, then labels and
 * a runtime's frames.
 */
struct walk_output {
	__u64 zeros[2];
	__u32 n_same; /* number of outermost frames in common with the previous walk; set at the
	               * end */
	__u32 span;   /* the calls that label the sample: spans.bpf.h */
	struct dp_names names;
	struct dp_sample sample;
	__u64 frames[DP_MAX_FRAMES + DP_MAX_KERNEL_FRAMES + WALK_LABELS_CELLS + WALK_CALLS_CELLS +
		     WALK_RUNTIME_ROOM];
};

/* The program's labels, and the mapping whose image says where they are: see labels.h. */
struct walk_labels {
	__u32 mapping; /* 0: none */
	__u32 bucket;  /* number of the bucket that began the chain of `at` */
	__u32 n_buckets;
	__u32 left;  /* entries not found yet */
	__u64 at;    /* the list, or the current bucket */
	__u64 first; /* address of the first bucket */
	__u64 old;   /* of the old buckets, which come next; 0: none */
	__u32 n_old;
	__u32 size; /* used part of `bytes` */
	union {
		struct dp_labels head;
		struct dp_context context; /* what the bytes are then: see context.h */
	};
	__u8 bytes[DP_LABELS_MAX_SIZE + WALK_LABEL_SLACK];
};

/* A thread-local variable: see tls.h. */
struct walk_tls {
	struct dp_tls at;
	__u64 bias; /* of its file */
	__u64 address;
	__u64 words[3]; /* the module's number, the offset in its block, the blocks' generation */
	__u64 blocks;   /* the list of all modules' blocks: see tls_seek_block() */
	__u64 first[2];
	__u64 n_blocks;
	__u64 entry; /* where it has the module's block */
};

/* Code whose frame may be incomplete: its next bytes. */
#define FRAME_CODE_SIZE 64
struct walk_code {
	__u32 frame_size; /* of its complete frame, in bytes */
	__u32 ahead;      /* bytes until the frame is complete; 0: it is, or is being left */
	__u32 pushes;     /* fp is pushed so many bytes ahead, less one; 0: it is not */
	__u32 state;
	__u8 bytes[FRAME_CODE_SIZE + sizeof(__u64)]; /* a word may be read at any offset */
};

/* The function of sljit at an address: see sljit.h. */
struct walk_sljit {
	__u64 pc;
	__u64 at, size;   /* its block, then itself; the size of the block before */
	__u64 ra_at;      /* where its return address is */
	__u64 fp_at;      /* and the fp that it has saved; 0: none */
	__u32 found;      /* the block is one of sljit's */
	__u32 complete;   /* from which distance from its beginning on its frame is complete */
	__u32 frame_size; /* of that, in bytes, without the return address */
	__u32 made;       /* of it, at pc, if that is in front of `complete` */
	__u32 fp_below;   /* so many bytes below the return address it saves fp; 0: it does not */
	__u32 ahead;      /* while instructions are read: where the next one is */
	struct {
		__u64 size;     /* 0: it is free */
		__u64 previous; /* the size of the block before; 0: it is the first one */
		__u64 links[2];
		__u64 free_size;
	} block;
	struct {
		__u64 size, previous;
	} next;
};

/* The caller of a frame of JIT code: see jit.h. Not on the program's stack, which has no room for it. */
struct walk_jit {
	__u64 pc, fp;
	__u64 fp_at; /* where that was saved; 0: nowhere */
	__u64 bytes; /* in front of pc */
};

/* The piece of HotSpot's code at an address: see hotspot.h. */
struct walk_hotspot {
	__u64 start, map; /* of its heap */
	__u64 segment;
	__u64 at, code; /* addresses of its blob and of its first instruction */
	__u32 found;
	__u32 frame_size; /* in words */
	__s32 complete;   /* from which distance from `code` on the frame is complete */
	__u32 is_caller;  /* the frame to leave was called from it */
	__u64 walk;       /* the number of the walk that is in the heap: see thaw.h */
	__u64 entry;      /* where it goes on on the stack, behind what returns to */
	__u64 outermost;
	__u64 chunk;
	__u64 is_narrow; /* the reference to the chunk has four bytes */
	/* What is read: not on the program's stack, which has no room for it */
	__u64 cfa, method, constant, bytecode, word;
	__u8 blob[DP_HOTSPOT_BLOB_SIZE + sizeof(__u64)];
};

/* The frame of V8 that is looked at: see v8.h. */
struct walk_v8 {
	struct dp_v8 layout;
	__u64 shared, offset;
	__u8 bytes[2 * DP_V8_READ_SIZE]; /* a word may be read at any offset */
};

/* Perl's contexts, and what is known of the next function: see perl.h. */
struct walk_perl {
	struct dp_perl layout;
	__u64 stack;     /* the next one; 0: there is none */
	__u64 first;     /* of this one, the outermost context */
	__u64 statement; /* of the next function; 0: it is not known */
	__u64 op;        /* that runs, until the innermost function is found; or 0 */
	__u64 start;     /* the function's first op */
	__u32 left;      /* contexts of this stack, */
	__u32 last;      /* the index of its innermost one, */
	__u32 last_sub;  /* and that of a function that is complete */
	__u32 saved;
	__u32 kind; /* of the context that was read last */
	__u32 zero;
	/* What is read: a word may be read at any offset */
	__u8 context[2 * DP_PERL_MAX_READ];
	__u8 bytes[2 * DP_PERL_MAX_READ];
};

/* Bytes that are read around a frame at once; a power of two. */
#define WALK_RUNTIME_READ 512

/* Code objects that are remembered while a thread's frames are read, as recursion meets them again; a power of two. */
#define WALK_PYTHON_CODES 32

/* What python_add() has read of one. */
struct walk_python_code {
	__u64 address;
	__u64 tag;
	__u32 reading; /* when: see walk_runtime */
	__u32 is_own;  /* the interpreter's */
};

/* The frames of a runtime, and the mapping whose image describes it: see runtime.h. */
struct walk_runtime {
	__u32 mapping;  /* 0: none */
	__u32 other;    /* another one's */
	__u32 first;    /* where its frames begin */
	__u32 is_short; /* no more is read than WALK_MAX_COST allows */
	__u64 bias;
	__u64 self;        /* the thread's pthread_self() */
	__u64 interpreter; /* the next one to search */
	__u64 at;          /* the thread's state, then the next frame; 0: none */
	__u64 innermost;   /* frame of Python; 0: none */
	union {
		__u64 below; /* the first frame of the loop that called the innermost one */
		__u64 end;   /* of an array of frames */
	};
	__u64 is_checked; /* whether the innermost loop's frames lead there */
	__u64 file, hash; /* of a function in a list: its file, whose name has this hash, */
	__u64 text_size;
	__u32 n_steps; /* its instructions, */
	__u32 line;    /* and the line that it is in */
	union {
		struct dp_python python;
		struct dp_chain chain;
	};
	__u64 read_at; /* address of the bytes that were read last, around a frame, */
	__u32 n_read;  /* and their number; 0: none are valid */
	__u32 offset;  /* of the frame in there */
	__u32 reading; /* counts the threads whose frames were read */
	__u32 zero;
	struct walk_python_code codes[WALK_PYTHON_CODES];
	__u8 code[DP_PYTHON_CODE_READ + sizeof(__u64)];
	/* A word may begin at any of the bytes; and the structure fills its cache lines. */
	__u8 bytes[WALK_RUNTIME_READ + 32];
	struct dp_runtime head;
	struct dp_runtime_frame frames[DP_MAX_RUNTIME_FRAMES];
};

DP_ASSERT(__builtin_offsetof(struct walk_runtime, frames) ==
		  __builtin_offsetof(struct walk_runtime, head) + sizeof(struct dp_runtime),
	  "the frames follow their head");

/*
 * A walk. Members that every frame uses come first, in eleven cache lines. Then come what few rules
 * need, a page of the stack, and the sample, of which a walk writes as much as it has frames. The
 * arrays that are indexed by address or frame number come last.
 *
 *     bytes                    used by        kept for the next walk
 *     0.2 K   in               each frame     number
 *     0.1 K   at               each frame
 *     0.3 K   mapped           each frame     all
 *     0.1 K   memo             each frame     all
 *     0.3 K   search, program  a few rules    recovered
 *     4 K     stack            each frame
 *     44 K    out              each frame
 *     3 K     labels           each sample
 *     224 K   trail to rules   each frame     all
 *     25 K    runtime          samples of one
 *     0.6 K   jit to v8        JIT code
 *     0.1 K   tls              runtimes, contexts
 *     0.7 K   perl             samples of it
 *
 * The large arrays are direct members: in a structure of their own, each access would take one more
 * instruction.
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
	struct walk_runtime runtime;
	struct walk_jit jit;
	struct walk_hotspot hotspot;
	struct walk_sljit sljit;
	struct walk_code code;
	struct walk_v8 v8;
	struct walk_tls tls;
	struct walk_perl perl;
	struct dp_regs
		innermost; /* the registers, if those in `in` are of a frame that a signal interrupted */
};

#define WALK_IS_LINE(member) (__builtin_offsetof(struct walk, member) % 64 == 0)
DP_ASSERT(WALK_IS_LINE(stack.page) && WALK_IS_LINE(out.frames) && WALK_IS_LINE(trail) &&
		  WALK_IS_LINE(cache) && WALK_IS_LINE(rules) && sizeof(struct walk_rule) == 64,
	  "what is read, written or looked up lies in as few cache lines as can be");

static __always_inline struct walk_trail *walk_trail_at(struct walk *w, __u32 side, __u32 at)
{
	/*
	 * Otherwise clang sees that the values share no bit and makes it an `or`, whose bounds
	 * Linux 6.1 loses.
	 */
	__u32 start = port_opaque(port_opaque(side) & DP_MAX_FRAMES);

	return &w->trail[(port_opaque(at) & (DP_MAX_FRAMES - 1)) + start];
}

/* Frame number n of this walk. */
static __always_inline struct walk_trail *walk_trail(struct walk *w, __u32 n)
{
	return walk_trail_at(w, w->memo.side, w->memo.base + n);
}

/* True if the walk has cost too much to continue. */
static __always_inline __u32 walk_is_over(const struct walk *w)
{
	return w->at.cost > port_max_cost(w, WALK_MAX_COST);
}

/* True if the frames of runtimes have cost too much to continue. */
static __always_inline __u32 runtime_is_over(const struct walk *w)
{
	return w->at.cost > (w->runtime.is_short ? WALK_MAX_COST : RUNTIME_MAX_COST);
}

/* Charges for so many reads at once, of labels, or of which one that fails is the last. */
static __always_inline void walk_charge(struct walk *w, __u32 n_reads)
{
	w->at.cost += n_reads * WALK_COST_PEEK;
}

/* Reads what no rule of the walk needs, and charges for it. */
static __always_inline int walk_peek(struct walk *w, void *dst, __u32 size, __u64 address)
{
	w->at.cost += WALK_COST_PEEK;
	if (port_read_user(w, dst, size, address) == 0)
		return 0;
	w->at.cost += WALK_COST_FAULT;
	return -1;
}

/*
 * True if the stack pointer of frame number n, which is the walk's last or next one, is its
 * callee's CFA. It may differ only if a rule has restored it from elsewhere.
 */
static __always_inline __u32 walk_is_above(struct walk *w, __u32 n)
{
	return n > 0 && walk_trail(w, n - 1)->cfa == w->at.sp;
}

/* Context of a loop's callback. */
struct walk_ref {
	struct walk *w;
};

#endif
