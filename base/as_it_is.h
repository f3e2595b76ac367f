/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_AS_IT_IS_H
#define DP_BASE_AS_IT_IS_H

/* For functions of tests: not inlined, nor, which only gcc knows, copied for known arguments. */
#if __has_attribute(noipa)
#define AS_IT_IS __attribute__((noipa))
#else
#define AS_IT_IS __attribute__((noinline))
#endif

#endif
