# SPDX-License-Identifier: Apache-2.0
# A unit whose entry ends with its name, and sections of texts.

	.section .debug_abbrev, "", @progbits
.Labbrev:
	.uleb128 1, 0x11; .byte 0	# DW_TAG_compile_unit, without children
	.uleb128 0x1b, 0x0e		# DW_AT_comp_dir, DW_FORM_strp
	.uleb128 0x03, 0x08		# DW_AT_name, DW_FORM_string
	.uleb128 0, 0
	.byte 0

	.section .debug_info, "", @progbits
	.long .Lend - .Lbody
.Lbody:
	.value 4
	.long .Labbrev
	.byte 8
	.uleb128 1
	.long 0
	.asciz "unit.c"
.Lend:

	.section .debug_str, "MS", @progbits, 1
	.asciz "/src"

	.section .debug_line_str, "MS", @progbits, 1
	.asciz "line"

	.section .debug_str_offsets, "", @progbits
	.long 0x01010101
