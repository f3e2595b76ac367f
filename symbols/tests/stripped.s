# SPDX-License-Identifier: Apache-2.0
# Functions of a library with stripped local symbols, like libx264's assembly: global symbols
# without type and size, with code of other functions in between. test_symtab.c has their extent.

	.macro nops n
	.rept \n
	nop
	.endr
	.endm

	.text
	.globl described_whole, before_described, returns, aligned, sized
described_whole:
	.cfi_startproc
	nops 8
	ret
	nops 7
	.cfi_endproc
	nops 16

before_described:
	nops 16
	.cfi_startproc
	nops 16
	.cfi_endproc

	.balign 16
returns:
	mov %rax, %rbx	# contains the byte of a return
	inc %eax
	inc %eax
	ret
	inc %eax
	inc %eax
	nops 11
	ret
	.balign 16, 0xcc
other:
	nops 15
	ret

aligned:
	nops 15
	ret
another:
	nops 15
	ret

	.type sized, @function
	.size sized, 16
sized:
	nops 8
	ret
	nops 40
