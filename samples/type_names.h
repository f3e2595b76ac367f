/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_TYPE_NAMES_H
#define DP_SAMPLES_TYPE_NAMES_H

#include "report/label.h"

struct parsers;
struct redaction;
struct report_queue;

/* The label with the type of an exception: as in its std::type_info, until it is replaced. */
#define TYPE_NAMES_KEY LABEL_EXCEPTION_TYPE

/*
 * Replaces the mangled type in the labels of samples by its name in the source. A parser demangles it (NULL: this
 * process); that may take long, so the thread that makes the reports waits for it, not the one that reads the rings.
 * The labels are redacted afterwards (NULL: not at all), because that would damage a mangled name. 0 or -ENOMEM.
 */
int type_names_install(struct parsers *parsers, const struct redaction *redaction,
		       struct report_queue *queue);

#endif
