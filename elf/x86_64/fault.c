// SPDX-License-Identifier: Apache-2.0
#include "elf/fault.h"

/* Bits of a page fault's error code: enum x86_pf_error_code, arch/x86/include/asm/trap_pf.h. */
#define FAULT_WRITE (1 << 1)
#define FAULT_EXECUTE (1 << 4)

bool fault_is_read(const ucontext_t *context)
{
	return !(context->uc_mcontext.gregs[REG_ERR] & (FAULT_WRITE | FAULT_EXECUTE));
}
