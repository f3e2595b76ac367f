/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_LABEL_LAYOUT_H
#define DP_BPF_LABEL_LAYOUT_H

/* The labels of a sample as the kernel sends them. Part of abi.h, which has the sample. */

/*
 * The labels that a program has given to what it is doing, such as a request's path: those of
 * Go's runtime/pprof.Do(). Longer texts are cut, and what has no room is left out.
 *
 *   struct dp_labels
 *   +------+------------+---+-------+-- n times --------------------------------------+-----+
 *   | part | n_left_out | n | n_cut | key_size | value_size | key       | value         | 0.. |
 *   +------+------------+---+-------+----------+------------+-----------+---------------+-----+
 */
struct dp_labels {
	struct dp_part part; /* DP_RECORD_LABELS */
	__u16 n_left_out;    /* labels without room or unreadable */
	__u8 n;
	__u8 n_cut; /* number of texts that were cut */
};

struct dp_label {
	__u8 key_size;
	__u8 value_size;
};

#define DP_LABEL_CUT 255 /* size of a text that was cut; complete ones are shorter */
#define DP_MAX_LABELS 32
#define DP_LABELS_MAX_SIZE 2048 /* bytes after struct dp_labels; a power of two */

DP_ASSERT(sizeof(struct dp_labels) == DP_CELL_SIZE, "a sample's labels are as long as cells");
DP_ASSERT(2 * DP_MAX_LABELS <= 255, "n and n_cut can count them");
DP_ASSERT(DP_LABEL_CUT <= 255, "a text's size fits a byte");
DP_ASSERT((DP_LABELS_MAX_SIZE & (DP_LABELS_MAX_SIZE - 1)) == 0, "a mask bounds a label's place");

#endif
