/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_CUSTOM_H
#define DP_BPF_CUSTOM_H

/* Reads the custom labels of a thread from its memory: struct dp_custom_set. */

#include "bpf/label_add.h"
#include "bpf/tls.h"

static long custom_step(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	struct dp_custom_label label;

	walk_charge(w, 1);
	/* The first of equal keys counts: after an unreadable label, later ones are dropped. */
	if (w->labels.head.n_left_out > 0 ||
	    port_read_user(w, &label, sizeof(label), w->labels.at + i * sizeof(label)) < 0) {
		labels_leave_out(w, 1);
		return 0;
	}
	if (label.key.at != 0)
		labels_add(w, &(struct label_pair){ { label.key.at, label.key.size },
						    { label.value.at, label.value.size } });
	return 0;
}

static __always_inline void custom_read_set(struct walk *w, const struct dp_custom_set *set)
{
	struct walk_ref ref = { w };
	__u64 n = set->n < DP_MAX_LABELS ? set->n : DP_MAX_LABELS;

	w->labels.at = set->at;
	port_loop((__u32)n, custom_step, &ref);
	labels_leave_out(w, set->n - n);
}

/*
 * Reads the set to which the variable w->tls.at leads. Returns 0, 1 if there is none, or -1 if that
 * cannot be read.
 */
static __always_inline int custom_find(struct walk *w, __u32 form, struct dp_custom_set *ret)
{
	int found = tls_find(w);

	if (found != 0)
		return found;
	/* Nobody has written to an unreadable page of the thread's variables: it is zero. */
	if (form == DP_LABELS_CUSTOM_V0)
		return port_read_user(w, ret, sizeof(*ret), w->tls.address) < 0;
	if (port_read_user(w, &w->labels.at, sizeof(w->labels.at), w->tls.address) < 0 ||
	    w->labels.at == 0)
		return 1;
	return port_read_user(w, ret, sizeof(*ret), w->labels.at) < 0 ? -1 : 0;
}

/*
 * Reads the labels of this form, DP_LABELS_CUSTOM_V0 or _V1, into w->labels.head, which has none yet. The
 * thread is interrupted, so that they do not change meanwhile. Returns 1 if there are any, or may be.
 */
PORT_GLOBAL int custom_read(struct walk *w, __u32 form)
{
	struct dp_custom_set set = { 0 }; /* 6.1's verifier does not see that none unread is used */
	int found;

	if (!w)
		return 0;
	found = custom_find(w, form, &set);
	if (found > 0)
		return 0;
	if (found < 0)
		labels_leave_out(w, 1);
	else
		custom_read_set(w, &set);
	return w->labels.head.n > 0 || w->labels.head.n_left_out > 0;
}

#endif
