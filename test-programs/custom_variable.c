// SPDX-License-Identifier: Apache-2.0
/* The variable by which custom.c publishes, in the program or in a library. */
#include <stdatomic.h>
#include <stdint.h>

#include "custom.h"

#ifndef MODEL
#define MODEL
#endif

extern const uint32_t custom_labels_abi_version;
extern __thread long custom_others[10];

const uint32_t custom_labels_abi_version = VERSION;

/* So that the other one is not alone in its block. */
__thread long custom_others[10] = { 1 };

#if VERSION == 1
extern __thread struct custom_set *volatile custom_labels_current_set MODEL;

__thread struct custom_set *volatile custom_labels_current_set MODEL;

void custom_publish(struct custom_set *set)
{
	atomic_signal_fence(memory_order_seq_cst);
	custom_labels_current_set = set;
	atomic_signal_fence(memory_order_seq_cst);
}

struct custom_set *custom_begin(struct custom_set *own)
{
	custom_publish(own);
	return own;
}
#else
extern __thread struct custom_set custom_labels_thread_local_data MODEL;

__thread struct custom_set custom_labels_thread_local_data MODEL;

void custom_publish(struct custom_set *set)
{
	struct custom_set *to = &custom_labels_thread_local_data;

	atomic_signal_fence(memory_order_seq_cst);
	to->n = 0;
	if (set) {
		to->labels = set->labels;
		to->n = set->n;
	}
	atomic_signal_fence(memory_order_seq_cst);
}

struct custom_set *custom_begin(struct custom_set *own)
{
	custom_publish(own);
	return &custom_labels_thread_local_data;
}
#endif
