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
#include "kernel/probed_files.h"
#include "kernel/rings.h"
#include "kernel/session_options.h"
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
	struct probed_files probed;          /* their files */
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

/*
 * Makes a session without loaded programs. Users of the pool may take its address now, but must not fill it before
 * session_load().
 */
void session_init(struct session *ret, const struct session_options *options);

/*
 * Loads the programs and creates the maps, which takes a tenth of a second. On failure, logs what is
 * wrong, what is needed and what to type, closes the session, and returns a negative errno: -EPERM if a
 * permission is missing, -EOPNOTSUPP if the kernel lacks a feature.
 */
int session_load(struct session *session, const struct session_options *options);

/* session_init() and session_load(). */
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
 * For one of needs.label_probes: stores the values of calls that begin at `places`, to label samples taken during
 * them. code: the places of all probes, at most DP_MAX_SPAN_PLACES. Returns as above.
 */
int session_label_calls(struct session *session, const struct uprobe_places *places,
			const struct dp_span_places *code);
/*
 * To be called before that, with needs.has_span_times: probes where the calls return, with the cookies of the calls'
 * entries. Returns as above.
 */
int session_end_calls(struct session *session, const struct uprobe_places *exits);
/*
 * To be called before that, with needs.has_values or label_probes: sets the lists of values to read. A place's cookie
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
 * Calls fn for each allocation that is still in use when sampling has ended, until fn returns nonzero; returns that.
 */
int session_each_held(const struct session *session,
		      int (*fn)(void *arg, const struct dp_held *held), void *arg);
/* How many allocations the map had no room for. */
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

#endif
