/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_PERL_PERL_H
#define DP_RUNTIMES_PERL_PERL_H

#include "runtimes/runtime.h"

/* The runtime's `read` and `line`: see struct runtime_source. */
int perl_read_code(const void *layout, const struct dp_runtime_frame *frame,
		   const struct runtime_memory *memory, struct runtime_code **ret);
unsigned int perl_code_line(const void *layout, const struct runtime_code *code,
			    const struct dp_runtime_frame *frame);

#endif
