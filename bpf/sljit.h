/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_SLJIT_H
#define DP_BPF_SLJIT_H

/*
 * Leaves functions that sljit has made, such as those of PCRE2's regular expressions: they have
 * neither unwind information nor a frame pointer. The blocks of its allocator (sljitExecAllocator.c)
 * say where one begins, and its first instructions, how large its frame is. A frame is left only to
 * where a call is. What is read need not make sense: searches are bounded.
 *
 * A block is taken for one function, as PCRE2's are, which C has called: code that returns into its
 * own block is another's, but for subroutines.
 */

#include "bpf/frame_code.h"
#include "bpf/jit.h"
#include "bpf/sljit_code.h"

/*
 * Blocks are in chunks of multiples of that size, nearly always one. Linux maps each next to the one
 * before, if there is room, so that a mapping has several. What is behind the first 64 KiB of a larger
 * chunk is not found.
 */
#define SLJIT_CHUNK 0x10000ULL
/* The most blocks of a chunk to look at. Most regular expressions take about a thousand bytes. */
#define SLJIT_HOPS 256
/* The smallest block. What ends a chunk has the size 1. */
#define SLJIT_BLOCK 64
#define SLJIT_HEADER 16

/* True if the block behind the one at s->at knows its size: other memory hardly looks like this. */
static __always_inline int sljit_is_followed(struct walk *w)
{
	struct walk_sljit *s = &w->sljit;

	return jit_peek(w, &s->next, sizeof(s->next), s->at + s->size) == 0 &&
	       s->next.previous == s->size;
}

/* Goes to the chunk's next block. Returns 1 at the one with s->pc, or where the search ends. */
static long sljit_hop(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	struct walk_sljit *s = &w->sljit;

	if (jit_peek(w, &s->block, sizeof(s->block), s->at) < 0 || s->block.previous != s->size)
		return 1;
	s->size = s->block.size != 0 ? s->block.size : s->block.free_size;
	if (s->size < SLJIT_BLOCK)
		return 1;
	if (s->pc - s->at < s->size) {
		s->found = s->block.size != 0 && sljit_is_followed(w);
		return 1;
	}
	s->at += s->size;
	return 0;
}

/* Finds the function with the address s->pc. Negative: there is none. */
static __always_inline int sljit_find(struct walk *w)
{
	const struct dp_mapping *m =
		port_pool(w, dp_mapping_cell(w->in.snapshot_cell, w->at.mapping));
	struct walk_sljit *s = &w->sljit;
	struct walk_ref ref = { w };

	if (!m || s->pc - m->start >= m->end - m->start)
		return -1;
	s->at = m->start + ((s->pc - m->start) & ~(SLJIT_CHUNK - 1));
	s->size = 0;
	port_loop(SLJIT_HOPS, sljit_hop, &ref);
	s->at += SLJIT_HEADER;
	if (!s->found || s->pc < s->at || jit_peek(w, w->code.bytes, FRAME_CODE_SIZE, s->at) < 0)
		return -1;
	return sljit_code_enters(w);
}

/* How many bytes are below the return address of the frame at w->at.pc. Negative: unknown. */
static __always_inline int sljit_size(struct walk *w)
{
	struct walk_sljit *s = &w->sljit;

	if (DP_METHOD_IS_CALLER(w->at.method))
		return (int)s->frame_size;
	if (s->pc - s->at < s->complete)
		return (int)s->made;
	if (jit_peek(w, w->code.bytes, FRAME_CODE_SIZE, s->pc) < 0)
		return -1;
	return sljit_code_leaves(w);
}

/* True if the word at s->ra_at is a return address that the function can have. */
static __always_inline int sljit_is_return(struct walk *w)
{
	struct walk_sljit *s = &w->sljit;

	if (!jit_is_return(w, s->ra_at))
		return 0;
	/* Only a subroutine that is about to return has a caller there, and nothing below it. */
	return s->ra_at == w->at.sp || w->jit.pc - s->at >= s->size;
}

/*
 * Leaves the frame at w->at.pc. Returns an enum dp_outcome; DP_NO_TABLE: it is not sljit's, or
 * cannot be left. If it is sljit's, w->sljit.found is set, and fp does not point to a frame.
 */
PORT_GLOBAL int walk_sljit(struct walk *w)
{
	struct walk_sljit *s;
	int size;

	if (!w)
		return DP_NO_TABLE;
	s = &w->sljit;
	s->found = 0;
	s->pc = w->at.pc - (DP_METHOD_IS_CALLER(w->at.method) ? 1 : 0);
	if (sljit_find(w) < 0)
		return DP_NO_TABLE;
	size = sljit_size(w);
	s->ra_at = w->at.sp + (__u32)size;
	if (size < 0 || !sljit_is_return(w))
		return DP_NO_TABLE;
	s->fp_at = s->ra_at - s->fp_below;
	if (s->fp_below == 0 || s->fp_at < w->at.sp)
		s->fp_at = 0;
	return jit_leave(w, DP_FRAME_CFA(s->ra_at), s->ra_at, s->fp_at);
}

#endif
