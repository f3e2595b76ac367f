/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_THREAD_READER_H
#define DP_SAMPLES_THREAD_READER_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/abi.h"

struct dump_bpf;

/*
 * Reads what threads of a process are doing, without stopping them: a BPF program that
 * the kernel runs for each (bpf/dump.bpf.c).
 */
struct thread_reader {
	struct dump_bpf *bpf;
	bool meets_all; /* the kernel cannot be asked for one process only: before 6.1 */
};

/*
 * kernel: with their kernel stacks; hidden: with DP_KERNEL_HIDDEN instead; btf: a file with the
 * kernel's types (kernel_types.h), or NULL. Says what is wrong, and returns a negative errno: -EPERM if a permission is missing, -EOPNOTSUPP if
 * the kernel cannot do it.
 */
int thread_reader_open(struct thread_reader *ret, bool kernel, bool hidden, const char *btf);
void thread_reader_close(struct thread_reader *reader);

/*
 * Call fn for each thread of a process, or for the one of them that is asked for; until
 * it returns other than 0, which is returned. The addresses of the kernel's stack follow
 * the thread. No thread at all is no error. 0 or negative errno.
 */
int thread_reader_read(struct thread_reader *reader, pid_t pid, pid_t tid,
		       int (*fn)(void *arg, const struct dp_thread *thread), void *arg);

/*
 * The same of records that have been read: each thread, and behind it the addresses of its
 * kernel stack. They are aligned to 8 bytes. -EBADMSG: the last one is not whole; those
 * before it have been passed on.
 */
int thread_records_read(const char *bytes, size_t size,
			int (*fn)(void *arg, const struct dp_thread *thread), void *arg);

#endif
