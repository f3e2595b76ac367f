/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_CONTEXT_H
#define DP_BPF_CONTEXT_H

/* Reads what span a thread is working on from its memory: struct dp_thread_record. */

#include "bpf/tls.h"

#define CONTEXT_ROOM (DP_LABELS_MAX_SIZE - sizeof(struct dp_thread_record))

/* Reads the attributes behind a record. */
static __always_inline void context_read_attributes(struct walk *w, __u32 size)
{
	const __u32 head = sizeof(struct dp_thread_record);

	if (size > CONTEXT_ROOM) {
		w->labels.context.is_cut = 1;
		size = CONTEXT_ROOM;
	}
	size = port_opaque(size) & (DP_LABELS_MAX_SIZE - 1);
	if (port_read_user(w, w->labels.bytes + head, size, w->labels.at + head) < 0) {
		w->labels.context.is_cut = 1;
		size = 0;
	}
	w->labels.size = head + size;
	w->labels.context.size = (__u16)(head + size);
}

/*
 * Reads the context to which the variable w->tls.at leads (tls_find()) into w->labels.context. The
 * thread is interrupted, so that it does not change meanwhile. Returns 1 if there is one, or may be.
 */
PORT_GLOBAL int context_read(struct walk *w)
{
	const struct dp_thread_record *record;
	int found;

	if (!w)
		return 0;
	w->labels.size = 0;
	w->labels.context = (struct dp_context){ .part.type = DP_RECORD_CONTEXT };
	walk_charge(w, 3);
	found = tls_find(w);
	if (found != 0)
		return found < 0;
	/* Nobody has written to an unreadable page of the thread's variables: it is NULL. */
	if (port_read_user(w, &w->labels.at, sizeof(w->labels.at), w->tls.address) < 0 ||
	    w->labels.at == 0)
		return 0;
	if (port_read_user(w, w->labels.bytes, sizeof(*record), w->labels.at) < 0)
		return 1;
	record = (const void *)w->labels.bytes;
	if (record->valid != 1)
		return 0;
	context_read_attributes(w, record->attributes_size);
	return 1;
}

#endif
