/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_LISTING_H
#define DP_CLI_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "report/annotation.h"

/* A function's instructions and source lines, with what samples each of them has. */

struct instruction {
	uint64_t address;
	uint64_t value;
	char *text;
	bool is_system_call;
	size_t line; /* its own, by number in the listing; SIZE_MAX: not known */
};

struct listed_line {
	UT_hash_handle hh;
	size_t number; /* in the order in which they were met */
	uint64_t value;
	unsigned int line;
	size_t key_size;
	char *path;
	char key[]; /* the line, so that the order is that of files and lines; see listing.c */
};

struct listing {
	struct module *module;
	uint64_t start,
		end;    /* of what is listed of the function, in the module's own address space */
	uint64_t value; /* of all instructions */
	struct instruction *instructions;
	size_t n, size;
	struct listed_line *lines;     /* sorted */
	struct listed_line **numbered; /* the same */
	size_t n_lines, lines_size;
	uint64_t n_bytes; /* of all that */
};

/*
 * Disassembles the function that a site is in, and adds up its sites. It is listed
 * then, even if that failed. Logs errors. 0 or negative errno.
 */
int listing_make(struct annotation *annotation, const struct annotation_site *site,
		 struct listing *ret);
void listing_done(struct listing *listing);

#endif
