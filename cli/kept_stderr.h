/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_KEPT_STDERR_H
#define DP_CLI_KEPT_STDERR_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Buffers stderr in memory while messages would garble a screen. Keeps only the last ones.
 */
struct kept_stderr {
	int old_fd;           /* where stderr went; -1: nothing is kept */
	int kept_fd;          /* a file in memory, which only grows; what was dropped is a hole */
	pthread_mutex_t lock; /* protects these */
	off_t start;          /* what is before was dropped */
	uint64_t n_dropped;   /* lines that end there */
};

/* Without memory or descriptors, messages still go to stderr. */
void kept_stderr_begin(struct kept_stderr *ret);
/* Drops the older ones of many messages. Any thread may call it, again and again. */
void kept_stderr_trim(struct kept_stderr *kept);
/* Writes what was kept, and how many lines were not. */
void kept_stderr_end(struct kept_stderr *kept);
/* The same for a signal handler, if the program ends: it does not say what was dropped. */
void kept_stderr_rescue(const struct kept_stderr *kept);

#endif
