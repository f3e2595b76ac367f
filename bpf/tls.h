/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_TLS_H
#define DP_BPF_TLS_H

/*
 * Finds a thread-local variable of the interrupted thread (struct dp_tls). Blocks of modules are found
 * as glibc keeps them (sysdeps/generic/dl-dtv.h, dl-tlsdesc.h of the architecture), or musl
 * (src/env/__init_tls.c, ldso/dynlink.c).
 */

#include "bpf/walk_state.h"

/*
 * glibc's dtv_t: the address of a block, and what to free. That of number 0 has the generation of all,
 * and 0; in front of it is their number. In musl's list, that is number 0, and addresses alone follow.
 */
#define TLS_BLOCK_SIZE 16
#define TLS_PLAIN_SIZE sizeof(__u64)
/* In place of an address: the thread has not used the block yet (TLS_DTV_UNALLOCATED). */
#define TLS_NO_BLOCK (~0ULL)

/*
 * Sets w->tls.entry to where the address of the block of module number words[0] is. The list may be
 * shorter than the number, or older than the module: then the thread has not used it. Results as below.
 */
static __always_inline int tls_seek_block(struct walk *w)
{
	struct walk_tls *t = &w->tls;

	if (port_read_user(w, t->first, sizeof(t->first), t->blocks) < 0)
		return -1;
	/* There is a module, so that musl's list has the address of a block here. */
	if (t->first[1] != 0) {
		t->entry = t->blocks + t->words[0] * TLS_PLAIN_SIZE;
		return t->words[0] > t->first[0];
	}
	if (port_read_user(w, &t->n_blocks, sizeof(t->n_blocks), t->blocks - TLS_BLOCK_SIZE) < 0)
		return -1;
	t->entry = t->blocks + t->words[0] * TLS_BLOCK_SIZE;
	return t->words[0] > t->n_blocks || t->words[2] > t->first[0];
}

/* Finds the block of module number words[0], and in it the variable at words[1]. Results as below. */
static __always_inline int tls_find_block(struct walk *w, __u64 base)
{
	struct walk_tls *t = &w->tls;
	int err;

	/* What is not relocated yet has number 0. */
	if (t->words[0] == 0)
		return 1;
	if (port_read_user(w, &t->blocks, sizeof(t->blocks), base + DP_THREAD_BLOCKS) < 0)
		return -1;
	err = tls_seek_block(w);
	if (err != 0)
		return err;
	if (port_read_user(w, &t->address, sizeof(t->address), t->entry) < 0)
		return -1;
	if (t->address == TLS_NO_BLOCK || t->address == 0)
		return 1;
	t->address += t->words[1];
	return 0;
}

/*
 * Sets w->tls.address to that of the variable w->tls.at of a file with w->tls.bias. Returns 0, 1 if the
 * thread has none yet, or -1 if that cannot be read.
 */
PORT_GLOBAL int tls_find(struct walk *w)
{
	struct walk_tls *t;
	__u64 base, slot;
	int err;

	if (!w)
		return -1;
	walk_charge(w, 4);
	t = &w->tls;
	base = port_thread_base(w);
	if (base == 0)
		return -1;
	t->address = base + t->at.value;
	if (t->at.kind == DP_TLS_OFFSET)
		return 0;
	slot = t->bias + t->at.value;
	t->words[2] = 0;
	if (t->at.kind == DP_TLS_SLOT)
		err = port_read_user(w, t->words, sizeof(t->words[0]), slot);
	else
		err = port_read_user(w, t->words, 2 * sizeof(t->words[0]), slot);
	if (err < 0)
		return -1;
	if (t->at.kind != DP_TLS_MODULE) {
		__u64 word = t->at.kind == DP_TLS_SLOT ? t->words[0] : t->words[1];

		if (word == 0)
			return 1;
		if (t->at.kind == DP_TLS_SLOT || DP_TLS_IS_DISTANCE(word)) {
			t->address = base + word;
			return 0;
		}
		if (port_read_user(w, t->words, sizeof(t->words), word) < 0)
			return -1;
	}
	return tls_find_block(w, base);
}

#endif
