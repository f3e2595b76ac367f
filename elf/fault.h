/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_FAULT_H
#define DP_ELF_FAULT_H

#include <stdbool.h>
#include <ucontext.h>

/* Whether a read of data raised the signal. Each architecture implements it. Async-signal-safe. */
bool fault_is_read(const ucontext_t *context);

#endif
