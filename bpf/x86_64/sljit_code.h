/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_X86_64_SLJIT_CODE_H
#define DP_BPF_X86_64_SLJIT_CODE_H

/*
 * See sljit_code.h:
 *
 *     [endbr64]
 *     push %rbx; push %r15; ...; push %rbp     what it saves; rbp need not be the last
 *     [mov %rdi, %rbx]                         its argument
 *     sub $n, %rsp
 *     ...
 *     add $n, %rsp; pop %rbp; ...; pop %rbx; ret
 *
 * Between them, only subroutines change the stack pointer:
 *
 *     pop ...                      the return address
 *     ...
 *     push ...; ret
 */

#include "bpf/walk_state.h"

/* rbx, rbp, r12 to r15, and one more */
#define SLJIT_CODE_SAVED 7
#define CODE_POP_MEMORY 0x8f

/* The size of a push or pop, whose short form is `code`; 0: it is another instruction. */
static __always_inline __u32 sljit_code_moves(const struct walk_code *c, __u32 at, __u32 code)
{
	__u32 word = (__u32)code_word(c, at);

	if ((word & 0xf8) == code)
		return 1;
	return (word & 0xf8ff) == (code << 8 | 0x41) ? 2 : 0;
}

PORT_GLOBAL int sljit_code_enters(struct walk *w)
{
	struct walk_sljit *s;
	struct walk_code *c;
	__u32 at = 0, size, room;

	if (!w)
		return -1;
	s = &w->sljit;
	c = &w->code;
	s->frame_size = s->made = s->fp_below = 0;
	if ((__u32)code_word(c, 0) == 0xfa1e0ff3)
		at = 4;
	for (__u32 i = 0; i < SLJIT_CODE_SAVED; i++) {
		size = sljit_code_moves(c, at, 0x50);
		if (size == 0)
			break;
		s->frame_size += 8;
		if (code_byte(c, at) == CODE_PUSH_FP)
			s->fp_below = s->frame_size;
		if (s->pc - s->at > at)
			s->made = s->frame_size;
		at += size;
	}
	if (((__u32)code_word(c, at) & 0xffffff) == 0xfb8948)
		at += 3;
	room = code_sub_sp(c, at);
	if (room == 0 || room % 8 != 0)
		return -1;
	s->frame_size += room;
	s->complete = at + 1;
	return 0;
}

PORT_GLOBAL int sljit_code_leaves(struct walk *w)
{
	__u32 at = 0, n = 0, size;

	if (!w)
		return -1;
	for (__u32 i = 0; i < SLJIT_CODE_SAVED; i++) {
		size = sljit_code_moves(&w->code, at, 0x58);
		if (size == 0)
			break;
		n += 8;
		at += size;
	}
	if (code_byte(&w->code, at) == CODE_RET)
		return (int)n;
	/* A subroutine takes its return address away, into a register or memory. */
	n = at != 0 || code_byte(&w->code, 0) == CODE_POP_MEMORY ? 8 : 0;
	return (int)(w->sljit.frame_size + n);
}

#endif
