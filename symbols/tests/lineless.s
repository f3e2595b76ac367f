# SPDX-License-Identifier: Apache-2.0
# A C++ compilation unit whose rows have the line 0, as LLVM writes them. Assemblers write none from .loc.

	.macro nops n
	.rept \n
	nop
	.endr
	.endm

	.section .text.lineless, "ax", @progbits
	.balign 64
	.globl lineless
lineless:
	nops 4
.Linlined:
	nops 4
.Llineless_end:
	.globl undeclared
undeclared:
	nops 4
.Lundeclared_end:
	.globl nowhere
nowhere:
	nops 4
.Lnowhere_end:
	.globl elsewhere
elsewhere:
	nops 4
.Lelsewhere_end:

	.section .debug_abbrev, "", @progbits
.Labbrev:
	.uleb128 1, 0x11; .byte 1	# DW_TAG_compile_unit, with children
	.uleb128 0x13, 0x0b		# DW_AT_language, DW_FORM_data1
	.uleb128 0x03, 0x08		# DW_AT_name, DW_FORM_string
	.uleb128 0x1b, 0x08		# DW_AT_comp_dir
	.uleb128 0x10, 0x17		# DW_AT_stmt_list, DW_FORM_sec_offset
	.uleb128 0, 0
	.uleb128 2, 0x2e; .byte 0	# DW_TAG_subprogram: an inlined one
	.uleb128 0x03, 0x08
	.uleb128 0x20, 0x0b		# DW_AT_inline
	.uleb128 0x3a, 0x0b		# DW_AT_decl_file
	.uleb128 0, 0
	.uleb128 3, 0x2e; .byte 1	# DW_TAG_subprogram, with a file, and children
	.uleb128 0x03, 0x08
	.uleb128 0x3a, 0x0b
	.uleb128 0x11, 0x01		# DW_AT_low_pc, DW_FORM_addr
	.uleb128 0x12, 0x07		# DW_AT_high_pc, DW_FORM_data8
	.uleb128 0, 0
	.uleb128 4, 0x1d; .byte 0	# DW_TAG_inlined_subroutine
	.uleb128 0x31, 0x13		# DW_AT_abstract_origin, DW_FORM_ref4
	.uleb128 0x11, 0x01
	.uleb128 0x12, 0x07
	.uleb128 0x58, 0x0b		# DW_AT_call_file
	.uleb128 0x59, 0x0b		# DW_AT_call_line
	.uleb128 0x57, 0x0b		# DW_AT_call_column
	.uleb128 0, 0
	.uleb128 5, 0x2e; .byte 0	# DW_TAG_subprogram, without a file
	.uleb128 0x03, 0x08
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
	.asciz "."
	.long .Lline
.Linner:
	.uleb128 2
	.asciz "inner"
	.byte 1, 1
	.uleb128 3
	.asciz "lineless"
	.byte 2
	.quad lineless
	.quad .Llineless_end - lineless
	.uleb128 4
	.long .Linner - .Lunit
	.quad .Linlined
	.quad .Llineless_end - .Linlined
	.byte 2, 62, 4
	.byte 0
	.uleb128 5
	.asciz "undeclared"
	.quad undeclared
	.quad .Lundeclared_end - undeclared
	.uleb128 3
	.asciz "nowhere"
	.byte 0				# no file
	.quad nowhere
	.quad .Lnowhere_end - nowhere
	.byte 0
	.uleb128 3
	.asciz "elsewhere"
	.byte 2
	.quad elsewhere
	.quad .Lelsewhere_end - elsewhere
	.byte 0
	.byte 0
.Lunit_end:

	.section .debug_line, "", @progbits
.Lline:
	.long .Lline_end - .Lline_body
.Lline_body:
	.value 4
	.long .Lrows - .Lheader
.Lheader:
	.byte 1, 1, 1, -5, 14, 13	# the last: number of the first special opcode
	.byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
	.byte 0				# no directories
	.asciz "/elsewhere/header.h"
	.uleb128 0, 0, 0
	.asciz "/src/unit.cc"
	.uleb128 0, 0, 0
	.asciz "relative.h"
	.uleb128 0, 0, 0
	.byte 0
.Lrows:
	.byte 0, 9, 2			# DW_LNE_set_address
	.quad lineless
	.byte 3; .sleb128 -1		# DW_LNS_advance_line, from 1
	.byte 1				# DW_LNS_copy: in the header's row, as behind what was inlined
	.byte 4, 2			# DW_LNS_set_file
	.byte 2, 4			# DW_LNS_advance_pc
	.byte 1
	.byte 4, 1
	.byte 2, 4
	.byte 1
	.byte 4, 3
	.byte 2, 4
	.byte 1
	.byte 2, 8
	.byte 0, 1, 1			# DW_LNE_end_sequence
.Lline_end:
	.section .note.GNU-stack, "", @progbits
