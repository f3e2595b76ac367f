# SPDX-License-Identifier: Apache-2.0
# A C++ and a C compilation unit with known locations for each address. The C++ code is in two
# adjacent sections, so its lines are in two sequences.

	.macro nops n
	.rept \n
	nop
	.endr
	.endm

	.file 1 "/elsewhere/header.h"
	.file 2 "/src/unit.cc"

	.section .text.a, "ax", @progbits
	.balign 64
	.globl outer
outer:
	.loc 2 10 1
	nops 4
.Linlined:
	.loc 1 20 7
	nops 4
.Linnermost:
	.loc 1 30 9
	nops 4
.Linlined_end:
	.loc 2 13 2
	nops 4
.Louter_end:

	.section .text.b, "ax", @progbits
	.balign 64
	.globl second
second:
	.loc 2 40 0
	nops 8
.Lsecond_end:
	# In no function.
	.loc 2 50 0
	nops 8

	.section .text.c, "ax", @progbits
	.balign 64
	.globl plain
plain:
	nops 8
.Lplain_end:
	.globl mangled
mangled:
	nops 8
.Lmangled_end:
	.globl older
older:
	nops 8
.Lolder_end:

	.section .debug_abbrev, "", @progbits
.Labbrev:
	.uleb128 1, 0x11; .byte 1	# DW_TAG_compile_unit, with children
	.uleb128 0x13, 0x0b		# DW_AT_language, DW_FORM_data1
	.uleb128 0x03, 0x08		# DW_AT_name, DW_FORM_string
	.uleb128 0x1b, 0x08		# DW_AT_comp_dir
	.uleb128 0x10, 0x17		# DW_AT_stmt_list, DW_FORM_sec_offset
	.uleb128 0, 0
	.uleb128 2, 0x2e; .byte 0	# DW_TAG_subprogram: inlined ones
	.uleb128 0x03, 0x08
	.uleb128 0x20, 0x0b		# DW_AT_inline
	.uleb128 0, 0
	.uleb128 3, 0x2e; .byte 1	# DW_TAG_subprogram, with children
	.uleb128 0x03, 0x08
	.uleb128 0x6e, 0x08		# DW_AT_linkage_name
	.uleb128 0x11, 0x01		# DW_AT_low_pc, DW_FORM_addr
	.uleb128 0x12, 0x07		# DW_AT_high_pc, DW_FORM_data8
	.uleb128 0, 0
	.uleb128 4, 0x1d; .byte 1	# DW_TAG_inlined_subroutine, with children
	.uleb128 0x31, 0x13		# DW_AT_abstract_origin, DW_FORM_ref4
	.uleb128 0x11, 0x01
	.uleb128 0x12, 0x07
	.uleb128 0x58, 0x0b		# DW_AT_call_file
	.uleb128 0x59, 0x0b		# DW_AT_call_line
	.uleb128 0x57, 0x0b		# DW_AT_call_column
	.uleb128 0, 0
	.uleb128 5, 0x11; .byte 1	# DW_TAG_compile_unit, without lines
	.uleb128 0x13, 0x0b
	.uleb128 0x03, 0x08
	.uleb128 0, 0
	.uleb128 6, 0x0b; .byte 1	# DW_TAG_lexical_block, with children
	.uleb128 0, 0
	.uleb128 7, 0x2e; .byte 0	# DW_TAG_subprogram, without a linkage name
	.uleb128 0x03, 0x08
	.uleb128 0x11, 0x01
	.uleb128 0x12, 0x07
	.uleb128 0, 0
	.uleb128 8, 0x2e; .byte 0	# DW_TAG_subprogram, with the linkage name of older compilers
	.uleb128 0x03, 0x08
	.uleb128 0x2007, 0x08		# DW_AT_MIPS_linkage_name
	.uleb128 0x11, 0x01
	.uleb128 0x12, 0x07
	.uleb128 0, 0
	.byte 0

	.section .debug_info, "", @progbits
.Lunit:
	.long .Lunit_end - .Lunit_body
.Lunit_body:
	.value 4
	.long .Labbrev
	.byte 8
	.uleb128 1
	.byte 4				# DW_LANG_C_plus_plus
	.asciz "unit.cc"
	.asciz "/src"
	.long .Lline
.Linner:
	.uleb128 2
	.asciz "inner"
	.byte 1
.Linnermost_die:
	.uleb128 2
	.asciz "innermost"
	.byte 1
	.uleb128 3
	.asciz "outer"
	.asciz "_Z5outerv"
	.quad outer
	.quad .Louter_end - outer
	.uleb128 6			# a block
	.uleb128 4
	.long .Linner - .Lunit
	.quad .Linlined
	.quad .Linlined_end - .Linlined
	.byte 2, 12, 3
	.uleb128 4
	.long .Linnermost_die - .Lunit
	.quad .Linnermost
	.quad .Linlined_end - .Linnermost
	.byte 1, 22, 5
	.byte 0
	.byte 0
	.byte 0
	.byte 0
	.uleb128 7
	.asciz "second"
	.quad second
	.quad .Lsecond_end - second
	.byte 0
.Lunit_end:
.Lc_unit:
	.long .Lc_unit_end - .Lc_unit_body
.Lc_unit_body:
	.value 4
	.long .Labbrev
	.byte 8
	.uleb128 5
	.byte 0x0c			# DW_LANG_C99
	.asciz "plain.c"
	.uleb128 3
	.asciz "plain"
	.asciz "another_name"
	.quad plain
	.quad .Lplain_end - plain
	.byte 0
	.uleb128 3
	.asciz "mangled"
	.asciz "_Z7mangledv"
	.quad mangled
	.quad .Lmangled_end - mangled
	.byte 0
	.uleb128 8
	.asciz "older"
	.asciz "_Z5olderv"
	.quad older
	.quad .Lolder_end - older
	.byte 0
.Lc_unit_end:

	.section .debug_line, "", @progbits
.Lline:
	.section .note.GNU-stack, "", @progbits
