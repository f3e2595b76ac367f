// SPDX-License-Identifier: Apache-2.0
#include "samples/return_check.h"

#include <errno.h>
#include <string.h>

#include "bpf/call.h"
#include "process/mapping.h"
#include "samples/landing.h"

/*
 * Bytes in which a landing ends, from where the handler's address was written: libgcc's are
 * up to 48, by how many registers a function has saved.
 */
#define LANDING_SIZE 64

void return_check_init(struct return_check *c, struct unwinder *unwinder)
{
	*c = (struct return_check){ .unwinder = unwinder };
}

/* Is it a caller that was found by unwind information, and no proven root? */
static bool is_asked(const struct unwinder_result *walk, size_t i)
{
	return i > 0 && DP_FRAME_METHOD(walk->frames[i]) == DP_METHOD_TABLE &&
	       (i + 1 < walk->n_frames || walk->outcome != DP_COMPLETE);
}

/* Is it what a signal handler returns to? The last frame tells by its rule alone. */
static bool leads_to_signal(const struct return_check *c, const struct snapshot *snapshot,
			    const struct unwinder_result *walk, size_t i)
{
	struct dp_rule rule;

	if (i + 1 < walk->n_frames)
		return DP_FRAME_METHOD(walk->frames[i + 1]) == DP_METHOD_SIGNAL;
	unwinder_rule(c->unwinder, DP_FRAME_ADDRESS(walk->frames[i]) - 1, snapshot->cell, &rule);
	return rule.cfa == DP_CFA_SIGNAL;
}

/* Is the code at an address the end of a function that lands in the handler of an exception? */
static bool is_landing(struct return_check *c, const struct snapshot *snapshot, uint64_t address)
{
	const struct mapping *m = snapshot_find(snapshot, address);
	uint8_t code[LANDING_SIZE];
	struct dp_rule rule;
	int err;

	if (!m || !m->binary)
		return false;
	unwinder_rule(c->unwinder, address, snapshot->cell, &rule);
	err = rule.lands ? binary_read_before(m->binary, address + sizeof(code) - m->bias, code,
					      sizeof(code)) :
			   -ENOENT;
	/* Of code that would have to be waited for, nothing is said against it. */
	return err == -EAGAIN || (err == 0 && landing_is_in(code, sizeof(code)));
}

/*
 * Is the caller where an exception lands? The address of its handler is put in place of the
 * return address of its callee, which may be any frame, and not at once jumped to. The walker
 * took it for what is behind a call, by the rule of the byte before: was it the same rule?
 */
static bool is_landed_in(struct return_check *c, const struct snapshot *snapshot,
			 const struct unwinder_result *walk, size_t i)
{
	uint64_t handler = DP_FRAME_ADDRESS(walk->frames[i]);
	struct dp_rule before, at;

	unwinder_rule(c->unwinder, handler - 1, snapshot->cell, &before);
	unwinder_rule(c->unwinder, handler, snapshot->cell, &at);
	if (at.cfa == DP_CFA_NONE || memcmp(&before, &at, sizeof(at)) != 0)
		return false;
	/* A landing has one handler. */
	while (i-- > walk->n_landed) {
		__u64 frame = walk->frames[i];

		if (!DP_METHOD_IS_CALLER(DP_FRAME_METHOD(frame)))
			return is_landing(c, snapshot, DP_FRAME_ADDRESS(frame));
	}
	return false;
}

static struct return_check_known *find_known(struct return_check *c, uint64_t binary,
					     uint64_t address)
{
	return &c->known[((address ^ binary << 32) * 0x9e3779b97f4a7c15ULL >> 32) %
			 RETURN_CHECK_KNOWN];
}

static bool is_called(struct return_check *c, const struct mapping *m, pid_t thread,
		      uint64_t address)
{
	uint64_t number = m->binary->number, in_file = address - m->bias, bytes;
	struct return_check_known *known = find_known(c, number, in_file);
	bool has_code;
	int err;

	if (known->binary == number && known->address == in_file)
		return true;
	err = binary_read_before(m->binary, in_file, &bytes, sizeof(bytes));
	if (err == -EAGAIN) /* nor is there a way to the code in memory that is sooner */
		return true;
	has_code = err == 0;
	if (has_code && call_ends(bytes)) {
		known->binary = number;
		known->address = in_file;
		return true;
	}
	/* Code may be changed when it runs. */
	if (mapping_read_word(thread, address - sizeof(bytes), &bytes))
		return call_ends(bytes);
	/* And a file while it is mapped: of the past nothing is known then. */
	return !has_code || module_is_written_to(m->binary->module);
}

enum return_verdict return_check_frame(struct return_check *c, const struct snapshot *snapshot,
				       const struct mapping *m, pid_t thread,
				       struct unwinder_result *walk, size_t i)
{
	if (!m || !m->binary || !m->binary->table || !is_asked(walk, i) ||
	    is_called(c, m, thread, DP_FRAME_ADDRESS(walk->frames[i])) ||
	    leads_to_signal(c, snapshot, walk, i))
		return RETURN_CALLED;
	if (!is_landed_in(c, snapshot, walk, i))
		return RETURN_NOT_CALLED;
	walk->n_landed = i + 1;
	return RETURN_LANDS;
}

void return_check_cut(struct return_check *c, const struct snapshot *snapshot, pid_t thread,
		      struct unwinder_result *walk, __u64 *frames)
{
	for (size_t i = 0; i < walk->n_frames; i++) {
		uint64_t address = DP_FRAME_ADDRESS(walk->frames[i]);

		switch (return_check_frame(c, snapshot, snapshot_find(snapshot, address - 1),
					   thread, walk, i)) {
		case RETURN_CALLED:
			break;
		case RETURN_LANDS:
			frames[i] = address | (__u64)DP_METHOD_LANDING_PAD << DP_METHOD_SHIFT;
			break;
		case RETURN_NOT_CALLED:
			walk->n_frames = i;
			walk->outcome = DP_NO_CALL;
			break;
		}
	}
}
