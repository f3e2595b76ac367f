/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_PIPED_H
#define DP_REPORT_PIPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct names;

/*
 * A pipe or socket to which a report is written while there is sampling. Its reader may take its time. Once
 * sampling is over, the user waits for the end: a reader who takes nothing for PIPED_PATIENCE_NS is given up,
 * and nothing more is written. Once names are disabled, which the second Ctrl-C does, all waiting for the reader
 * counts together, so that one who takes a little at a time is given up as well.
 *
 * One thread writes; it also asks, or another one after it.
 */
struct piped;

/* Is it a pipe or a socket? */
bool piped_may_block(int fd);

/* Of the descriptor it keeps a copy; `names` must outlive it. 0 or a negative errno. */
int piped_new(int fd, const struct names *names, struct piped **ret);

/* What the report writes to. */
FILE *piped_file(const struct piped *piped);

/* Sampling is over. Any thread may call it. */
void piped_end(struct piped *piped);

/*
 * One more sample has been written to the file, but for the last n_held ones, which the report keeps and will write
 * together. 0 or -ENOMEM.
 */
int piped_count(struct piped *piped, size_t n_held);

bool piped_is_given_up(const struct piped *piped);

/* Of all samples, those that the pipe has only a part of, or nothing. */
uint64_t piped_n_missing(const struct piped *piped);
uint64_t piped_n_samples(const struct piped *piped);

/* Writes what is left, unless it is given up. 0, or the negative errno of writing it. */
int piped_flush(struct piped *piped);

struct piped *piped_free(struct piped *piped);

#endif
