/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_NAMED_LABELS_H
#define DP_AGENT_NAMED_LABELS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Labels of a profile while they are changed. A label has two names: OpenTelemetry's, such as
 * `k8s.pod.uid`, and Prometheus's (data model, "Metric names and labels"), `k8s_pod_uid`, which finds
 * it. As there, a label with an empty value is none, and those that begin with `__` are not sent.
 */
struct named_labels {
	struct named_label {
		char *key, *name, *value;
		bool is_programs; /* set by a program, which may set any number */
	} * items;
	size_t n, size;
};

/* More are left out, programs' first. */
#define NAMED_LABELS_MAX 64

void named_labels_done(struct named_labels *labels);

/* By either name. The value; "": there is none. */
const char *named_labels_get(const struct named_labels *labels, const char *name);
/* By either name; "" removes it. Copies both. 0 or -ENOMEM. */
int named_labels_set(struct named_labels *labels, const char *name, const char *value);
/* As a program sets it. */
int named_labels_set_programs(struct named_labels *labels, const char *name, const char *value);
/* Removes number i; the others keep their order. */
void named_labels_remove(struct named_labels *labels, size_t i);

/* Whether it is for rules only. */
bool named_label_is_internal(const struct named_label *label);

/* Whether a key is one of the facts about a process, which neither rules nor backends set. */
bool named_label_is_fact(const char *key);
#define NAMED_LABELS_FACTS "labels process.* are facts about the process and cannot be set"

/* Prometheus's name for a key, in new memory; NULL: none left. */
char *named_label_name(const char *key);

#endif
