// SPDX-License-Identifier: Apache-2.0
#include "samples/landing_pad.h"

#include <string.h>

/* Takes the stack pointer from rcx: EH_RETURN_STACKADJ_RTX, gcc's i386.h. */
bool landing_pad_is_in(const uint8_t *code, size_t size)
{
	static const uint8_t mov_rcx_rsp[] = { 0x48, 0x89, 0xcc };

	return memmem(code, size, mov_rcx_rsp, sizeof(mov_rcx_rsp)) != NULL;
}
