/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_IMAGE_LAYOUT_H
#define DP_BPF_IMAGE_LAYOUT_H

/*
 * The image of one binary's unwind information, which user space builds and the kernel searches.
 * Part of abi.h, which has the rules.
 */

/*
 * Changes with the layout of images and with what is known of code, because images are kept on
 * disk.
 */
#define DP_IMAGE_VERSION 21

/*
 * Rows of an image are grouped by pages of its address space, and within a page by blocks, short
 * enough that none has more than DP_BLOCK_ROWS rows.
 */
#define DP_PAGE_BITS 13
#define DP_PAGE_SIZE (1 << DP_PAGE_BITS)
#define DP_MIN_BLOCK_BITS 5
#define DP_MAX_BLOCKS (DP_PAGE_SIZE >> DP_MIN_BLOCK_BITS)
#define DP_BLOCK_ROWS 48

/*
 * Nearly all rules are similar: the CFA is sp or fp plus a multiple of 8, the return address is
 * where a call puts it, or nearby, and registers are saved in slots below. An image stores such a
 * rule as one word,
 *
 *   63   60 59        30 29   24 23                2 1    0
 *   +------+------------+-------+------------------+------+
 *   | ra   | saves      | fp    | n                | form |
 *   +------+------------+-------+------------------+------+
 *
 * and any other rule as the number of a dp_rule.
 */
enum dp_form {
	DP_FORM_FULL, /* dp_rule number n */
	DP_FORM_SP,   /* CFA = sp + 8 n; fp and saves are slots */
	DP_FORM_FP,   /* CFA = fp + 8 n */
};

#define DP_FORM_BITS 2
#define DP_WORD_N_BITS 22
#define DP_WORD_FP_SHIFT (DP_FORM_BITS + DP_WORD_N_BITS)
#define DP_WORD_SAVES_SHIFT (DP_WORD_FP_SHIFT + DP_SLOT_BITS)

/*
 * Where the return address is: one of DP_N_RA places, which depend on the architecture. If calls
 * push it, there is one place, DP_RA_CALL, and a word's bits from 60 on are 0. If calls put it
 * into a register that functions save, as on arm64, the others would be
 *
 *   1        in the word above the one in which fp is saved: a frame record (AAPCS64 6.4.6)
 *   2 to 15  at CFA - 8 ra: the register is saved without fp
 *
 * and DP_RA_CALL means that it is still in the register, as in a leaf. If it is saved elsewhere or
 * signed, the rule is a dp_rule.
 */
enum dp_ra {
	DP_RA_CALL, /* DP_CALL_RA: where a call puts it */
};

#define DP_WORD_RA_SHIFT 60

/*
 * Rows are stored as differences. A DwarfDelta is a byte: the low half is the distance in bytes of
 * code from the previous row (or the block's start), the high half selects the rule that follows
 * the previous row's. Values that do not fit into a half follow, first the distance, then the rule.
 */
enum dwarf_delta_distance {
	/* 0 to 13: 1 to 14 */
	DWARF_DELTA_BYTE = 14, /* 15 and the byte that follows */
	DWARF_DELTA_WORD = 15, /* the two bytes that follow, low byte first */
};

enum dwarf_delta_rule {
	/* 0 to 13: a successor of the previous rule, by the image's table */
	DWARF_DELTA_NUMBER = 14,  /* the two bytes that follow are its state, low byte first */
	DWARF_DELTA_PADDING = 15, /* no successor, up to the next multiple of 16; there, the
	                           * first successor of no rule: a function ends and the next one
	                           * begins */
};

/* Neither a row nor followed by one in this block: padding without DWARF_DELTA_WORD. */
#define DWARF_DELTA_END (DWARF_DELTA_PADDING << 4 | DWARF_DELTA_WORD)

#define DWARF_DELTA_SUCCESSORS 14

/*
 * The image's table of states has for each rule its number, and behind it the
 * states of its successors. A state is the index of such a number.
 *
 *   state            state + 1             state + 2
 *   +----------------+---------------------+---------------------+--
 *   | rule's number  | state of the rule   | of the next most    |
 *   |                | that follows most   | frequent one        |
 *   +----------------+---------------------+---------------------+--
 */
#define DP_STATE_NONE 0 /* the state of no rule */

#define DWARF_DELTA_ALIGN 16
#define DWARF_DELTA_MAX_SIZE 5

/*
 * One page of an image's address space, divided into blocks of equal length. Its data are an anchor
 * for each block, the first byte of one more, and the rows. The row at a block's start is stored as
 * a state.
 */
