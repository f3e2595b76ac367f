/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_LABELS_H
#define DP_BPF_LABELS_H

/*
 * Reads the labels of a program's current work (struct dp_labels) from its memory. Its image says
 * where they are (struct dp_image).
 */

#include "bpf/context.h"
#include "bpf/custom.h"
#include "bpf/label_add.h"
#include "bpf/program.h"

struct go_slice {
	__u64 at, n, room;
};

/*
 * A Go map up to 1.23 (runtime/map.go, struct hmap): 1 << bits buckets, each with a chain of
 * overflow buckets. While it grows, entries not yet moved are in the old buckets, which are half as
 * many, or as many.
 */
struct go_map {
	__u64 n;
	__u8 flags, bits;
	__u16 n_overflow;
	__u32 seed;
	__u64 buckets, old_buckets;
};

#define GO_SAME_SIZE 8 /* of flags: sameSizeGrow */

/*
 * A bucket of a map[string]string: a byte for each slot, the keys, the values, the overflow bucket.
 */
#define GO_SLOTS 8
#define GO_KEYS GO_SLOTS
#define GO_VALUES (GO_KEYS + GO_SLOTS * sizeof(struct label_text))
#define GO_NEXT (GO_VALUES + GO_SLOTS * sizeof(struct label_text))
#define GO_BUCKET_SIZE (GO_NEXT + sizeof(__u64))
#define GO_FIRST_USED 5 /* minTopHash: the byte of a slot with an entry that has not moved */

/* The most slots to examine; enough for maps that are half empty. */
#define LABELS_MAX_SLOTS (4 * DP_MAX_LABELS)

static long labels_list_step(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	struct label_pair label;

	walk_charge(w, 1);
	if (port_read_user(w, &label, sizeof(label), w->labels.at + i * sizeof(label)) < 0)
		labels_miss(w);
	else
		labels_add(w, &label);
	return 0;
}

static __always_inline void labels_read_list(struct walk *w, __u64 at)
{
	struct walk_ref ref = { w };
	struct go_slice list;
	__u64 n;

	if (port_read_user(w, &list, sizeof(list), at) < 0 || list.n > list.room) {
		labels_leave_out(w, 1);
		return;
	}
	n = list.n < DP_MAX_LABELS ? list.n : DP_MAX_LABELS;
	labels_leave_out(w, list.n - n);
	w->labels.at = list.at;
	port_loop((__u32)n, labels_list_step, &ref);
}

/*
 * Goes to the next bucket, of the chain or the first of the next chain. Returns 0 at the end. An
 * unreadable page may never have been written to, and is treated as empty buckets; if it is not
 * empty, its labels are counted as missing at the end.
 */
static __always_inline int labels_next_bucket(struct walk *w)
{
	__u64 next;

	if (port_read_user(w, &next, sizeof(next), w->labels.at + GO_NEXT) < 0)
		next = 0;
	if (next == 0) {
		w->labels.bucket++;
		next = w->labels.first + (__u64)w->labels.bucket * GO_BUCKET_SIZE;
	}
	if (w->labels.bucket >= w->labels.n_buckets) {
		next = w->labels.first = w->labels.old;
		w->labels.bucket = 0;
		w->labels.n_buckets = w->labels.n_old;
		w->labels.old = 0;
	}
	w->labels.at = next;
	return next != 0;
}

static long labels_map_step(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	__u32 slot = i % GO_SLOTS;
	__u64 text = slot * sizeof(struct label_text);
	struct label_pair label;
	__u8 used;

	walk_charge(w, 3);
	if (port_read_user(w, &used, sizeof(used), w->labels.at + slot) < 0) {
		w->at.cost += WALK_COST_FAULT;
	} else if (used >= GO_FIRST_USED &&
		   port_read_user(w, &label.key, sizeof(label.key),
				  w->labels.at + GO_KEYS + text) == 0 &&
		   port_read_user(w, &label.value, sizeof(label.value),
				  w->labels.at + GO_VALUES + text) == 0) {
		labels_add(w, &label);
		w->labels.left--;
	}
	if (w->labels.left == 0)
		return 1;
	return slot == GO_SLOTS - 1 && !labels_next_bucket(w);
}

