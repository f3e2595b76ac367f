/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_SESSION_H
#define DP_LOADER_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"
#include "pool.h"

struct ring_buffer;

/* Who reads the ring of one CPU. */
struct ring_reader {
	int (*fn)(void *arg, unsigned int cpu, const void *record, size_t size);
	void *arg;
	unsigned int cpu;
};

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
	struct bpf_link **links;
	size_t n_links, links_size;
	unsigned int n_cpus; /* see cpus.h */
	struct pool pool;
	uint8_t *first[SESSION_FIRST];
	uint32_t n_first;
	/* Segments that the kernel does not know yet: nothing in them is published. */
	uint32_t made[SESSION_MADE];
	int made_fds[SESSION_MADE];
	uint32_t n_made;
	bool is_full;  /* there are more processes than the kernel is told of */
	int *ring_fds; /* by CPU */
	struct ring_reader *readers;
	struct ring_buffer *rings;
};

struct session_options {
	unsigned int n_cpus; /* see cpus.h */
	bool all_processes;
	enum dp_unwind unwind;
	unsigned int max_frames; /* at most DP_MAX_FRAMES */
	bool uprobe;             /* the uprobe program is wanted instead of the CPU one */
	size_t ring_size;        /* bytes per CPU: a power of two, and of pages */
	uint64_t table_memory;   /* bytes of the pool at most */
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

/*
 * Have fn called for every record that arrives (struct dp_sample, struct
 * dp_chunk), in the order of each CPU; the record is gone afterwards.
 */
int session_read_rings(struct session *session,
		       int (*fn)(void *arg, unsigned int cpu, const void *record, size_t size),
		       void *arg);
/* The descriptor that becomes readable when a ring is filling up; and read all records now. */
int session_rings_fd(const struct session *session);
int session_consume(struct session *session);

/* Start sampling every CPU. *ret_event is "cycles" or "cpu-clock", whichever the machine has. */
int session_sample_cpus(struct session *session, unsigned int hz, const char **ret_event);
/* Start sampling each time a function of a file is entered, in all processes that are wanted. */
int session_sample_uprobe(struct session *session, const char *path, const char *symbol);
/* Stop sampling. Records on their way still arrive. */
void session_stop(struct session *session);

/* Samples that could not be sent so far. */
uint64_t session_losses(const struct session *session);

#endif
