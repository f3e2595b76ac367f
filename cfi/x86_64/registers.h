/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_X86_64_REGISTERS_H
#define DP_CFI_X86_64_REGISTERS_H

/* psABI figure 3.36: DWARF register numbers. RIP stands for the return address. */
enum cfi_register {
	CFI_RAX,
	CFI_RDX,
	CFI_RCX,
	CFI_RBX,
	CFI_RSI,
	CFI_RDI,
	CFI_RBP,
	CFI_RSP,
	CFI_R8,
	CFI_R9,
	CFI_R10,
	CFI_R11,
	CFI_R12,
	CFI_R13,
	CFI_R14,
	CFI_R15,
	CFI_RIP,
	CFI_N_REGISTERS,
};

#define CFI_SP CFI_RSP
#define CFI_FP CFI_RBP
#define CFI_RA CFI_RIP

#define CFI_EH_DATA_0 CFI_RAX
#define CFI_EH_DATA_1 CFI_RDX

#define CFI_OCAML_SP CFI_RBX

/* A call pushes it. */
#define CFI_CALL_RA ((struct cfi_rule){ .kind = CFI_RULE_OFFSET, .offset = -8 })
#define CFI_IS_CALL_RA(rule) ((rule)->kind == CFI_RULE_OFFSET && (rule)->offset == -8)

#endif
