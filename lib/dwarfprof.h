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
 * Profiles processes, its own or others, from within a program. As dwarfprof(1) says, this needs
 * CAP_BPF and CAP_PERFMON, and for processes of other users CAP_SYS_PTRACE.
 *
 * Only one thread may use a profiler at a time. The library starts threads that look up names. It
 * handles no signals, and logs errors to stderr. Functions return 0 or a negative errno.
 *
 * Unprivileged helper processes read the files of profiled programs. The process that starts them is a child
 * of the host until dwarfprof_free(), so wait for your own children by PID: reaping the library's child with
 * waitpid(-1) does no harm, but a loop that waits until no child is left blocks until dwarfprof_free().
 */
struct dwarfprof;

enum dwarfprof_frame_kind {
	DWARFPROF_FRAME_USER,
	DWARFPROF_FRAME_KERNEL,
	DWARFPROF_FRAME_MARK, /* not a function: why the stack ends here, "[truncated: no_table]" */
};

/* A function in a stack. NULL and 0 mean unknown. */
struct dwarfprof_frame {
	enum dwarfprof_frame_kind kind;
	bool is_inlined;       /* into the function of the next frame */
	const char *function;  /* its name, or a substitute; never NULL */
	const char *binary;    /* path */
	uint64_t address;      /* within the binary, if there is one */
	const char *file;      /* as passed to the compiler */
	const char *directory; /* which `file` is relative to */
	unsigned int line;
};

struct dwarfprof_sample {
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	uint64_t weight;   /* number of events it stands for */
	uint64_t value_ns; /* duration of each event; 0: not measured */
	pid_t pid, tid;
	uint32_t cpu;
	const char *comm, *thread_name;
	const char *outcome; /* "complete", or why the user stack ended: see dwarfprof(1) */
	const struct dwarfprof_frame *frames; /* leaf first */
	size_t n_frames;
};

/*
 * What a sample counts: its number of events, its time, each with the unit. Several events have a
 * value each, of which a sample has one.
 */
struct dwarfprof_value {
	const char *name, *unit; /* "cpu", "nanoseconds"; "page_faults", "count" */
	uint64_t value;
};

/* A fact about a sample, such as route=/login or size=4096 bytes. */
struct dwarfprof_label {
	const char *key;
	const char *text; /* NULL: a number */
	int64_t number;
	const char *unit; /* of a number; "": none */
};

/*
 * More about a sample: only for the pointer that on_sample() was given, and only during that call;
 * not for a copy. The strings live as long. The last two return false if there is no i-th one. The
 * structures that they fill in never grow.
 */
const char *dwarfprof_sample_event(const struct dwarfprof_sample *sample); /* "off-cpu" */
bool dwarfprof_sample_value(const struct dwarfprof_sample *sample, size_t i,
			    struct dwarfprof_value *ret);
bool dwarfprof_sample_label(const struct dwarfprof_sample *sample, size_t i,
			    struct dwarfprof_label *ret);

/* Zero selects the default. */
struct dwarfprof_options {
	size_t size;       /* sizeof this structure */
	const pid_t *pids; /* their children too; NULL: all processes */
	size_t n_pids;
	const char *event; /* as for -e in dwarfprof(1); NULL: "cpu" */
	unsigned int hz;   /* default: 99 */
	unsigned int max_frames;
	uint64_t table_memory; /* in bytes */
	/* The format of profiles, as for --format in dwarfprof(1); NULL: no profiles. */
	const char *format;
	/*
	 * Called for each sample, by the profiler's own thread. The sample is valid only during the
	 * call.
	 */
	void (*on_sample)(void *arg, const struct dwarfprof_sample *sample);
	void *arg;
	/*
	 * The program that reads files, of this version; default: that which was installed with the
	 * library. "": none. Without one, the host reads them itself.
	 */
	const char *helper;
};

/* Starts sampling. The options need not outlive the call. -EINVAL: an option is invalid. */
int dwarfprof_start(const struct dwarfprof_options *options, struct dwarfprof **ret);

/* Returns a descriptor that is readable when dwarfprof_run() has work to do. */
int dwarfprof_fd(const struct dwarfprof *profiler);

/* Works for at most timeout_ms. Call it at least ten times a second: otherwise samples are lost. */
int dwarfprof_run(struct dwarfprof *profiler, int timeout_ms);

/*
 * Writes a profile of everything sampled since the start or the last profile. Sampling continues,
 * and each sample is in exactly one profile. -ENOTSUP: the options name no format.
 */
int dwarfprof_take(struct dwarfprof *profiler, FILE *to);

/* Returns the number of samples lost so far. */
uint64_t dwarfprof_lost(const struct dwarfprof *profiler);

/* Stops sampling. When it returns, on_sample() has been called for all samples. */
int dwarfprof_stop(struct dwarfprof *profiler);

/* Frees the profiler. Accepts NULL. Returns NULL. */
struct dwarfprof *dwarfprof_free(struct dwarfprof *profiler);

#ifdef __cplusplus
}
#endif

#endif
