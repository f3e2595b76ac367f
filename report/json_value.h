/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_JSON_VALUE_H
#define DP_REPORT_JSON_VALUE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "report/label_set.h"

/* Values as every JSON output of the program writes them. NULL if memory is out. */

/*
 * A name of a file or a process, which may be any bytes: what is not UTF-8
 * becomes question marks, byte by byte, so that the output stays valid.
 */
json_t *json_text(const char *text);

/* A label's value: a string or a number. */
json_t *json_label(const struct label *label);

/*
 * Add what every object of a sample says of its label set, which may be NULL: `labels` and
 * `labels_cut`, and if there are any, `label_units`, of numbers.
 */
void json_set_labels(json_t *json, const struct label_set *set);

/* An address: a string, "0x...", since not every reader keeps all bits of a number. */
json_t *json_hex(uint64_t value);

/*
 * Write a value with jansson's flags, and drop it; NULL is one that memory was missing for.
 * 0, -ENOMEM, or -EIO if it could not be written.
 */
int json_write(json_t *json, size_t flags, FILE *to);

/* Write a string as json_text() makes it, for what is too large to be held as a tree. As above. */
int json_write_text(const char *text, FILE *to);

#endif
