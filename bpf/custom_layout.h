/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_CUSTOM_LAYOUT_H
#define DP_BPF_CUSTOM_LAYOUT_H

/*
 * The labels of what a thread is doing, in the program's memory, as Polar Signals' library has them
 * ("Custom Label ABI", v0 and v1). Only the thread itself changes them, so that they can be read between
 * any two of its instructions. Part of abi.h.
 */

/* The thread-local pointer to a struct dp_custom_set, or NULL, in v1; and the set itself, in v0. */
#define DP_CUSTOM_VARIABLE_V1 "custom_labels_current_set"
#define DP_CUSTOM_VARIABLE_V0 "custom_labels_thread_local_data"
/* A constant uint32_t: which of them holds. */
#define DP_CUSTOM_VERSION "custom_labels_abi_version"

struct dp_custom_text {
	__u64 size, at;
};

/* No label if the key is at 0, or if that of one before it is equal. */
struct dp_custom_label {
	struct dp_custom_text key, value;
};

/* What follows in v1 has no meaning to profilers. */
struct dp_custom_set {
	__u64 at, n; /* an array of labels */
};

DP_ASSERT(sizeof(struct dp_custom_label) == 32, "labels have no padding");

#endif
