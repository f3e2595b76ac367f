// SPDX-License-Identifier: Apache-2.0
#include "samples/landing_pad.h"

#include <string.h>

#include "bpf/call.h"

bool landing_pad_is_in(const uint8_t *code, size_t size)
{
	const uint8_t end[] = { CALL_LANDING & 255, CALL_LANDING >> 8 & 255, CALL_LANDING >> 16 };

	return memmem(code, size, end, sizeof(end)) != NULL;
}
