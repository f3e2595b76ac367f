/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_PROFILER_OPTIONS_H
#define DP_PROFILER_PROFILER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "kernel/event.h"
#include "kernel/pool.h"
#include "process/target.h"
#include "profiler/event.h"
#include "samples/labels.h"

struct cpu_budget;
struct names;

/* The default mean of allocated bytes per sample, and its maximum. */
#define ALLOC_INTERVAL (512u << 10)
#define ALLOC_GREATEST_INTERVAL (1u << 30)
/* Defaults: samples per second and CPU; frames of a stack. */
#define PROFILER_HZ 99
#define PROFILER_FRAMES 1024
/* The default of the shortest time off the CPU: what is shorter is nearly always an immediate wake-up. */
#define PROFILER_MIN_BLOCK_NS 1000

/* The native frames of interpreters. */
enum native_frames {
	NATIVE_FRAMES_FOLD, /* replaced by the functions that they execute */
	NATIVE_FRAMES_ALL,  /* beside these */
	NATIVE_FRAMES_ONLY, /* and no such functions */
};

/* What to sample, and how. */
struct profiler_options {
	struct target target;

	struct event event;
	struct event others[EVENT_MAX - 1]; /* sampled, too: if all has_period */
	size_t n_others;
	unsigned int hz; /* for sources that are sampled at a rate */
	unsigned int
		period; /* instead, events per sample, for sources that take one; 0: not given */
	enum dp_sides sides;
	unsigned int states;   /* of blocked threads: bits by enum dp_state */
	uint64_t min_block_ns; /* shorter and longer blocks are left out */
	uint64_t max_block_ns;
	unsigned int
		alloc_interval; /* of event_alloc, in bytes: as dp_alloc_interval (bpf/alloc.bpf.h) */
	struct own_number numbers[EVENT_MAX]; /* at most one per event, or several of one */
	size_t n_numbers;
	/* Probes whose calls label samples (probes/label_probe.h), not with an event that is a probe */
	const char *label_probes[DP_MAX_LABEL_PROBES];
	size_t n_label_probes;
	/*
	 * Where to listen for probes to add (probes/probe_server.h), not with an event or label that is a
	 * probe; or NULL
	 */
	const char *probe_socket;
	bool has_cgroups;      /* samples have the ids of their cgroups */
	bool process_metrics;  /* samples have labels of what their process uses */
	bool crashes;          /* sampled, too, beside one event of another kind */
	unsigned int max_rate; /* samples per process and second; 0: no limit */

	struct label_sources label_sources; /* the host's, in addition to the built-in ones */

	enum dp_unwind unwind;
	unsigned int max_frames;
	enum native_frames native_frames;
	unsigned int verify;       /* of every Nth sample; 0: none */
	const char *btf;           /* a file with the kernel's types (kernel_types.h), or NULL */
	uint64_t table_memory;     /* bytes, from POOL_MIN_ to POOL_MAX_MEMORY */
	bool cache;                /* keep tables and names on disk */
	bool symbols;              /* reports need names */
	const char *helper;        /* the program for parsers_new(); NULL: files are parsed here */
	enum sandbox_mode sandbox; /* OFF as without a helper, with which REQUIRE fails */
	struct cpu_budget *cpu_budget; /* the host's, of these processes; NULL: no limit */
	struct names *names; /* its options set the form of names; not to be shared meanwhile */

	/*
	 * Has the user interrupted it? Called while tables are awaited and probes are set. Before sampling, this
	 * leads to -ECANCELED; at its end, to a short wait. May be NULL.
	 */
	/* The host waits for the loop's descriptor itself, so each record makes that readable. */
	bool host_polls;
	bool (*is_interrupted)(const void *arg);
	const void *interrupt_arg;
};

/* All events that are sampled. */
static inline size_t profiler_n_events(const struct profiler_options *o)
{
	return 1 + o->n_others;
}

static inline const struct event *profiler_event(const struct profiler_options *o, size_t i)
{
	return i == 0 ? &o->event : &o->others[i - 1];
}

#endif
