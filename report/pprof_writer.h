/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_PPROF_WRITER_H
#define DP_REPORT_PPROF_WRITER_H

#include <stdint.h>

#include "report/gzip.h"
#include "report/mapping.h"
#include "report/symbolized.h"
#include "report/string_table.h"
#include "symbols/names.h"
#include "pprof.pb-c.h"

/*
 * A pprof file, written piece by piece: messages of one type that follow each other are
 * one message (Protocol Buffers, Encoding, "Last One Wins"), so a Profile with one
 * sample after the other is a Profile with all of them, and no more than one is in memory.
 */
struct pprof_writer {
	const struct names_options *options;
	struct gzip gzip;
	int err; /* of the last writing, while a message is packed */
	struct string_table strings;
	struct pprof_function *functions;
	struct pprof_location *locations;
};

/*
 * 0 or -ENOMEM; pprof_writer_done() after success. `to` stays the caller's, and so do the
 * options by which names are looked up.
 */
int pprof_writer_init(struct pprof_writer *writer, const struct names_options *options, FILE *to);
void pprof_writer_done(struct pprof_writer *writer);

/* Write what is in a Profile. 0 or -errno. */
int pprof_writer_put(struct pprof_writer *writer, const Pprof__Profile *profile);

/* The number of a string, made fit for a terminal. 0 or -ENOMEM. */
int pprof_writer_string(struct pprof_writer *writer, const char *text, int64_t *ret);

/*
 * The id of the location that the first of n shown functions is in, and in *ret_n how
 * many of them: those that were inlined there and what they were inlined into. It is
 * written if it is new. mapping: of its address; NULL: none. 0 or -errno.
 */
int pprof_writer_location(struct pprof_writer *writer, const struct symbolized_frame *symbolized,
			  size_t n, struct mapping *mapping, uint64_t *ret, size_t *ret_n);

/* What is left: the mappings, the strings, the end of the file. */
int pprof_writer_finish(struct pprof_writer *writer, const struct mapping_list *mappings);

/* The address as the format wants it: that of a caller is in its call. */
uint64_t pprof_address(const struct symbolized_frame *symbolized);

#endif
