/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_X86_64_PATTERN_H
#define DP_TABLES_X86_64_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* The first instruction of functions and PLT entries if indirect branches are restricted (IBT). */
#define PATTERN_ENDBR64 "f3 0f 1e fa"

/*
 * Matches machine code with a pattern of hex digits: "ff 25 ?? ?? ?? ??", with ?? for any byte.
 * Returns the length of the match: the whole pattern or 0.
 */
size_t pattern_match(const uint8_t *bytes, uint64_t size, const char *pattern);

/* The same for the first of n patterns that matches. */
size_t pattern_match_any(const uint8_t *bytes, uint64_t size, const char *const *patterns,
			 size_t n);

#endif
