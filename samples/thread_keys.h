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
 * Process contexts (context_reader.h): the names of attribute keys, and the service. A separate thread reads
 * them, so that the thread that reads the rings does not wait. A process may add names of keys, but not change
 * them, and may publish its context late. So the context is read again, at growing intervals, but soon if a
 * key has no name.
 */

/* Identifies the program that a process executes now, by its first code. */
struct program_place {
	uint64_t start;  /* 0: not known */
	uint64_t binary; /* its number in the store; 0: it is in none */
};

/* The longest time after which a sampled process's context is read again. */
#define THREAD_KEYS_REST_NS UINT64_C(120000000000)

/*
 * Holds the parsers, and uses a fetcher if `is_capable`: this process has CAP_SYS_PTRACE. The thread starts
 * with the first request. 0 or -ENOMEM.
 */
int thread_keys_new(struct parsers *parsers, bool is_capable, struct thread_keys **ret);
/* A thread that hangs frees what it uses when it ends. Accepts NULL. Returns NULL. */
struct thread_keys *thread_keys_free(struct thread_keys *keys);

/*
 * Finds a key's name by its number. now: of CLOCK_MONOTONIC. 0; -ENOENT: the process has no such key;
 * -EAGAIN: that is not known yet, or never will be, as the name is too long. *ret is valid until the next
 * call. NULL: -EAGAIN.
 */
int thread_keys_find(struct thread_keys *keys, pid_t pid, struct program_place place,
		     uint8_t number, uint64_t now, const char **ret);

/*
 * The process's context, valid until the next call; NULL: it has none, or it is not known yet, as at its first
 * sample. keys may be NULL: returns NULL.
 */
const struct process_context *thread_keys_process(struct thread_keys *keys, pid_t pid,
						  struct program_place place, uint64_t now);

#endif
