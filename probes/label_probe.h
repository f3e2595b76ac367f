/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_LABEL_PROBE_H
#define DP_PROBES_LABEL_PROBE_H

#include "probes/probe_parts.h"

struct session;
struct spans;
struct totals;

/*
 * A probe whose values label samples taken during its calls: `label:PATH:NAME(VALUES)`; or
 * `span:PATH:NAME[(VALUES)] [min=TIME]`, which keeps only samples taken during calls of at least that time.
 */
struct label_probe {
	struct probe_parts parts;
	bool is_span;
	uint64_t min_ns;
};

/* 0, or -EINVAL, and what is wrong, or -ENOMEM; label_probe_done() frees *ret, also after an error. */
int label_probe_split(const char *text, struct label_probe *ret, char ret_why[ARGUMENTS_WHY_SIZE]);
void label_probe_done(struct label_probe *probe);

/* 0, or -EINVAL, and what is wrong. */
int label_probe_check(const char *text, char ret_why[ARGUMENTS_WHY_SIZE]);

/* The same for two valid ones: whether they can be used together. */
int label_probe_check_both(const char *a, const char *b, char ret_why[ARGUMENTS_WHY_SIZE]);

/* The same of one whose parts are known. */
int label_probe_check_parts(const struct probe_parts *parts, bool is_span,
			    char ret_why[ARGUMENTS_WHY_SIZE]);
/* Takes ` min=TIME` from the end of a span's text; without one, it is 0. 0, or -EINVAL, and what is wrong. */
int label_probe_take_min(char *text, uint64_t *ret_ns, char ret_why[ARGUMENTS_WHY_SIZE]);

/* Is it a span, and of what minimum? text: a valid one, or NULL. */
bool label_probe_is_span(const char *text, uint64_t *ret_min_ns);

/* With such a probe, when all samples are reported: adds the kernel's count of its calls to the totals. */
void label_probe_count(const struct session *session, struct spans *spans, struct totals *totals);

/* With any such probes: logs how many calls the kernel had no room for. */
void label_probe_say_forgotten(const struct session *session);

#endif
