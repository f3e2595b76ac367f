/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DELIVER_NOTICES_H
#define DP_DELIVER_NOTICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Rate limit for repeated messages: at most one a minute for each reason, the first at once, later ones with a count.
 * Initialized to zero.
 */
struct notice {
	int kind, code; /* the reason */
	bool is_used;
	uint64_t said_ns; /* CLOCK_MONOTONIC; 0: never */
	uint64_t n;       /* since then */
	bool waits;       /* is to be said */
	char text[512];   /* of the last one */
};

/* Of more reasons, one that does not wait to be said is forgotten, or the one said longest ago. */
#define NOTICES 8

struct notices {
	struct notice of[NOTICES];
};

#define NOTICE_NS UINT64_C(60000000000)

/* Counts one, whose text is said unless another follows it. */
void notices_add(struct notices *notices, int kind, int code, const char *text);

/* Those of a kind that wait are not said, as they are not true any more. */
void notices_withdraw(struct notices *notices, int kind);

/*
 * Returns one that is to be said now, and how often it was; the caller says it. is_end: a minute need
 * not have passed. NULL: none.
 */
const struct notice *notices_take(struct notices *notices, uint64_t now_ns, bool is_end,
				  uint64_t *ret_n);

/* When the next one is to be said; UINT64_MAX: none waits. */
uint64_t notices_next_ns(const struct notices *notices);

#endif
