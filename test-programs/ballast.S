/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that nobody calls, but whose unwind information makes a table of
 * more than half a segment of the pool.
 */
	.text
	.rept 240000
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	push %r12
	.cfi_def_cfa_offset 24
	.cfi_offset %r12, -24
	nop
	pop %r12
	.cfi_def_cfa_offset 16
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.endr
	.section .note.GNU-stack, "", @progbits
