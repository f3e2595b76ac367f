/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_X86_64_PATTERN_H
#define DP_TABLES_X86_64_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* What functions and entries of a PLT begin with, if indirect branches may lead there only. */
#define PATTERN_ENDBR64 "f3 0f 1e fa"

/*
 * Instructions as they lie in memory, written as hex digits: "ff 25 ?? ?? ?? ??",
 * with ?? for any byte. How many of `size` bytes match a pattern: all of it or 0.
 */
size_t pattern_match(const uint8_t *bytes, uint64_t size, const char *pattern);

/* The same for the first of n patterns that matches. */
size_t pattern_match_any(const uint8_t *bytes, uint64_t size, const char *const *patterns,
			 size_t n);

#endif
