/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_PPROF_WRITER_H
#define DP_FORMATS_PPROF_WRITER_H

#include <stdint.h>

#include "formats/gzip.h"
#include "formats/code_mappings.h"
#include "report/symbolized.h"
#include "report/string_table.h"
#include "symbols/names.h"
#include "pprof.pb-c.h"

/*
 * Writes a pprof file in pieces. Consecutive messages of one type are equivalent to one message
 * (Protocol Buffers, Encoding, "Last One Wins"), so Profiles with one sample each are one Profile
 * with all samples, and only one is in memory.
 */
struct pprof_writer {
	const struct names_options *options;
	struct gzip gzip;
	size_t size; /* so far, before compression; what comes last counts already */
	int err;     /* of the last write while a message is packed */
	struct string_table strings;
	struct pprof_function *functions;
	struct pprof_location *locations;
};

/*
 * 0 or -ENOMEM; pprof_writer_done() after success. The caller keeps `to` and the options, by which
 * names are looked up.
 */
int pprof_writer_init(struct pprof_writer *writer, const struct names_options *options, FILE *to);
void pprof_writer_done(struct pprof_writer *writer);

/* Counts what the mappings take at the end, which are the same in each file. 0 or -ENOMEM. */
int pprof_writer_reserve(struct pprof_writer *writer, const struct code_mappings *mappings);

/* Writes the contents of a Profile. 0 or a negative errno. */
int pprof_writer_put(struct pprof_writer *writer, const Pprof__Profile *profile);

/* Returns the number of a string, made printable on a terminal. 0 or -ENOMEM. */
int pprof_writer_string(struct pprof_writer *writer, const char *text, int64_t *ret);

/*
 * Returns the id of the location of the first of n shown functions, and in *ret_n how many of them
 * belong to it: functions inlined there, and the one that contains them. Writes a new one. mapping:
 * of its address; NULL: none. 0 or a negative errno.
 */
int pprof_writer_location(struct pprof_writer *writer, const struct symbolized_frame *symbolized,
			  size_t n, struct code_mapping *mapping, uint64_t *ret, size_t *ret_n);

/* Writes the rest: the mappings, the strings, the end of the file. */
int pprof_writer_finish(struct pprof_writer *writer, const struct code_mappings *mappings);

#endif
