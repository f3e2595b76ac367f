/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_IMAGE_LAYOUT_H
#define DP_BPF_IMAGE_LAYOUT_H

/*
 * The image of one binary's unwind information: what user space packs, and the
 * kernel searches. Part of abi.h, which has the rules that it packs.
 */

/*
 * Changes whenever the layout of an image does, or what is known of code: images are kept
 * on disk.
 */
#define DP_IMAGE_VERSION 8

/*
 * Rows of an image are grouped by pages of its address space, and in them by
 * blocks, which are so short that none has more than DP_BLOCK_ROWS rows.
 */
#define DP_PAGE_BITS 13
#define DP_PAGE_SIZE (1 << DP_PAGE_BITS)
#define DP_MIN_BLOCK_BITS 5
#define DP_MAX_BLOCKS (DP_PAGE_SIZE >> DP_MIN_BLOCK_BITS)
#define DP_BLOCK_ROWS 48

/*
 * Nearly all rules are alike: the CFA is sp or fp plus a multiple of 8, the return address is
 * where a call puts it, or close to it, and registers lie in slots further down. An image keeps
 * each rule as one word,
 *
 *   63   60 59        30 29   24 23                2 1    0
 *   +------+------------+-------+------------------+------+
 *   | ra   | saves      | fp    | n                | form |
 *   +------+------------+-------+------------------+------+
 *
 * and those that are not like this as a number of a dp_rule.
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
 * Where the return address is: DP_N_RA places, which the architecture has. Where a call
 * pushes it, there is one, DP_RA_CALL, and a word's bits from 60 on are 0. Where a call puts it
 * into a register, which functions save, as on arm64, the others would say
 *
 *   1        in the word above the one in which fp is saved: a frame record (AAPCS64 6.4.6)
 *   2 to 15  at CFA - 8 ra: the register is saved without fp
 *
 * and DP_RA_CALL that it still is in the register, as in a leaf. If it is saved elsewhere, or is
 * signed, the rule is a dp_rule.
 */
enum dp_ra {
	DP_RA_CALL, /* DP_CALL_RA: where a call puts it */
};

#define DP_WORD_RA_SHIFT 60

/*
 * Rows are written as differences. A DwarfDelta is a byte: in its low half how
 * many bytes of code are between the row before (or the block's start) and this
 * one, in its high half which rule comes after that of the row before. What
 * does not fit into a half follows, first of the distance, then of the rule.
 */
enum dwarf_delta_distance {
	/* 0 to 13: 1 to 14 */
	DWARF_DELTA_BYTE = 14, /* 15 and the byte that follows */
	DWARF_DELTA_WORD = 15, /* the two bytes that follow, low byte first */
};

enum dwarf_delta_rule {
	/* 0 to 13: a successor of the rule before, by the image's table */
	DWARF_DELTA_NUMBER = 14,  /* the two bytes that follow are its state, low byte first */
	DWARF_DELTA_PADDING = 15, /* none, up to the next multiple of 16; from there on, the first
				     successor of none: the function ends, and one begins */
};

/* No row, and none follows in this block: padding that has no DWARF_DELTA_WORD. */
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
#define DP_STATE_NONE 0 /* the rule's that is none */

#define DWARF_DELTA_ALIGN 16
#define DWARF_DELTA_MAX_SIZE 5

/*
 * One page of an image's address space, divided into blocks of equal length.
 * Its data starts with an anchor for each block, and of one more the first
 * byte; the rows follow. A row at a block's start is no delta but its state.
 */
struct dp_page {
	__u32 data;      /* bytes from the image's start; 0: `state` holds in all of the page */
	__u16 state;     /* of the rule in force at the page's start */
	__u8 block_bits; /* a block has 1 << block_bits bytes of code */
	__u8 stride;     /* see struct dp_anchor */
};

/* What holds at a block's start. Its rows end where those of the next one start. */
struct dp_anchor {
	__u8 at;    /* block number n has its rows at byte at + n * stride of the page's */
	__u8 start; /* index of its state in dp_image.starts, or DP_START_APART */
};

#define DP_START_APART 255 /* the state's two bytes are in front of the block's rows */
#define DP_BLOCK_MAX_SIZE (2 + DP_BLOCK_ROWS * DWARF_DELTA_MAX_SIZE)

/*
 * How a program keeps the labels of what it is doing: see dp_image.labels.
 *
 *   X(enumerator, word)
 */
#define DP_LABELS_FORMS(X)                                                                         \
	/* it keeps none, or nobody knows how */                                                   \
	X(NONE, "none")                                                                            \
	/* a pointer to a map[string]string of Go's, up to Go 1.23 */                              \
	X(GO_MAP, "go_map")                                                                        \
	/* a []struct{ key, value string }, since Go 1.24 */                                       \
	X(GO_LIST, "go_list")

#define X(name, word) DP_LABELS_##name,
enum dp_labels_form { DP_LABELS_FORMS(X) DP_N_LABELS_FORMS };
#undef X

/*
 * The image of one binary. It holds no pointers, only distances from its own
 * start, so that it can be copied anywhere. An image that is larger than a
 * segment starts at a segment's start; what is in front of the pages then lies
 * in that segment, and the builder keeps the data of a page together.
 */
struct dp_image {
	__u64 base; /* address of the first page, in the file's own address space */
	__u32 n_cells;
	__u32 n_pages;
	__u32 n_rules;
	/* Where the parts start, in cells */
	__u32 rules;  /* a word for each */
	__u32 full;   /* struct dp_rule[] */
	__u32 saves;  /* struct dp_saves[] */
	__u32 states; /* __u16[] */
	__u32 pages;  /* struct dp_page[] */
	__u32 programs;
	__u32 starts; /* __u16[]: the states that blocks start with most often */
	/* With a form, a program, from `programs` on: the address of a thread's labels now, or 0 */
	__u32 labels;
	__u32 labels_form; /* enum dp_labels_form */
};

DP_ASSERT(1 << DP_MIN_BLOCK_BITS <= DP_BLOCK_ROWS, "a block can always be short enough");
DP_ASSERT(sizeof(struct dp_anchor) == 2, "anchors lie close");
DP_ASSERT(DP_WORD_SAVES_SHIFT + DP_N_SAVED * DP_SLOT_BITS <= DP_WORD_RA_SHIFT,
	  "a rule fits a word");
DP_ASSERT(DP_N_RA <= 1 << (64 - DP_WORD_RA_SHIFT), "and so does the place of its return address");
DP_ASSERT(DP_BLOCK_MAX_SIZE <= 255, "with the longest block as stride, anchors reach all");
DP_ASSERT(sizeof(struct dp_page) == 8, "dp_page is one cell");
DP_ASSERT(sizeof(struct dp_image) == 56, "dp_image is seven cells");

#endif
