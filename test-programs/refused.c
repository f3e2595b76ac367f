// SPDX-License-Identifier: Apache-2.0
/*
 * usage: refused
 *
 * Waits, and has functions that begin with instructions in which the kernel sets no uprobe.
 */
#include <unistd.h>

#define FUNCTION(name, code)                                                                       \
	__asm__(".globl " name "\n.type " name ", @function\n" name ": " code "\nret\n"            \
		".size " name ", . - " name)

FUNCTION("begins_with_lock", "lock incl (%rdi)");
FUNCTION("begins_with_breakpoint", "int3");
FUNCTION("begins_with_halt", "hlt");
FUNCTION("begins_as_usual", "nop");

int main(void)
{
	pause();
	return 0;
}
