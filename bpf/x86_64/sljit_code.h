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
/* SLJIT_MAX_LOCAL_SIZE: the most room of a frame */
#define SLJIT_CODE_ROOM 0x100000
#define CODE_POP_MEMORY 0x8f

/* The size of a push or pop, whose short form is `code`; 0: it is another instruction. */
static __always_inline __u32 sljit_code_moves(const struct walk_code *c, __u32 at, __u32 code)
{
	__u32 word = (__u32)code_word(c, at);

	if ((word & 0xf8) == code)
		return 1;
	return (word & 0xf8ff) == (code << 8 | 0x41) ? 2 : 0;
}

/* Reads a push. Returns 1 where there is none. */
static long sljit_code_push(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	struct walk_sljit *s = &w->sljit;
	__u32 size = sljit_code_moves(&w->code, s->ahead, 0x50);

	if (size == 0)
		return 1;
	s->frame_size += 8;
	if (code_byte(&w->code, s->ahead) == CODE_PUSH_FP)
		s->fp_below = s->frame_size;
	if (s->pc - s->at > s->ahead)
		s->made = s->frame_size;
	s->ahead += size;
	return 0;
}

PORT_GLOBAL int sljit_code_enters(struct walk *w)
{
	struct walk_ref ref = { w };
	struct walk_sljit *s;
	__u32 room;

	if (!w)
		return -1;
	s = &w->sljit;
	s->frame_size = s->made = s->fp_below = s->ahead = 0;
	if ((__u32)code_word(&w->code, 0) == 0xfa1e0ff3)
		s->ahead = 4;
	port_loop(SLJIT_CODE_SAVED, sljit_code_push, &ref);
	if (((__u32)code_word(&w->code, s->ahead) & 0xffffff) == 0xfb8948)
		s->ahead += 3;
	room = code_sub_sp(&w->code, s->ahead);
	if (room == 0 || room % 8 != 0 || room > SLJIT_CODE_ROOM)
		return -1;
	s->frame_size += room;
	s->complete = s->ahead + 1;
	return 0;
}

/* Reads a pop. Returns 1 where there is none. */
static long sljit_code_pop(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	struct walk_sljit *s = &w->sljit;
	__u32 size = sljit_code_moves(&w->code, s->ahead, 0x58);

	s->ahead += size;
	s->made += size != 0 ? 8 : 0;
	return size == 0;
}

PORT_GLOBAL int sljit_code_leaves(struct walk *w)
{
	struct walk_ref ref = { w };
	struct walk_sljit *s;

	if (!w)
		return -1;
	s = &w->sljit;
	s->ahead = s->made = 0;
	port_loop(SLJIT_CODE_SAVED, sljit_code_pop, &ref);
	if (code_byte(&w->code, s->ahead) == CODE_RET)
		return (int)s->made;
	/* A subroutine takes its return address away, into a register or memory. */
	if (s->ahead != 0 || code_byte(&w->code, 0) == CODE_POP_MEMORY)
		return (int)s->frame_size + 8;
	return (int)s->frame_size;
}

#endif
