/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEST_PROGRAMS_THROWN_H
#define DP_TEST_PROGRAMS_THROWN_H

/* Of thrown_pass.cc, each in a library of its own: calls fn(i). */
void pass_first(void (*fn)(unsigned long), unsigned long i);
void pass_second(void (*fn)(unsigned long), unsigned long i);

#endif
