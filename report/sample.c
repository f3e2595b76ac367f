// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include <inttypes.h>
#include <stdio.h>

uint64_t totals_with_user_stack(const struct totals *totals)
{
	return totals->samples - totals->outcomes[DP_NO_USER_STACK];
}

double totals_complete(const struct totals *totals)
{
	uint64_t with_stack = totals_with_user_stack(totals);

	if (with_stack == 0)
		return 0;
	return 100.0 * (double)totals->outcomes[DP_COMPLETE] / (double)with_stack;
}

const char *frame_symbol(const struct frame *frame, uint64_t *ret_offset)
{
	bool exact = frame->method == DP_METHOD_LEAF || frame->method == DP_METHOD_SIGNAL;
	const char *name;

	if (!frame->module)
		return NULL;
	name = module_find_symbol(frame->module, frame->offset - !exact, ret_offset);
	if (name)
		*ret_offset += !exact;
	return name;
}

const char *frame_label(const struct frame *frame, bool symbols, char buffer[FRAME_LABEL_SIZE])
{
	uint64_t offset;
	const char *name = symbols ? frame_symbol(frame, &offset) : NULL;

	if (name)
		return name;
	if (frame->module)
		snprintf(buffer, FRAME_LABEL_SIZE, "[%.255s+0x%" PRIx64 "]", frame->module->name,
			 frame->offset);
	else
		snprintf(buffer, FRAME_LABEL_SIZE, "0x%" PRIx64, frame->address);
	return buffer;
}
