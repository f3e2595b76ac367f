/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_LANDING_H
#define DP_SAMPLES_LANDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Is there in this code what __builtin_eh_return() ends with: does it set the stack pointer for the
 * handler of an exception? The architecture knows.
 */
bool landing_is_in(const uint8_t *code, size_t size);

#endif
