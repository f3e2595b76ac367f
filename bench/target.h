/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BENCH_TARGET_H
#define DP_BENCH_TARGET_H

/* Some microseconds of work; returns a number that depends on it. */
unsigned int target_work(unsigned int x);

/*
 * Written by make_target.py: work at the bottom of `depth` functions, the same ones, or random
 * ones.
 */
unsigned int target_chain(unsigned int depth, unsigned int x);
unsigned int target_forest(unsigned int depth, unsigned int x);

/* Works in the standard library of C++, see target_words.cc. */
unsigned int target_words(unsigned int x);

#endif
