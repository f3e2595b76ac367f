/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_LABEL_ADD_H
#define DP_BPF_LABEL_ADD_H

/* Adds labels that are found in a program's memory to those of the sample (struct dp_labels). */

#include "bpf/walk_state.h"

/* A text in the program's memory: as Go has strings. */
struct label_text {
	__u64 at, size;
};

struct label_pair {
	struct label_text key, value;
};

static __always_inline void labels_leave_out(struct walk *w, __u64 n)
{
	w->labels.head.n_left_out += n < DP_LABELS_MAX_SIZE ? (__u16)n : DP_LABELS_MAX_SIZE;
}

/* A label, or a text of it, cannot be read. */
static __always_inline void labels_miss(struct walk *w)
{
	w->at.cost += WALK_COST_FAULT;
	labels_leave_out(w, 1);
}

static __always_inline __u32 label_text_size(const struct label_text *s)
{
	return s->size < DP_LABEL_CUT ? (__u32)s->size : DP_LABEL_CUT;
}

static __always_inline void labels_add(struct walk *w, const struct label_pair *label)
{
	__u32 key_size = label_text_size(&label->key);
	__u32 value_size = label_text_size(&label->value);
	__u32 size = sizeof(struct dp_label) + key_size + value_size;
	__u32 at = w->labels.size;
	__u8 *to;

	if (w->labels.head.n >= DP_MAX_LABELS || at + size > DP_LABELS_MAX_SIZE) {
		labels_leave_out(w, 1);
		return;
	}
	key_size = port_opaque(key_size) & DP_LABEL_CUT;
	value_size = port_opaque(value_size) & DP_LABEL_CUT;
	to = &w->labels.bytes[port_index(at, DP_LABELS_MAX_SIZE)];
	to[0] = (__u8)key_size;
	to[1] = (__u8)value_size;
	to += sizeof(struct dp_label);
	walk_charge(w, 2);
	if (port_read_user(w, to, key_size, label->key.at) < 0 ||
	    port_read_user(w, to + key_size, value_size, label->value.at) < 0) {
		labels_miss(w);
		return;
	}
	w->labels.size = at + size;
	w->labels.head.n++;
	w->labels.head.n_cut += (__u8)((key_size == DP_LABEL_CUT) + (value_size == DP_LABEL_CUT));
}

#endif
