/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_VERIFIER_H
#define DP_SANDBOX_VERIFIER_H

#include <stdint.h>

#include "sandbox/second_walk.h"

/*
 * A verifier is a confined process (confine.h) that unwinds copies of stacks a second time (second_walk.h) until
 * its socket is closed. A request is one message, and so is a reply. With a stack come two files: it has
 *
 *     | struct second_mapping * n_mappings | struct second_part * n_parts | n_bytes |
 *
 * and the verifier writes its frames into the other one, struct second_frame * n_frames.
 */

enum verifier_kind {
	VERIFIER_FILE, /* a file: its number, and its descriptor */
	VERIFIER_WALK, /* a stack */
	VERIFIER_RULE, /* second_walk_has_rule() */
	VERIFIER_N_KINDS,
};

struct verifier_request {
	uint64_t kind;       /* enum verifier_kind */
	uint64_t number;     /* FILE; WALK: of the mappings; RULE: the address */
	uint64_t max_frames; /* WALK */
	uint64_t n_mappings, n_parts, n_bytes;
	int64_t pid, tid;
	struct dp_regs regs;
};

struct verifier_reply {
	int32_t err;
	uint32_t is_beyond_copy; /* 0 or 1 */
	uint32_t has_rule;       /* 0 or 1 */
	uint32_t n_frames;
	char end[SECOND_END_SIZE];
};

/* What the verifier does. Returns an exit status. */
int verifier_run(int socket);

/*
 * Takes what a verifier has answered, of which nothing is trusted: at most max_frames frames of `file`, and text
 * that is printable. 0, -EPROTO for an answer that no verifier gives, which may have overwritten *frames, or the
 * error that it tells.
 */
int verifier_take(const struct verifier_reply *reply, int file, size_t max_frames,
		  struct second_frame *frames, struct second_result *ret);

#endif
