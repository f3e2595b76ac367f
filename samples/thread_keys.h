/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_THREAD_KEYS_H
#define DP_SAMPLES_THREAD_KEYS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct parsers;
struct process_context;
struct thread_keys;

/*
 * What processes say of themselves (context_reader.h): how keys of threads' attributes are called, and
 * which service they are. A thread of its own reads that, so that the one that reads the rings does not
 * wait. A process adds names of keys, but changes none; it may not have any yet, so its context is read
 * again, ever more rarely, but soon if it has a key without a name.
 */

/* The longest time in which a process that is sampled is not looked at again. */
#define THREAD_KEYS_REST_NS UINT64_C(120000000000)

/*
 * Holds the parsers, and has a fetcher if `is_capable`: this process has CAP_SYS_PTRACE. The thread starts
 * with the first question. 0 or -ENOMEM.
 */
int thread_keys_new(struct parsers *parsers, bool is_capable, struct thread_keys **ret);
/* A thread that hangs frees what it uses when it ends. Accepts NULL. Returns NULL. */
struct thread_keys *thread_keys_free(struct thread_keys *keys);

/*
 * Finds a key's name by its number. place: tells apart programs that the process executes one after the
 * other; now: of CLOCK_MONOTONIC. 0; -ENOENT: the process has no such key; -EAGAIN: that is not known yet,
 * or never will be, as the name is too long. *ret is valid until the next call. NULL: -EAGAIN.
 */
int thread_keys_find(struct thread_keys *keys, pid_t pid, uint64_t place, uint8_t number,
		     uint64_t now, const char **ret);

/*
 * All that the process says, until the next call; NULL: nothing, or that is not known, as at its first
 * sample. NULL: likewise.
 */
const struct process_context *thread_keys_process(struct thread_keys *keys, pid_t pid,
						  uint64_t place, uint64_t now);

#endif
