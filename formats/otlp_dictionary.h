/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_OTLP_DICTIONARY_H
#define DP_FORMATS_OTLP_DICTIONARY_H

#include "formats/code_mappings.h"
#include "formats/element_table.h"
#include "otlp.pb-c.h"
#include "report/bytes.h"
#include "report/label.h"
#include "report/string_table.h"
#include "report/symbolized.h"

/*
 * The tables of a request of OpenTelemetry's profiles (otlp.proto), which all its profiles share.
 * Each element is there once, and packed as soon as something refers to it; number 0 of each table
 * is the zero value. All functions return 0, -ENOMEM, or -EOVERFLOW if a table is full.
 */
struct otlp_dictionary {
	bool keeps_linker_names;            /* names are as in the symbol table */
	struct string_table strings, texts; /* texts: of attributes */
	struct element_table mappings, locations, functions, links, attributes, stacks;
	struct bytes packed; /* a ProfilesDictionary */
};

int otlp_dictionary_init(struct otlp_dictionary *d, bool keeps_linker_names);
void otlp_dictionary_done(struct otlp_dictionary *d);

/* Returns the number of a string, made printable on a terminal. */
int otlp_string(struct otlp_dictionary *d, const char *text, int32_t *ret);

/* The label's key may be another one. */
int otlp_attribute(struct otlp_dictionary *d, const char *key, const struct label *label,
		   int32_t *ret);

int otlp_link(struct otlp_dictionary *d, const uint8_t trace_id[16], const uint8_t span_id[8],
	      int32_t *ret);

/* Of the kernel or a binary. */
int otlp_mapping(struct otlp_dictionary *d, const struct code_mapping *mapping, int32_t *ret);

/*
 * Returns the number of the location of the first of n shown functions, and in *ret_n how many of
 * them belong to it: functions inlined there, and the one that contains them. mapping: its number;
 * 0: none.
 */
int otlp_location(struct otlp_dictionary *d, const struct symbolized_frame *symbolized, size_t n,
		  int32_t mapping, int32_t *ret, size_t *ret_n);

/* The leaf first. */
int otlp_stack(struct otlp_dictionary *d, const int32_t *locations, size_t n, int32_t *ret);

/* Appends a message to bytes that already have parts of the same message. */
void otlp_pack(const ProtobufCMessage *message, struct bytes *to);

#endif
