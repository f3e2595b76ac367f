/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_RESOURCE_LABEL_H
#define DP_REPORT_RESOURCE_LABEL_H

#include <stdbool.h>

/*
 * Labels about the process of a sample, or what it runs in, which OpenTelemetry has a place for: a
 * resource. Their keys begin as those of its semantic conventions (`service.name`), or with
 * REPORT_RESOURCE.
 */
#define REPORT_RESOURCE "resource:"

bool resource_label_has_key(const char *key);

/* The key without REPORT_RESOURCE. */
const char *resource_label_plain(const char *key);

#endif
