/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NAME(function, decoy): call the function from a frame of FRAME bytes, all of
 * them the decoy's address. Built twice, with the same code at the same
 * addresses, but for the size of the frame.
 */
	.text
	.globl NAME
	.type NAME, @function
NAME:
	.cfi_startproc
	lea -FRAME(%rsp), %rsp
	.cfi_adjust_cfa_offset FRAME
	mov %rdi, %rdx
	mov %rsi, %rax
	mov %rsp, %rdi
	mov $(FRAME / 8), %ecx
	rep stosq
	call *%rdx
	lea FRAME(%rsp), %rsp
	.cfi_adjust_cfa_offset -FRAME
	ret
	.cfi_endproc
	.size NAME, . - NAME
	.section .note.GNU-stack, "", @progbits
