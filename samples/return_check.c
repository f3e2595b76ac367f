// SPDX-License-Identifier: Apache-2.0
#include "samples/return_check.h"

#include <errno.h>
#include <string.h>

#include "bpf/call.h"
#include "process/mapping.h"
#include "sandbox/fetchers.h"
#include "samples/landing_pad.h"

/*
 * A landing pad ends within this many bytes behind the write of the handler's address: in libgcc up to
 * 48, depending on how many registers a function has saved.
 */
#define LANDING_SIZE 64

void return_check_init(struct return_check *c, struct unwinder *unwinder, struct fetchers *fetchers)
{
	*c = (struct return_check){ .unwinder = unwinder, .fetchers = fetchers };
}

/* True for a caller that was found by unwind information and is not a proven root. */
static bool is_asked(const struct unwinder_result *walk, size_t i)
{
	return i > 0 && DP_FRAME_METHOD(walk->frames[i]) == DP_METHOD_TABLE &&
	       (i + 1 < walk->n_frames || walk->outcome != DP_COMPLETE);
}

/* True for code to which a signal handler returns. The rule of the last frame shows that. */
static bool leads_to_signal(const struct return_check *c, const struct snapshot *snapshot,
			    const struct unwinder_result *walk, size_t i)
{
	struct dp_rule rule;

	if (i + 1 < walk->n_frames)
		return DP_FRAME_METHOD(walk->frames[i + 1]) == DP_METHOD_SIGNAL;
	unwinder_rule(c->unwinder, DP_FRAME_ADDRESS(walk->frames[i]) - 1, snapshot->cell, &rule);
	return rule.cfa == DP_CFA_SIGNAL;
}

/* True if an address is in the end of a function that lands in an exception handler. */
static bool is_landing_pad(struct return_check *c, const struct snapshot *snapshot,
			   uint64_t address)
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
	/* Code that is not in memory counts as a landing pad. */
	return err == -EAGAIN || (err == 0 && landing_pad_is_in(code, sizeof(code)));
}

/*
 * True if the caller is where an exception lands. The handler's address replaces the return address
 * of its callee, which may be any frame, some time before the jump. The walker took it for a return
 * address, and used the rule of the byte before: it must be the same rule.
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
	/* A landing pad has one handler. */
	while (i-- > walk->n_landed) {
		__u64 frame = walk->frames[i];

		if (!DP_METHOD_IS_CALLER(DP_FRAME_METHOD(frame)))
			return is_landing_pad(c, snapshot, DP_FRAME_ADDRESS(frame));
	}
	return false;
}

static struct return_check_known *find_known(struct return_check *c, uint64_t binary,
					     uint64_t address)
{
	return &c->known[((address ^ binary << 32) * 0x9e3779b97f4a7c15ULL >> 32) %
			 RETURN_CHECK_KNOWN];
}

static void remember(struct return_check_known *known, uint64_t binary, uint64_t address)
{
	known->binary = binary;
	known->address = address;
}

static bool is_called(struct return_check *c, const struct mapping *m, pid_t thread,
		      uint64_t address)
{
	uint64_t number = m->binary->number, in_file = address - m->bias, bytes;
	struct return_check_known *known = find_known(c, number, in_file);
	bool has_code, is_elsewhere;
	int err;

	if (known->binary == number && known->address == in_file)
		return true;
	err = binary_read_before(m->binary, in_file, &bytes, sizeof(bytes));
	/* Of a file that only others read, the process's memory is read, by others, too. */
	is_elsewhere = err == -EAGAIN && !m->binary->bytes && c->fetchers;
	if (err == -EAGAIN && !is_elsewhere) /* and the code in memory is not available sooner */
		return true;
	has_code = err == 0;
	if (has_code && call_ends(bytes)) {
		remember(known, number, in_file);
		return true;
	}
	/* Code may be changed while it runs. */
	err = fetchers_read(c->fetchers, thread, address - sizeof(bytes), &bytes, sizeof(bytes));
	/* Nor does code that is described without its bytes, unless another description follows. */
	if (err == 0 && (is_elsewhere || m->binary->object_size > 0) && call_ends(bytes))
		remember(known, number, in_file);
	if (err == 0)
		return call_ends(bytes);
	/*
	 * So may a file while it is mapped: the past code is then not known. Else what it says counts, also where
	 * the memory cannot be read for now: few programs change their code.
	 */
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
