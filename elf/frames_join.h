/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_FRAMES_JOIN_H
#define DP_ELF_FRAMES_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/index.h"
#include "elf/frames_object.h"

/*
 * Makes one .eh_frame of many, each for some code: with absolute addresses, as distances would be others in
 * another place. An FDE that sets the location to such a distance is refused from there on by who reads it.
 */
struct frames_join {
	/* The section that was taken last */
	uint64_t number;
	struct cfi_section section;
	struct cfi_index index;
	uint8_t *bytes; /* its own */
	/* What was made so far */
	uint8_t *joined;
	size_t size, room;
	size_t cie, ops, ops_size; /* the last CIE, and its instructions */
	struct cfi_cie fields;     /* of it */
	struct frames_code *code;  /* that is described */
	size_t n, n_room;
};

/* Whether a section with this number, whatever that means to the caller, was taken last, at this address. */
bool frames_join_has(const struct frames_join *join, uint64_t number, uint64_t address);

/* Takes a section, and over its bytes, from malloc(). 0 or -ENOMEM; one that cannot be read is empty. */
int frames_join_take(struct frames_join *join, uint64_t number, uint64_t address, uint8_t *bytes,
		     size_t size);

/* Whether its first FDE begins there. */
bool frames_join_begins_at(const struct frames_join *join, uint64_t start);

/*
 * Adds its FDEs for a range of code, which is behind those before. 0 or -ENOMEM. Beyond FRAMES_JOINED_MAX,
 * nothing is added any more.
 */
int frames_join_add(struct frames_join *join, uint64_t start, uint64_t end);

/* As frames_object_make(), of all that was added. */
int frames_join_end(const struct frames_join *join, uint8_t **ret, size_t *ret_size);

void frames_join_done(struct frames_join *join);

#endif
