/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_SESSION_H
#define DP_KERNEL_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "kernel/cpu_events.h"
#include "kernel/pool.h"
#include "kernel/rings.h"
#include "kernel/tracer.h"
#include "kernel/uprobe_links.h"

struct exception_probes;
struct filter;
struct uprobe_places;

/* The inode of the initial PID namespace: PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFC

/*
 * Returns the inode of this process's PID namespace, in which the programs report pids, or 0 for
 * the initial namespace.
 */
uint32_t session_pid_namespace(void);

/* Segments of the pool that exist from the start: 8 MiB hold some 4 million rows. */
#define SESSION_FIRST 4

/* The maximum number of segments that are made known to the kernel in one batch. */
#define SESSION_MADE 64

/*
 * The BPF programs and maps of one run. Nothing is pinned: they end with the process, however it
 * ends.
 */
struct session {
	struct dwarfprof_bpf *bpf;
	struct cpu_events cpus; /* empty before session_sample_cpus() */
	struct bpf_link **links;
	size_t n_links, links_size;
	struct uprobe_links uprobes;
	struct exception_probes *exceptions; /* NULL: not needed */
	struct tracer tracer;
	bool counts_missed; /* hits that the tracer missed are lost samples: all would be sampled */
	unsigned int n_cpus; /* see cpus.h */
	unsigned int n_rings;
	const struct filter *filter;
	uint64_t min_block_ns, max_block_ns;
	struct pool pool;
	uint8_t *first[SESSION_FIRST];
	uint32_t n_first;
	/* Segments that the kernel does not know yet; nothing in them has been published. */
	uint32_t made[SESSION_MADE];
	int made_fds[SESSION_MADE];
	uint32_t n_made;
	bool is_full;  /* a process did not fit into the kernel's map */
	int *ring_fds; /* by CPU; with two rings per CPU, the second ones follow */
	struct rings rings;
};

/* What the events of a session need. */
struct session_needs {
	unsigned int programs;      /* to load, bits by enum dp_event */
	unsigned int levels;        /* the most walks in progress on a CPU: see DP_CPU_LEVELS */
	unsigned int rings_per_cpu; /* 2: off-CPU samples and crashes have their own ones */
	bool user_only;             /* none happens in the kernel */
	bool has_several;           /* samples have the number of their event */
	bool by_period;             /* samples stand for as many events as the kernel has counted */
	bool has_values;            /* hits have values: session_set_arguments() */
	bool has_times;             /* and the times of calls: session_time_calls() */
	unsigned int label_probes;  /* the most whose calls label samples: session_label_calls() */
	uint32_t alloc_interval;    /* of DP_EVENT_ALLOC, in bytes: as dp_alloc_interval */
	bool has_exceptions;        /* uprobes read what is thrown: session_sample_exceptions() */
	bool has_slots;             /* uprobes are added meanwhile: probe_slots.h */
	enum tracer_kind tracer;    /* of DP_EVENT_TRACE */
	char function[TRACER_NAME_SIZE]; /* of TRACER_FENTRY */
	bool has_span_times;             /* if they take long enough: session_end_calls() */
	uint64_t span_min_ns;            /* the least time of these */
};

struct session_options {
	unsigned int n_cpus; /* see cpus.h */
	struct session_needs needs;
	bool all_processes;
	bool inherit;                /* also sample children of published processes */
	pid_t not_inherited;         /* but not this one; 0: all */
	const struct filter *filter; /* what the kernel filters out */
	size_t n_threads;            /* sample only these, see session_add_thread(); 0: all */
	enum dp_unwind unwind;
	unsigned int max_frames; /* at most DP_MAX_FRAMES */
	enum dp_sides sides;     /* warns if the kernel hides its addresses */
	unsigned int verify;     /* copy the stack of every Nth sample; 0: of none */
	unsigned int states;     /* bits by enum dp_state */
	uint64_t min_block_ns, max_block_ns;
	unsigned int max_rate; /* samples per event, process and second; 0: all */
	const char *btf;       /* a file with the kernel's types (kernel_types.h), or NULL */
	bool no_runtimes;      /* without the frames of languages' runtimes */
	uint64_t table_memory; /* maximum size of the pool, in bytes */
	/* Does the user want to end it, while probes are set? NULL: no */
	bool (*is_interrupted)(const void *arg);
	const void *interrupt_arg;
};

/*
 * Makes a session of which nothing is loaded. Who is to fill the pool may know it, and has to wait for
 * session_load().
 */
void session_init(struct session *ret, const struct session_options *options);

/*
 * Loads the programs and creates the maps, which takes a tenth of a second. On failure, logs what is
 * wrong, what is needed and what to type, closes the session, and returns a negative errno: -EPERM if a
 * permission is missing, -EOPNOTSUPP if the kernel lacks a feature.
 */
int session_load(struct session *session, const struct session_options *options);

/* Both. */
int session_open(struct session *ret, const struct session_options *options);
void session_close(struct session *session);

/*
 * Tells the kernel the cell of a process's snapshot; 0 removes the process. Processes that do not fit
 * into the map are left out, with a warning.
 */
int session_publish(struct session *session, pid_t pid, uint32_t cell);

/* Start and stop sampling a thread, one of n_threads. */
int session_add_thread(struct session *session, pid_t tid);
void session_drop_thread(struct session *session, pid_t tid);

