/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_HOTSPOT_SCOPE_H
#define DP_RUNTIMES_HOTSPOT_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits/limits.h"
#include "runtimes/hotspot/layout.h"

/* A method that runs at a place in compiled code. */
struct hotspot_scope {
	uint64_t method;
	int32_t bci; /* of its bytecode, or of the call of the one in front; negative: not known */
	bool is_near; /* of the innermost: it is the next safepoint's, and perhaps not this place's */
};

/*
 * Reads the methods inlined at an offset from the start of a compiled method's code (nmethod): innermost first, and
 * last the method itself. A return address has its own description. The offset of an innermost frame (`is_leaf`) may
 * lie between two descriptions, and gets the next one: with -XX:+DebugNonSafepoints, a description is at the end of
 * the instructions that it covers; otherwise, this is the next safepoint (`is_near`). A safepoint's description has
 * the values of the program's variables, which tells them apart; one of a C1 method without values is taken
 * for the other kind.
 *
 * What is read may be anything, and is bounded: senders are in front of the scopes that they call, or the
 * list is not sound. 0; -ENOENT: nothing is described there; -ENOTSUP: the layout has no scopes; -ESTALE:
 * it makes no sense; or an error of reading.
 */
int hotspot_scopes_read(const struct hotspot_layout *layout, hotspot_read *read, void *memory,
			uint64_t nmethod, uint64_t pc, bool is_leaf,
			struct hotspot_scope ret[HOTSPOT_MAX_SCOPES], size_t *ret_n);

/* Bytes of HotSpot's compressed streams. */
struct hotspot_stream {
	hotspot_read *read;
	void *memory;
	uint64_t at, end; /* addresses */
	/* Since JDK 20 no byte of a number is 0: each is larger by 1. */
	uint32_t excluded;
};

/* Reads an unsigned number of up to 5 bytes (UNSIGNED5 in HotSpot). 0, -ESTALE or an error of reading. */
int hotspot_stream_int(struct hotspot_stream *stream, uint32_t *ret);

struct hotspot_line {
	uint16_t bci, line;
};

/*
 * Reads a compressed table of lines up to its end mark. Positions beyond code_size, and lines that do not
 * fit, are not those of a method. ret has room for HOTSPOT_MAX_LINES. Errors as above.
 */
int hotspot_lines_read(struct hotspot_stream *stream, uint32_t code_size, struct hotspot_line *ret,
		       size_t *ret_n);

#endif
