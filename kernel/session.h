/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_SESSION_H
#define DP_KERNEL_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "kernel/cpu_events.h"
#include "kernel/pool.h"
#include "kernel/rings.h"

struct filter;

/* The inode of the first PID namespace: PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFC

/* Of programs that count processes as this one does, also in a container: 0, or their namespace. */
uint32_t session_pid_namespace(void);

/* Segments of the pool that are there from the start: 8 MiB have some 4 million rows. */
#define SESSION_FIRST 4

/* Segments that are made known to the kernel in one go, at most. */
#define SESSION_MADE 64

/*
 * The BPF programs and maps of one run. They live exactly as long as the
 * process: nothing is pinned, so that whatever ends it, nothing stays behind.
 */
struct session {
	struct dwarfprof_bpf *bpf;
	struct cpu_events cpus; /* there are none before session_sample_cpus() */
	struct bpf_link **links;
	size_t n_links, links_size;
	bool uprobe_multi;   /* a uprobe is a link of its own kind (uprobe.h), here: */
	int uprobe_fd;       /* -1: there is none */
	unsigned int n_cpus; /* see cpus.h */
	unsigned int n_rings;
	const struct filter *filter;
	uint64_t min_block_ns, max_block_ns;
	struct pool pool;
	uint8_t *first[SESSION_FIRST];
	uint32_t n_first;
	/* Segments that the kernel does not know yet: nothing in them is published. */
	uint32_t made[SESSION_MADE];
	int made_fds[SESSION_MADE];
	uint32_t n_made;
	bool is_full;  /* there are more processes than the kernel is told of */
	int *ring_fds; /* by CPU, and by CPU again if there are two each */
	struct rings rings;
};

struct session_options {
	unsigned int n_cpus; /* see cpus.h */
	bool all_processes;
	bool inherit;                /* sample the children of those that are published */
	const struct filter *filter; /* what the kernel leaves out */
	size_t n_threads;            /* sample these alone, see session_add_thread(); 0: all */
	enum dp_unwind unwind;
	unsigned int max_frames; /* at most DP_MAX_FRAMES */
	enum dp_sides sides;     /* a missing right to the kernel's addresses is told */
	unsigned int verify; /* every so many samples take a copy of their stack along; 0: none */
	unsigned int
		programs; /* that are wanted, bits by enum dp_event: of uprobes alone, or others */
	unsigned int states; /* bits by enum dp_state */
	uint64_t min_block_ns, max_block_ns;
	unsigned int max_rate; /* samples per event, process and second; 0: all */
	const char *btf;       /* a file with the kernel's types (kernel_types.h), or NULL */
	size_t ring_size;      /* bytes per CPU: a power of two, and of pages */
	uint64_t table_memory; /* bytes of the pool at most */
};

/*
 * Load the programs and make the maps. Says what is wrong, what is needed and
 * what to type, and returns a negative errno: -EPERM if a permission is
 * missing, -EOPNOTSUPP if the kernel cannot do it.
 */
int session_open(struct session *ret, const struct session_options *options);
void session_close(struct session *session);

/*
 * Tell the kernel at which cell the space of a process is; 0 removes the process.
 * Those that do not fit are left out, with a warning.
 */
int session_publish(struct session *session, pid_t pid, uint32_t cell);

/* Sample a thread, one of n_threads; or no longer. */
int session_add_thread(struct session *session, pid_t tid);
void session_drop_thread(struct session *session, pid_t tid);

/* Leave out processes with this name, as far as there is room for names. */
void session_drop_comm(struct session *session, const char comm[DP_COMM_SIZE]);

/* Have fn called for every part of a record that arrives, in the order of each ring. */
int session_read_rings(struct session *session, ring_fn fn, void *arg);
/* The descriptor that becomes readable when a ring is filling up; and read the records now. */
int session_rings_fd(const struct session *session);
int session_consume(struct session *session);

/* Start sampling every CPU that the filter has (cpu_events_start()). */
int session_sample_cpus(struct session *session, unsigned int hz, const char **ret_event,
			const char **ret_why);
/* Start sampling each time a function of a file is entered, in all processes that are wanted. */
int session_sample_uprobe(struct session *session, const char *path, const char *symbol);
/* Start sampling threads that block. */
int session_sample_blocks(struct session *session);
/*
 * Take a sample whenever a perf event overflows (perf_event_open(2)), which the session takes over
 * and enables; it was opened with the program of DP_EVENT_CPU. 0 or a negative errno.
 */
int session_sample_perf(struct session *session, int fd);
/* Stop sampling. Records on their way still arrive. */
void session_stop(struct session *session);

/* Samples that could not be sent, or read, so far, and how long the threads among them were blocked. */
uint64_t session_losses(const struct session *session, uint64_t *ret_time_ns);

/* Call fn for each thread that has been blocked since sampling began, until it returns other than 0. */
int session_each_seen(const struct session *session,
		      int (*fn)(void *arg, const struct dp_blocked *blocked), void *arg);

/*
 * Call fn for each thread that is blocked, and how long it has been until then, if
 * that is within the limits; until fn returns other than 0.
 */
int session_each_blocked(const struct session *session, uint64_t until_ns,
			 int (*fn)(void *arg, const struct dp_blocked *blocked, uint64_t time_ns),
			 void *arg);

#endif
