/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_PIPED_H
#define DP_REPORT_PIPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct names;

/*
 * A pipe or socket to which a report is written during sampling, when its reader may be slow. After sampling, the user
 * waits for it: if the reader accepts nothing for PIPED_PATIENCE_NS, it is given up, and nothing more is written. After
 * names_disable(), which the second Ctrl-C calls, the limit applies to the total waiting time, so that a reader which
 * accepts a little at a time is given up as well.
 *
 * One thread writes and queries; another may query after it.
 */
struct piped;

/* Is it a pipe or a socket? */
bool piped_may_block(int fd);

/* Duplicates the descriptor; `names` must outlive it. 0 or a negative errno. */
int piped_new(int fd, const struct names *names, struct piped **ret);

/* What the report writes to. */
FILE *piped_file(const struct piped *piped);

/* Sampling is over. Any thread may call it. */
void piped_end(struct piped *piped);

/*
 * Counts a sample. All but the last n_held have been written to the file; the report will write those together. 0 or
 * -ENOMEM.
 */
int piped_count(struct piped *piped, size_t n_held);

bool piped_is_given_up(const struct piped *piped);

/* The number of samples of which the pipe has only a part or nothing. */
uint64_t piped_n_missing(const struct piped *piped);
uint64_t piped_n_samples(const struct piped *piped);

/* Writes what is left, unless it is given up. 0, or the negative errno of writing it. */
int piped_flush(struct piped *piped);

struct piped *piped_free(struct piped *piped);

#endif
