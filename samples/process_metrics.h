/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_PROCESS_METRICS_H
#define DP_SAMPLES_PROCESS_METRICS_H

#include "samples/label_source.h"

/*
 * How busy the process of a sample was, as labels: what it used in about the last second, and its memory. A thread
 * of its own reads /proc, so that the one that reads the rings does not wait; if there are many processes, each of
 * them more rarely.
 *
 *   usage.cpu             percent             of one CPU, by all threads
 *   usage.memory          bytes               resident
 *   usage.read, .write    bytes_per_second    from and to storage
 *   usage.run_queue_wait  percent             of the time, of all threads together: waiting for a CPU
 */
struct process_metrics;

#define PROCESS_METRICS_PERIOD_NS UINT64_C(1000000000)
/* A reading applies to samples from at most this long before or after it. */
#define PROCESS_METRICS_AGE_NS UINT64_C(2000000000)
/* The most that the thread uses of a CPU. */
#define PROCESS_METRICS_PERCENT 2
/* How long a process is read after its last sample. */
#define PROCESS_METRICS_REST_NS UINT64_C(10000000000)

/* The thread starts with the first sample. 0 or -ENOMEM. */
int process_metrics_new(struct process_metrics **ret);
/* Does not wait long for what is being read: the thread frees what it uses. Accepts NULL. Returns NULL. */
struct process_metrics *process_metrics_free(struct process_metrics *metrics);

/* Until process_metrics_free(). NULL: NULL. */
const struct label_source *process_metrics_source(const struct process_metrics *metrics);

#endif
