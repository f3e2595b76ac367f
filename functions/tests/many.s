/* SPDX-License-Identifier: Apache-2.0 */
/* Lines with code at many places: line 1 at 1500, line 3 at 2049. Four units have the same line table. */
	.file 1 "many.c"
	.text
.macro places line, n
	.rept \n
	.loc 1 \line
	nop
	.loc 1 9
	nop
	.endr
.endm
	places 1, 1500
	places 3, 2049

	.section .debug_line, "", %progbits
lines:
	.section .debug_abbrev, "", %progbits
abbrev:
	.uleb128 1, 0x11 /* DW_TAG_compile_unit */
	.byte 0
	.uleb128 0x10, 0x17 /* DW_AT_stmt_list, DW_FORM_sec_offset */
	.uleb128 0, 0
	.byte 0

	.section .debug_info, "", %progbits
	.rept 4
	.4byte 13
	.2byte 5
	.byte 1, 8 /* DW_UT_compile */
	.4byte abbrev
	.uleb128 1
	.4byte lines
	.endr