/* Stops sampling processes with this name, as far as the map has room for names. */
void session_drop_comm(struct session *session, const char comm[DP_COMM_SIZE]);

/* Calls fn for each part of each record that arrives, in order within each ring. */
int session_read_rings(struct session *session, ring_fn fn, void *arg);
/*
 * session_rings_fd(): a descriptor that is readable when a ring is filling up. session_consume():
 * reads all available records now.
 */
int session_rings_fd(const struct session *session);
int session_consume(struct session *session);

/* cpu_events_tick_ns() */
uint64_t session_tick_ns(const struct session *session);

/* Starts sampling each CPU that the filter accepts (cpu_events_start_time()). */
int session_sample_cpus(struct session *session, unsigned int hz, const char **ret_event,
			char ret_why[EVENT_WHY_SIZE]);
/* Starts sampling by events of the kernel or the CPUs' counters (cpu_events_start()). */
int session_sample_events(struct session *session, const struct event_kind *kinds,
			  const char *const *names, size_t n);
/*
 * Starts sampling at places of a file, in all processes that pass the filter. 0 or a negative errno, also
 * -ECANCELED.
 */
int session_sample_uprobe(struct session *session, const struct uprobe_places *places);
/* With needs.has_times, if the places are returns: notes when their calls begin. As above. */
int session_time_calls(struct session *session, const struct uprobe_places *places);
/*
 * Of one of needs.label_probes: keeps the values of calls that begin at places, for samples of what they call.
 * code: of all probes' places, of which there are at most DP_MAX_SPAN_PLACES. As above.
 */
int session_label_calls(struct session *session, const struct uprobe_places *places,
			const struct dp_span_places *code);
/*
 * Before that, with needs.has_span_times: the places at which the calls return. Their cookies are those of
 * the calls' own places. As above.
 */
int session_end_calls(struct session *session, const struct uprobe_places *exits);
/* The sum of what all CPUs have counted of these calls so far. 0 or a negative errno. */
int session_span_times(const struct session *session, struct dp_span_times *ret);
/*
 * Before that, with needs.has_values or label_probes: the values that are read there. A place's cookie
 * is the number of its list. -E2BIG: more than DP_MAX_ARGUMENT_LISTS.
 */
int session_set_arguments(struct session *session, const struct dp_arguments *lists, size_t n);
/*
 * With needs.has_exceptions: starts sampling where C++ runtimes throw, in files that are given to
 * session->exceptions before and later. Logs errors. 0 or a negative errno.
 */
int session_sample_exceptions(struct session *session);

/* Likewise, with the program of DP_EVENT_ALLOC, where allocators begin and return. */
int session_sample_allocs(struct session *session);

/*
 * Each piece of memory that is not given back, when sampling has ended. Stops with the first nonzero result
 * of fn, and returns it.
 */
int session_each_held(const struct session *session,
		      int (*fn)(void *arg, const struct dp_held *held), void *arg);
/* How many there were no room for. */
uint64_t session_held_full(const struct session *session);
/*
 * Starts sampling a tracepoint or a function of the kernel. number: of the event among several, and
 * of the list of its values. 0 or a negative errno.
 */
int session_sample_trace(struct session *session, const struct tracer_place *place,
			 unsigned int number);
/* Start sampling threads that block. */
int session_sample_off_cpu(struct session *session);
/* Starts sampling threads when a signal ends their process with a core dump. */
int session_sample_crashes(struct session *session);
/*
 * Takes a sample whenever a perf event (perf_event_open(2)) overflows. The session takes ownership
 * of the descriptor and enables the event. The session must have been opened with the program of
 * DP_EVENT_CPU. 0 or a negative errno.
 */
int session_sample_perf(struct session *session, int fd);
/*
 * Stops sampling. Records that are already in the rings can still be read. Warns of hits that a
 * tracer has missed.
 */
void session_stop(struct session *session);

/* Samples lost so far. */
struct session_losses {
	uint64_t full;       /* a ring had no room */
	uint64_t nested;     /* too many interrupted each other on a CPU */
	uint64_t missed;     /* the kernel's tracer did not call for them */
	uint64_t unreadable; /* records that are no samples */
	uint64_t untracked;  /* too many threads were blocked */
	uint64_t time_ns;    /* blocked time of those without room */
};

void session_losses(const struct session *session, struct session_losses *ret);

/*
 * A thread was found to have been blocked since before sampling began, and is taken for one that
 * the kernel has seen block. kernel_tid: its number in the initial PID namespace. -EEXIST: it has
 * run since; or another negative errno.
 */
int session_add_blocked(struct session *session, uint32_t kernel_tid,
			const struct dp_blocked *blocked);
void session_drop_blocked(struct session *session, uint32_t kernel_tid);
/* Has the kernel seen the thread block, or was it added? */
bool session_has_seen(const struct session *session, uint32_t kernel_tid);

/* Calls fn for each thread that has blocked since sampling began, until fn returns nonzero. */
int session_each_seen(const struct session *session,
		      int (*fn)(void *arg, const struct dp_blocked *blocked), void *arg);

/*
 * Calls fn for each thread that is blocked, with its blocked time up to until_ns if that is within
 * the limits, until fn returns nonzero.
 */
int session_each_blocked(const struct session *session, uint64_t until_ns,
			 int (*fn)(void *arg, const struct dp_blocked *blocked, uint64_t time_ns),
			 void *arg);

#endif