struct dp_page {
	__u32 data;      /* bytes from the image's start; 0: `state` holds in the whole page */
	__u16 state;     /* of the rule in force at the page's start */
	__u8 block_bits; /* a block has 1 << block_bits bytes of code */
	__u8 stride;     /* see struct dp_anchor */
};

/* The rule at a block's start. A block's rows end where the next block's start. */
struct dp_anchor {
	__u8 at;    /* the rows of block number n are at byte at + n * stride of the page's data */
	__u8 start; /* index of its state in dp_image.starts, or DP_START_APART */
};

#define DP_START_APART 255 /* the state's two bytes precede the block's rows */
#define DP_BLOCK_MAX_SIZE (2 + DP_BLOCK_ROWS * DWARF_DELTA_MAX_SIZE)

/*
 * How a program stores the labels of its current work: see dp_image.labels.
 *
 * X(enumerator, word)
 */
#define DP_LABELS_FORMS(X)                                                                         \
	/* none, or not known */                                                                   \
	X(NONE, "none")                                                                            \
	/* a pointer to Go's map[string]string, up to Go 1.23 */                                   \
	X(GO_MAP, "go_map")                                                                        \
	/* a []struct{ key, value string }, since Go 1.24 */                                       \
	X(GO_LIST, "go_list")                                                                      \
	/* a struct dp_thread_record, to which dp_image.variable leads */                          \
	X(CONTEXT, "thread_context")                                                               \
	/* a struct dp_custom_set, which dp_image.variable is, or to which it leads */             \
	X(CUSTOM_V0, "custom_labels_v0")                                                           \
	X(CUSTOM_V1, "custom_labels_v1")

#define X(name, word) DP_LABELS_##name,
enum dp_labels_form { DP_LABELS_FORMS(X) DP_N_LABELS_FORMS };
#undef X

/* Sets of forms, and whether one has a variable in place of a program: the form of a thread. */
#define DP_LABELS_GO (1U << DP_LABELS_GO_MAP | 1U << DP_LABELS_GO_LIST)
#define DP_LABELS_CUSTOM (1U << DP_LABELS_CUSTOM_V0 | 1U << DP_LABELS_CUSTOM_V1)
#define DP_LABELS_OF_THREADS (1U << DP_LABELS_CONTEXT | DP_LABELS_CUSTOM)
#define DP_LABELS_IN_VARIABLE(form) ((form) >= DP_LABELS_CONTEXT)

/*
 * The image of one binary. It has no pointers, only distances from its start, so it can be copied
 * anywhere. An image larger than a segment starts at a segment's start; everything before the pages
 * is then in that segment, and no page's data crosses a segment boundary.
 */
struct dp_image {
	__u64 base; /* address of the first page, in the file's own address space */
	__u32 n_cells;
	__u32 n_pages;
	__u32 n_rules;
	/* Offsets of the parts, in cells */
	__u32 rules;  /* a word for each */
	__u32 full;   /* struct dp_rule[] */
	__u32 saves;  /* struct dp_saves[] */
	__u32 states; /* __u16[] */
	__u32 pages;  /* struct dp_page[] */
	__u32 programs;
	__u32 starts; /* __u16[]: the most frequent states at block starts */
	/*
	 * With a form of Go: offset of a program, in cells from `programs`, whose value is the address
	 * of the thread's labels; that value is 0 if it has none. With other forms unused: 0.
	 */
	__u32 labels;
	__u8 labels_form;  /* enum dp_labels_form */
	__u8 other_labels; /* forms that the file has, too, a bit for each: they are not read */
	/* enum dp_runtime_kind; of a known one, a struct dp_runtime_image follows */
	__u16 runtime_kind;
	struct dp_tls variable; /* if DP_LABELS_IN_VARIABLE(); otherwise all 0 */
};

DP_ASSERT(1 << DP_MIN_BLOCK_BITS <= DP_BLOCK_ROWS, "a block can always be short enough");
DP_ASSERT(DP_N_LABELS_FORMS <= 8, "a byte has a bit for each form");
DP_ASSERT(sizeof(struct dp_anchor) == 2, "anchors lie close");
DP_ASSERT(DP_WORD_SAVES_SHIFT + DP_N_SAVED * DP_SLOT_BITS <= DP_WORD_RA_SHIFT,
	  "a rule fits a word");
DP_ASSERT(DP_N_RA <= 1 << (64 - DP_WORD_RA_SHIFT), "and so does the place of its return address");
DP_ASSERT(DP_BLOCK_MAX_SIZE <= 255, "with the longest block as stride, anchors reach all");
DP_ASSERT(sizeof(struct dp_page) == 8, "dp_page is one cell");
DP_ASSERT(sizeof(struct dp_image) == 72, "dp_image is nine cells");

#endif