static __always_inline void labels_read_map(struct walk *w, __u64 at)
{
	struct walk_ref ref = { w };
	struct go_map map;
	__u64 place;

	if (port_read_user(w, &place, sizeof(place), at) < 0) {
		labels_leave_out(w, 1);
		return;
	}
	if (place == 0)
		return;
	if (port_read_user(w, &map, sizeof(map), place) < 0 || map.n >> 16 != 0 || map.bits > 16) {
		labels_leave_out(w, 1);
		return;
	}
	w->labels.at = w->labels.first = map.buckets;
	w->labels.bucket = 0;
	w->labels.n_buckets = 1U << map.bits;
	w->labels.old = map.old_buckets;
	w->labels.n_old =
		map.flags & GO_SAME_SIZE || map.bits == 0 ? 1U << map.bits : 1U << (map.bits - 1);
	w->labels.left = (__u32)map.n;
	if (map.n > 0)
		port_loop(LABELS_MAX_SLOTS, labels_map_step, &ref);
	labels_leave_out(w, w->labels.left);
}

/*
 * Finds the labels and their form by the image of the mapping. Returns their address, or 0. Of a
 * form with a variable, w->tls says where that is.
 */
static __always_inline __u64 labels_find(struct walk *w, __u32 *ret_form)
{
	const struct dp_mapping *m =
		port_pool(w, dp_mapping_cell(w->in.snapshot_cell, w->labels.mapping));
	const struct dp_image *image;
	__u32 cell;

	if (!m || m->image < DP_FIRST_CELL)
		return 0;
	cell = m->image;
	w->tls.bias = m->bias;
	image = port_pool(w, cell);
	if (!image || image->labels_form == DP_LABELS_NONE)
		return 0;
	*ret_form = image->labels_form;
	if (DP_LABELS_IN_VARIABLE(image->labels_form)) {
		w->tls.at = image->variable;
		return 0;
	}
	cell += image->programs + image->labels;
	w->at.mapping = w->labels.mapping;
	w->program.is_elsewhere = 1;
	w->program.n_values = 0;
	/* If no goroutine runs, the address of struct g is 0. */
	if (walk_program(w, cell) != DP_WALKING)
		return 0;
	return *walk_value(w, 0);
}

/* Labels of this form are to be read, which has a variable. */
#define LABELS_ARE(form) (2 + (form))

/*
 * Reads Go's labels of the thread whose stack was (or was to be) walked into w->labels.head. The
 * thread is interrupted, so they do not change. Returns 1 if there are any, or LABELS_ARE().
 */
PORT_GLOBAL int labels_read(struct walk *w)
{
	__u32 form = DP_LABELS_NONE;
	__u64 at;

	if (!w)
		return 0;
	w->labels.head = (struct dp_labels){ .part.type = DP_RECORD_LABELS };
	w->labels.size = 0;
	at = labels_find(w, &form);
	if (DP_LABELS_IN_VARIABLE(form))
		return LABELS_ARE((int)form);
	if (at == 0)
		return 0;
	if (form == DP_LABELS_GO_LIST)
		labels_read_list(w, at);
	else
		labels_read_map(w, at);
	return w->labels.head.n > 0 || w->labels.head.n_left_out > 0;
}

/*
 * The same of any form, or the context. Not in one function: the kernel's stack has no room for its
 * calls.
 */
static __always_inline int labels_or_context_read(struct walk *w)
{
	int found = labels_read(w);

	if (found == LABELS_ARE(DP_LABELS_CONTEXT))
		return context_read(w);
	if (found > LABELS_ARE(DP_LABELS_CONTEXT))
		return custom_read(w, (__u32)found - LABELS_ARE(0));
	return found;
}

#endif
