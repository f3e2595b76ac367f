/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOG_SUGGESTION_H
#define DP_LOG_SUGGESTION_H

#include <stddef.h>

/* The known word that a wrong one most likely stands for. */
struct suggestion {
	const char *given;
	const char *word; /* the closest one so far; NULL: none is close */
	size_t distance;  /* of it */
};

/* Looks at a known word, and keeps the pointer if it is the closest one so far. */
void suggestion_consider(struct suggestion *suggestion, const char *word);

#endif
