/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DWARFPROF_H
#define DWARFPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Profile processes, this one or others, from within a program. dwarfprof(1) says what is needed
 * for it: CAP_BPF and CAP_PERFMON, and for other users' processes CAP_SYS_PTRACE.
 *
 * A profiler is used by one thread at a time. It has a thread of its own, which looks names up; it
 * handles no signals, starts no processes, and reports what is wrong to stderr. Functions return 0
 * or a negative errno.
 */
struct dwarfprof;

enum dwarfprof_frame_kind {
	DWARFPROF_FRAME_USER,
	DWARFPROF_FRAME_KERNEL,
	DWARFPROF_FRAME_MARK, /* none, but why the stack ends here: "[truncated: no_table]" */
};

/* A function of a stack. NULL and 0 are what is not known. */
struct dwarfprof_frame {
	enum dwarfprof_frame_kind kind;
	bool is_inlined;       /* into the next one */
	const char *function;  /* its name, or what else there is to call it; never NULL */
	const char *binary;    /* path */
	uint64_t address;      /* in the binary's own address space, where there is one */
	const char *file;      /* as the compiler was given it, */
	const char *directory; /* which it is relative to */
	unsigned int line;
};

struct dwarfprof_sample {
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	uint64_t weight;   /* how many events it stands for */
	uint64_t value_ns; /* how long each of them took; 0: that was not measured */
	pid_t pid, tid;
	uint32_t cpu;
	const char *comm, *thread_name;
	const char *outcome; /* how the user stack ended: "complete", or one of dwarfprof(1) */
	const struct dwarfprof_frame *frames; /* the leaf first */
	size_t n_frames;
};

/* Zero stands for what is usual. */
struct dwarfprof_options {
	size_t size;       /* of this structure, as it was compiled */
	const pid_t *pids; /* with their children; NULL: all processes */
	size_t n_pids;
	const char *event; /* as after -e of dwarfprof(1); NULL: "cpu" */
	unsigned int hz;   /* 99 */
	unsigned int max_frames;
	uint64_t table_memory; /* bytes */
	/* The format of profiles, a word as after -f of dwarfprof(1); NULL: there are none. */
	const char *format;
	/* Called for each sample, by the profiler's own thread; what it leads to is gone when it returns. */
	void (*on_sample)(void *arg, const struct dwarfprof_sample *sample);
	void *arg;
};

/* Start sampling. The options need not outlive the call. -EINVAL: one of them makes no sense. */
int dwarfprof_start(const struct dwarfprof_options *options, struct dwarfprof **ret);

/* Becomes readable when there is something to do for dwarfprof_run(). */
int dwarfprof_fd(const struct dwarfprof *profiler);

/* Work for so many milliseconds at most. Call it ten times a second: what waits for longer is lost. */
int dwarfprof_run(struct dwarfprof *profiler, int timeout_ms);

/*
 * Write the profile of all that was sampled since it started, or since the last one was taken.
 * Sampling goes on, and each sample is in one profile. -ENOTSUP: the options name no format.
 */
int dwarfprof_take(struct dwarfprof *profiler, FILE *to);

/* Samples that were lost so far. */
uint64_t dwarfprof_lost(const struct dwarfprof *profiler);

/* End sampling, and wait for on_sample() to be called for the last time. */
int dwarfprof_stop(struct dwarfprof *profiler);

/* Leave nothing behind. NULL is nothing. Returns NULL. */
struct dwarfprof *dwarfprof_free(struct dwarfprof *profiler);

#ifdef __cplusplus
}
#endif

#endif
