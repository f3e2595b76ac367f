/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_JSON_VALUE_H
#define DP_FORMATS_JSON_VALUE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "report/label_set.h"

/* Values in the form of every JSON output. NULL: out of memory. */

/*
 * The name of a file or a process, which may be any bytes: each byte that is not UTF-8 becomes a
 * question mark, so that the output stays valid.
 */
json_t *json_text(const char *text);

/* A label's value: a string or a number. */
json_t *json_label(const struct label *label);

/*
 * Adds a sample's label set, which may be NULL: `labels` and `labels_cut`, and `label_units` of
 * numbers if there are any.
 */
void json_set_labels(json_t *json, const struct label_set *set);

/* An address as a string, "0x...", because some readers do not keep all bits of a number. */
json_t *json_hex(uint64_t value);

/*
 * Writes a value with jansson's flags, and frees it; NULL means out of memory. 0, -ENOMEM, or -EIO
 * if it could not be written.
 */
int json_write(json_t *json, size_t flags, FILE *to);

/* Writes a string as json_text() does, for output too large for a tree. Errors as above. */
int json_write_text(const char *text, FILE *to);

#endif
