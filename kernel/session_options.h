/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_SESSION_OPTIONS_H
#define DP_KERNEL_SESSION_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "kernel/tracer.h"

struct filter;

/* What the events of a session need. */
struct session_needs {
	unsigned int programs;      /* to load, bits by enum dp_event */
	unsigned int levels;        /* the most walks in progress on a CPU: see DP_CPU_LEVELS */
	unsigned int rings_per_cpu; /* 2: off-CPU samples and crashes have their own ones */
	bool user_only;             /* no event happens in the kernel */
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
	unsigned int hz;       /* wanted samples of an event per second and CPU; 0: not known */
	const char *btf;       /* a file with the kernel's types (kernel_types.h), or NULL */
	bool has_cgroups;      /* samples have the ids of their cgroups */
	bool no_runtimes;      /* without the frames of languages' runtimes */
	uint64_t table_memory; /* maximum size of the pool, in bytes */
	/* Has the user interrupted it, while probes are being set? NULL: no */
	bool (*is_interrupted)(const void *arg);
	const void *interrupt_arg;
};

#endif
