/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LIMITS_LIMIT_H
#define DP_LIMITS_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* The rows of limits.def, to be shown. */

/*
 * How anybody learns that a limit was met.
 *
 *    X(enumerator, word)
 */
#define LIMIT_TOLD(X)                                                                              \
	X(OUTCOME, "outcome")                                                                      \
	X(MESSAGE, "message")                                                                      \
	X(SEEN, "result")                                                                          \
	X(HARMLESS, "nothing lost")

#define X(name, word) LIMIT_##name,
enum limit_told { LIMIT_TOLD(X) LIMIT_N_TOLD };
#undef X

const char *limit_told_word(enum limit_told told);

/* Of all limits that leave out names, lines or inlined functions of a file or process (limit_hits.h). */
#define LIMIT_NAMES_WORDS "names are incomplete:"

/* One with a group's name is no limit: those that follow are of that group. */
struct limit {
	const char *group; /* or NULL */
	const char *name;
	uint64_t value;
	const char *unit;
	const char *what; /* is bounded */
	enum limit_told told;
	const char *words; /* "": HARMLESS */
	const char *beyond;
};

/* In the order of the file. */
const struct limit *limits_list(size_t *ret_n);

/* "100 ms", "16 MiB", "2 helpers". */
#define LIMIT_TEXT_SIZE 64
void limit_write(const struct limit *limit, char ret[LIMIT_TEXT_SIZE]);

#endif
