/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_X86_64_FRAME_CODE_H
#define DP_BPF_X86_64_FRAME_CODE_H

/*
 * The instructions by which a JIT compiler's code makes and leaves its frame: see frame_code.h.
 *
 *     [mov %eax, -n(%rsp)]           touches the stack
 *     push %rbp; [mov %rsp, %rbp]    or, where nothing is touched,
 *     sub $n, %rsp                   sub $n + 8, %rsp; mov %rbp, n(%rsp)
 *     ...
 *     [leave | add $n, %rsp; pop %rbp]
 *     [cmp n(%r15), %rsp; ja stub]   is there a safepoint to be reached? Before JDK 16, reads a page:
 *     [mov n(%r15), %r10; test %eax, (%r10) | test %eax, n(%rip)]
 *     ret
 */

#include "bpf/walk_state.h"

#define CODE_PUSH_FP 0x55
#define CODE_POP_FP 0x5d
#define CODE_RET 0xc3

/* Bytes that a frame has beside those that are subtracted: the return address, and also fp. */
#define CODE_BESIDE_RA 8
#define CODE_BESIDE_FP 16

/* The size that `sub $n, %rsp` at this place subtracts; 0: it is another instruction. */
static __always_inline __u32 code_sub_sp(const struct walk_code *c, __u32 at)
{
	__u32 word = (__u32)code_word(c, at);

	if ((word & 0xffffff) == 0xec8348)
		return word >> 24;
	if ((word & 0xffffff) == 0xec8148)
		return (__u32)code_word(c, at + 3);
	return 0;
}

static __always_inline __u32 code_byte(const struct walk_code *c, __u32 at)
{
	return (__u32)code_word(c, at) & 255;
}

/* Looks for the instruction that makes the frame, `i` bytes ahead. Returns 1 to end the search. */
static long code_seek(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	struct walk_code *c = &w->code;
	__u32 size;

	if (i >= c->ahead)
		return 1;
	if (code_byte(c, i) == CODE_PUSH_FP) {
		/* Only if it is followed by what it belongs to. */
		c->pushes = i + 1;
		return 0;
	}
	size = code_sub_sp(c, i);
	if (size == 0 ||
	    (size + CODE_BESIDE_RA != c->frame_size && size + CODE_BESIDE_FP != c->frame_size))
		return 0;
	/* push or push and mov, right in front of it */
	if (size + CODE_BESIDE_RA == c->frame_size || (c->pushes == i && i > 0) ||
	    (i >= 4 && c->pushes == i - 3))
		c->state = FRAME_CODE_NONE;
	else
		c->state = FRAME_CODE_PUSHED;
	return 1;
}

/* True if the function returns from here on, without changing the stack before. */
static __always_inline __u32 code_returns(const struct walk_code *c, __u32 at)
{
	__u32 first = (__u32)code_word(c, at);

	if ((first & 0xffffff) == 0x673b49) /* cmp n(%r15), %rsp, with a byte */
		at += 4;
	else if ((first & 0xffffff) == 0xa73b49) /* with four bytes */
		at += 7;
	else if ((first & 0xffffff) == 0x578b4d) /* mov n(%r15), %r10, and */
		at += 4;
	else if ((first & 0xffffff) == 0x978b4d)
		at += 7;
	first = (__u32)code_word(c, at);
	if ((first & 0xffffff) == 0x028541) /* test %eax, (%r10) */
		at += 3;
	else if ((first & 0xffff) == 0x870f ||
		 (first & 0xffff) == 0x0585) /* ja; test %eax, n(%rip) */
		at += 6;
	return code_byte(c, at) == CODE_RET;
}

/* Whether fp is about to be saved in a frame that is otherwise complete. */
static __always_inline __u32 code_saves_fp(const struct walk_code *c)
{
	__u32 first = (__u32)code_word(c, 0) & 0xffffff;

	return first == 0x6c8948 || first == 0xac8948;
}

PORT_GLOBAL int frame_code_state(struct walk *w)
{
	struct walk_ref ref = { w };
	struct walk_code *c;

	if (!w)
		return FRAME_CODE_COMPLETE;
	c = &w->code;
	c->state = FRAME_CODE_COMPLETE;
	c->pushes = 0;
	if (c->ahead > 0) {
		port_loop(FRAME_CODE_SIZE, code_seek, &ref);
		if (c->state == FRAME_CODE_COMPLETE && code_saves_fp(c))
			c->state = FRAME_CODE_UNSAVED;
		return (int)c->state;
	}
	if (code_byte(c, 0) == CODE_POP_FP && code_returns(c, 1))
		return FRAME_CODE_PUSHED;
	return code_returns(c, 0) ? FRAME_CODE_NONE : FRAME_CODE_COMPLETE;
}

#endif
