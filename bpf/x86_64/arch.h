/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_X86_64_ARCH_H
#define DP_BPF_X86_64_ARCH_H

/* x86-64: see bpf/arch.h. */

#define DP_ARCH_CALL "bpf/x86_64/call.h"
#define DP_ARCH_FRAME_CODE "bpf/x86_64/frame_code.h"
#define DP_ARCH_KERNEL "bpf/x86_64/kernel.bpf.h"
#define DP_ARCH_KERNEL_FIELDS "bpf/x86_64/kernel_fields.h"
#define DP_ARCH_SLJIT_CODE "bpf/x86_64/sljit_code.h"
#define DP_ARCH_TASK "bpf/x86_64/task.bpf.h"

/* DWARF register numbers, psABI figure 3.36. */
#define DP_REGISTERS(X)                                                                            \
	X(RAX, "rax")                                                                              \
	X(RDX, "rdx")                                                                              \
	X(RCX, "rcx")                                                                              \
	X(RBX, "rbx")                                                                              \
	X(RSI, "rsi")                                                                              \
	X(RDI, "rdi")                                                                              \
	X(RBP, "rbp")                                                                              \
	X(RSP, "rsp")                                                                              \
	X(R8, "r8")                                                                                \
	X(R9, "r9")                                                                                \
	X(R10, "r10")                                                                              \
	X(R11, "r11")                                                                              \
	X(R12, "r12")                                                                              \
	X(R13, "r13")                                                                              \
	X(R14, "r14")                                                                              \
	X(R15, "r15")                                                                              \
	X(RIP, "rip")

#define X(name, word) DP_##name,
enum dp_register { DP_REGISTERS(X) DP_N_REGISTERS };
#undef X

#define DP_REG_PC DP_RIP
#define DP_REG_SP DP_RSP
#define DP_REG_FP DP_RBP
#define DP_REG_RESULT DP_RAX
#define DP_REG_RESULT_NEXT DP_RDX
#define DP_REG_BYTECODE DP_R13

/* psABI 3.2.3 */
#define DP_ARGUMENT_REGISTERS(X) X(RDI) X(RSI) X(RDX) X(RCX) X(R8) X(R9)
#define DP_N_ARGUMENT_REGISTERS 6
/* arch/x86/include/asm/ptrace.h */
#define DP_ARGUMENT_OFFSETS                                                                        \
	{                                                                                          \
		112, 104, 96, 88, 72, 64                                                           \
	}
#define DP_N_FLOAT_ARGUMENT_REGISTERS 8

#define DP_SAVED_REGISTERS(X) X(RBX, rbx) X(R12, r12) X(R13, r13) X(R14, r14) X(R15, r15)

#define DP_THREAD_BASE_WORD "fs_base"
#define DP_THREAD_BLOCKS 8
/* Variant II: blocks of programs are below the base. */
#define DP_TLS_IS_DISTANCE(word) ((word) >> 63)

/* A call pushes the return address, so it is always right below the CFA. */
#define DP_CALL_SIZE 8
#define DP_CALL_RA ((struct dp_where){ .kind = DP_WHERE_CFA, .offset = -DP_CALL_SIZE })
#define DP_IS_CALL_RA(where) ((where)->kind == DP_WHERE_CFA && (where)->offset == -DP_CALL_SIZE)
#define DP_N_RA 1
#define DP_CALLER_RA(cfa) ((cfa)-DP_CALL_SIZE)
#define DP_FRAME_CFA(sp) ((sp) + DP_CALL_SIZE)

/* push %rbp; mov %rsp, %rbp */
#define DP_FP_RA 8
#define DP_FP_CFA 16

/* Entries have 16 bytes. */
#define DP_PLT_CFA(pc, add) (((pc)&15) >= (__u64)(add) ? 8 : 0)

/* struct sigcontext_64, arch/x86/include/uapi/asm/sigcontext.h. */
#define DP_SIGCONTEXT(X)                                                                           \
	X(R8)                                                                                      \
	X(R9)                                                                                      \
	X(R10)                                                                                     \
	X(R11)                                                                                     \
	X(R12) X(R13) X(R14) X(R15) X(RDI) X(RSI) X(RBP) X(RBX) X(RDX) X(RAX) X(RCX) X(RSP) X(RIP)

/* struct rt_sigframe: uc_flags, uc_link, uc_stack, uc_mcontext. */
#define DP_SIGCONTEXT_AT 40

/* UPROBE_XOL_SLOT_BYTES, arch/x86/include/asm/uprobes.h: copied instructions follow it. */
#define DP_TRAMPOLINE_SIZE 128

#define DP_USER_PAGE_SIZE 4096

/* The highest CONFIG_NR_CPUS, arch/x86/Kconfig. */
#define DP_MAX_CPUS 8192

/* The kernel's half of the addresses, Documentation/arch/x86/x86_64/mm.rst. */
#define DP_KERNEL_START 0xffff800000000000ULL

/* <elf.h> */
#define DP_ELF_MACHINE EM_X86_64

/*
 * Offset from a function's start at which its entry probe counts as hit. After int3, pc is start + 1; only a
 * one-byte push ends there, so only then can pc be start + 1 without a pending breakpoint.
 */
#define DP_PROBED_FROM(byte) (((byte)&0xf8) == 0x50 ? 1 : 2)

/* the bytes of `syscall` */
#define DP_SYSCALL_SIZE 2
#define DP_SYSCALL_CODE 0x050f

/* `int3` */
#define DP_BREAKPOINT_SIZE 1
#define DP_BREAKPOINT_CODE 0xcc
#define DP_FUNCTION_ALIGNMENT 16
/* What a push of one byte may push, but for rsp. */
#define DP_PUSHED_REGISTERS(X) X(RAX) X(RCX) X(RDX) X(RBX) X(RBP) X(RSI) X(RDI)
/*
 * TIF_UPROBE: bit 12 up to Linux 6.17 (arch/x86/include/asm/thread_info.h), which has no bit 8,
 * then bit 8 (include/asm-generic/thread_info_tif.h), where bit 12 is set, if ever, at the end of a
 * timer's interrupt.
 */
#define DP_BREAKPOINT_FLAGS (1 << 12 | 1 << 8)

#endif
