/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_THREAD_TASKS_H
#define DP_SAMPLES_THREAD_TASKS_H

#include "samples/thread_snapshot.h"

/*
 * Reads the tasks of a process's threads, after their stacks: this may take long, and a thread that runs meanwhile
 * loses only its tasks. Tries each thread several times. The results say what is missing, and why. Ends after
 * PYTHON_TASKS_NS, or at until_ns. 0, -ENOMEM, or an error of reading threads.
 */
int thread_tasks_read(struct thread_snapshot *threads, uint64_t until_ns);

#endif
