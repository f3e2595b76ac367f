/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEST_CHAIN_H
#define DP_TEST_CHAIN_H

/* Two libraries that call each other `depth` times before they call fn(). */
void chain_first(void (*fn)(int), int depth);
void chain_second(void (*fn)(int), int depth);

#endif
