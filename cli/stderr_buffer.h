/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_STDERR_BUFFER_H
#define DP_CLI_STDERR_BUFFER_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Buffers stderr in memory while messages would garble a screen. Keeps only the last ones.
 */
struct stderr_buffer {
	int old_fd;           /* where stderr went; -1: nothing is kept */
	int buffer_fd;        /* a file in memory, which only grows; what was dropped is a hole */
	pthread_mutex_t lock; /* protects these */
	off_t start;          /* what is before was dropped */
	uint64_t n_dropped;   /* lines that end there */
};

/* Without memory or descriptors, messages still go to stderr. */
void stderr_buffer_begin(struct stderr_buffer *ret);
/* Drops the older ones of many messages. Any thread may call it, again and again. */
void stderr_buffer_trim(struct stderr_buffer *buffer);
/* Writes what was kept, and how many lines were not. */
void stderr_buffer_end(struct stderr_buffer *buffer);
/* The same for a signal handler, if the program ends: it does not say what was dropped. */
void stderr_buffer_rescue(const struct stderr_buffer *buffer);

#endif
