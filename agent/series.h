/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_SERIES_H
#define DP_AGENT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/label_set.h"
#include "report/sample.h"

struct deliver_label;
struct relabel;
struct series_memory;

/*
 * Which profile of a backend a sample goes to: the labels of that profile, from those of the sample's
 * process, the rules for all backends, what the backend adds, and its own rules. Rules also see
 * __meta_process_comm, __meta_process_pid, __meta_thread_name, __meta_process_cgroup and
 * __meta_process_exe. Each distinct set of labels costs a backend memory, so the number of recent sets is limited
 * (series_memory.h). Beyond it, samples lose first their own labels, state and process, then the thread's name, then
 * the process's name; without room for the service's set alone, they go to SERIES_OTHER. Of SERIES_PARTS parts of
 * the room, one service gets at most one, and half a part more for names; one part is reserved for the first set of
 * each service.
 */
struct series;

#define SERIES_OTHER "other"
#define SERIES_PARTS 4

/* What a sample keeps besides its service, from all to nothing. */
enum series_kept {
	SERIES_ALL,
	SERIES_THREAD,
	SERIES_COMM,
	SERIES_SERVICE,
	SERIES_NOTHING,
	SERIES_N_KEPT
};
#define SERIES_KEPT_WORDS                                                                          \
	{                                                                                          \
		"all", "thread", "comm", "service", "nothing"                                      \
	}

struct series_options {
	const char *host;                   /* "": not known */
	const struct deliver_label *labels; /* added to all */
	size_t n_labels;
	const struct relabel *all_rules, *own_rules; /* NULL: none */
	/*
	 * Each process has profiles of its own, with facts about it, and any labels (OTLP). Otherwise they
	 * are Pyroscope's (pyroscope_labels.h).
	 */
	bool by_process;
	size_t max_sets;              /* of labels */
	struct series_memory *memory; /* the backend's; NULL: only of this series */
	uint64_t now_ns;              /* CLOCK_MONOTONIC */
};

struct series_sample {
	bool is_dropped; /* by a rule; the rest is not set */
	enum series_kept kept;
	/* Of the profile. An empty text removes a label that it would have otherwise. */
	const struct label_set *profile;
	/* The sample's other labels; that of its event is always kept. NULL: none */
	const struct label_set *sample;
};

/* The options must outlive it. 0 or -ENOMEM. */
int series_new(const struct series_options *options, struct series **ret);
/* Accepts NULL. Returns NULL. */
struct series *series_free(struct series *series);

/* *ret is valid until the next call. 0 or -ENOMEM. */
int series_find(struct series *series, const struct sample *sample, struct series_sample *ret);

#endif
