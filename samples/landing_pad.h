/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_LANDING_PAD_H
#define DP_SAMPLES_LANDING_PAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * True if this code has the end of __builtin_eh_return(): it sets the stack pointer for an
 * exception handler. Depends on the architecture.
 */
bool landing_pad_is_in(const uint8_t *code, size_t size);

#endif
