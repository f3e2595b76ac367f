/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_THREAD_READER_H
#define DP_SAMPLES_THREAD_READER_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/abi.h"

struct dump_bpf;

/*
 * Reads the state of a process's threads without stopping them, by a BPF program that the kernel
 * runs for each (bpf/dump.bpf.c).
 */
struct thread_reader {
	struct dump_bpf *bpf;
	bool meets_all; /* the kernel cannot iterate over one process: before 6.1 */
};

/*
 * kernel: with kernel stacks; hidden: with DP_KERNEL_HIDDEN instead; btf: a file with the kernel's
 * types (kernel_types.h), or NULL. Logs errors and returns a negative errno: -EPERM if a permission
 * is missing, -EOPNOTSUPP if the kernel cannot do it.
 */
int thread_reader_open(struct thread_reader *ret, bool kernel, bool hidden, const char *btf);
void thread_reader_close(struct thread_reader *reader);

/*
 * Calls fn for each thread of a process (0: of the kernel), or only for `tid`, until it returns a value other than 0,
 * which is returned. The addresses of the kernel stack follow the thread. Finding no thread is no
 * error. 0 or a negative errno.
 */
int thread_reader_read(struct thread_reader *reader, pid_t pid, pid_t tid,
		       int (*fn)(void *arg, const struct dp_thread *thread), void *arg);

/*
 * The same for records that have been read: each thread, followed by the addresses of its kernel
 * stack, aligned to 8 bytes. -EBADMSG: the last one is truncated; those before it have been passed
 * on.
 */
int thread_records_read(const char *bytes, size_t size,
			int (*fn)(void *arg, const struct dp_thread *thread), void *arg);

#endif
