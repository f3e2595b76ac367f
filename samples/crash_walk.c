// SPDX-License-Identifier: Apache-2.0
#include "samples/crash_walk.h"

#include "bpf/call.h"

static bool has_called(const struct dp_crash *crash, const struct snapshot *snapshot)
{
	return crash->stack_top != 0 && call_ends(crash->in_front) &&
	       snapshot_find(snapshot, crash->stack_top - 1);
}

struct unwinder_result crash_walk(struct unwinder *unwinder, const struct dp_crash *crash,
				  const struct stack_copy *copy, const struct snapshot *snapshot)
{
	struct unwinder_result walk = unwinder_walk(unwinder, copy, snapshot);
	struct stack_copy caller = *copy; /* the memory is the same */
	uint64_t called = copy->regs.reg[DP_REG_PC];

	/* Where mappings are not known, there may be code. */
	if (walk.outcome != DP_NO_MAPPING || walk.n_frames != 1 || snapshot->lacks_some ||
	    !has_called(crash, snapshot))
		return walk;
	caller.regs.reg[DP_REG_PC] = crash->stack_top;
	caller.regs.reg[DP_REG_SP] = DP_FRAME_CFA(caller.regs.reg[DP_REG_SP]);
	return unwinder_walk_caller(unwinder, &caller, snapshot, called);
}
