/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A deep stack whose unwind information is as expensive as it can be, and valid. In each frame the
 * CFA is rsp + 16 and what comes to nothing:
 *
 *	-DREGISTERS	7 times 0 * rbx, which no frame saves: all frames below are searched for it
 *	-DREADS		5 words of other pages of the stack, and-ed with 0
 *
 * -DLATE=N: the walk does not end at main(), but after N frames, at no code, so that a sample takes
 * along a copy of the stack, of a megabyte.
 */
	.text
	.type work, @function
work:
	.cfi_startproc
	sub $8, %rsp
#ifdef REGISTERS
	/* breg7 16; 7 * (breg3 0; lit0; mul; plus) */
	.cfi_escape 0x0f, 37, 0x77, 16
	.rept 7
	.cfi_escape 0x73, 0, 0x30, 0x1e, 0x22
	.endr
#else
	/* breg7 16; (breg7 0x1000; deref; lit0; and; plus), with 0x2000, 0x3000, ... */
	.cfi_escape 0x0f, 40, 0x77, 16
	.cfi_escape 0x77, 0x80, 0x20, 0x06, 0x30, 0x1a, 0x22
	.cfi_escape 0x77, 0x80, 0xc0, 0x00, 0x06, 0x30, 0x1a, 0x22
	.cfi_escape 0x77, 0x80, 0xe0, 0x00, 0x06, 0x30, 0x1a, 0x22
	.cfi_escape 0x77, 0x80, 0x20, 0x06, 0x30, 0x1a, 0x22
	.cfi_escape 0x77, 0x80, 0xc0, 0x00, 0x06, 0x30, 0x1a, 0x22
#endif
	dec %edi
	jz 1f
	call work
1:	jmp 1b
	.cfi_endproc
	.size work, . - work

	.globl main
	.type main, @function
main:
	.cfi_startproc
	.cfi_undefined rip
#ifdef LATE
	mov $0x110, %ecx
1:	sub $0x1000, %rsp
	orq $0, (%rsp)
	dec %ecx
	jnz 1b
	mov $LATE, %edi
	push $0x1234
	jmp work
#else
	sub $0x4000, %rsp /* for the last ones to read */
	mov $2040, %edi
	call work
#endif
	.cfi_endproc
	.size main, . - main
	.section .note.GNU-stack, "", @progbits
