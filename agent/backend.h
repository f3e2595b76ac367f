/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_BACKEND_H
#define DP_AGENT_BACKEND_H

#include <stdbool.h>

#include "agent/series.h"
#include "deliver/deliver.h"
#include "report/report.h"

struct relabel;
struct seldom;

#define BACKEND_HEADERS 16
#define BACKEND_LABELS 16

/* Where profiles are delivered, and how they are changed before. */
struct backend_options {
	struct deliver_options deliver;     /* without the spool, which is the agent's */
	const char *name;                   /* NULL: it has none */
	const struct deliver_label *labels; /* added to all profiles */
	size_t n_labels;
	const struct relabel *all_rules, *own_rules; /* NULL: none */
	size_t max_label_sets; /* that it gets (series.h); beyond it, samples lose labels */
	size_t max_frames;     /* of a stack; 0: as many as its protocol's readers accept */
};

struct backend_counts {
	struct deliver_counts deliver;
	struct deliver_error error;
	uint64_t filtered;            /* samples that rules drop */
	uint64_t folded;              /* samples of too many sets of labels */
	uint64_t kept[SERIES_N_KEPT]; /* samples, by what they keep of them */
};

/*
 * Whether both describe the same backend, with one spool: the same URL, name, tenant and user. Other options may
 * change while it is open.
 */
bool backend_options_are_of_one(const struct backend_options *a, const struct backend_options *b);
bool backend_options_are_equal(const struct backend_options *a, const struct backend_options *b);

struct backend;

/*
 * spool: a directory, with a subdirectory for each backend; NULL: pending requests stay in memory. Logs errors.
 * 0 or a negative errno.
 */
int backend_open(const struct backend_options *options, const char *spool, uint64_t spool_bytes,
		 struct backend **ret);
/* Delivers what it can within time_ns, and logs what is left. Accepts NULL. Returns NULL. */
struct backend *backend_close(struct backend *backend, uint64_t time_ns);

bool backend_is(const struct backend *backend, const struct backend_options *options,
		const char *spool);
/* Posts by other options of the same backend from now on. Logs errors. 0 or a negative errno. */
int backend_configure(struct backend *backend, const struct backend_options *options,
		      uint64_t spool_bytes);
/* Its name, or else its URL without what is secret in it. */
const char *backend_name(const struct backend *backend);
struct backend_counts backend_counts(struct backend *backend);
/* Intervals that could not be written for it. */
struct seldom *backend_failures(struct backend *backend);
/* Logs what has not been delivered; it is lost unless the spool is a directory. */
void backend_say_left(struct backend *backend);

/*
 * Makes a report that puts its samples into the spool when it is finished. The context's start may
 * be changed before the first sample. The caller keeps the options. 0 or -ENOMEM.
 */
int backend_report_new(struct backend *backend, const struct backend_options *options,
		       const struct report_context *context, struct report **ret);

#endif
