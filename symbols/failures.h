/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_FAILURES_H
#define DP_SYMBOLS_FAILURES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "limits/limits.h"

struct limit_hits;

/*
 * Files that cost their readers, or of which limits leave out names: how many, and sentences about the first.
 * Any thread may use it.
 */
struct failures {
	pthread_mutex_t lock;
	size_t n;
	char *first[PARSERS_SHOWN_FAILURES]; /* NULL: memory was short */
};

void failures_init(struct failures *failures);
void failures_done(struct failures *failures);

/* Takes over the sentence, which may be NULL. Returns whether it is one of the first. */
bool failures_add(struct failures *failures, char *sentence);

/* Limits leave out names of a file, which -v tells. It is counted if these are the first limits of it. */
void failures_add_limits(struct failures *failures, const char *path, const struct limit_hits *hits,
			 bool is_first);

/* How many there are, and the first: they are valid as long as the failures. */
size_t failures_look(struct failures *failures, const char *ret_first[PARSERS_SHOWN_FAILURES]);

#endif
