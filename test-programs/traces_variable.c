// SPDX-License-Identifier: Apache-2.0
/* The variable by which traces.c publishes, in the program or in a library. */
#include <stdatomic.h>
#include <stddef.h>

#include "traces.h"

#ifndef MODEL
#define MODEL
#endif

#ifndef OTHERS
#define OTHERS 1
#endif

extern __thread long traces_others[OTHERS];
extern __thread struct trace *otel_thread_ctx_v1 MODEL;

/* So that it is not alone in its block, which may be too large to lie beside the program's. */
__thread long traces_others[OTHERS] = { 1 };

__thread struct trace *otel_thread_ctx_v1 MODEL;

#ifndef NO_PUBLISH
void traces_publish(struct trace *trace)
{
	atomic_signal_fence(memory_order_seq_cst);
	*(struct trace *volatile *)&otel_thread_ctx_v1 = trace;
	atomic_signal_fence(memory_order_seq_cst);
}
#endif
