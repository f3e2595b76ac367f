/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_ARCH_H
#define DP_BPF_ARCH_H

/*
 * What the architecture of the CPU decides. Each has a folder, bpf/NAME, and the build defines
 * DP_BPF_ARCH as the path of its arch.h, which has
 *
 *   enum dp_register           the registers of a sample, by their DWARF numbers
 *   DP_REG_PC, _SP, _FP        those that a walk carries
 *   DP_REG_RESULT              where a system call returns its result
 *   DP_REGISTERS(X)            X(enumerator, word) for each
 *   DP_SAVED_REGISTERS(X)      the callee-saved ones other than fp, in the order of struct dp_saves
 *   DP_THREAD_BASE_WORD        how the base of a thread's own data is called
 *   DP_CALL_SIZE               bytes that a call itself puts on the stack
 *   DP_CALL_RA                 where a call puts the return address: a struct dp_where
 *   DP_IS_CALL_RA(where)       is it there?
 *   DP_N_RA                    how many places of a return address a rule's word can say: DP_RA_CALL
 *   DP_CALLER_RA(cfa)          the address of a return address, in a frame that has called another
 *   DP_FP_RA, DP_FP_CFA        distance of the return address, and of the CFA, from where fp points,
 *                              in a frame that has set it up
 *   DP_PLT_CFA(pc, add)        how much deeper the stack is behind the push of a PLT entry
 *   DP_SIGCONTEXT(X)           X(enumerator) for each word of a signal frame's registers, in its order
 *   DP_SIGCONTEXT_AT           where these are from a handler's return address on
 *   DP_TRAMPOLINE_SIZE         bytes of the trampoline of uretprobes
 *   DP_USER_PAGE_SIZE          the smallest page
 *   DP_MAX_CPUS                as many as a kernel can have
 *   DP_KERNEL_START            where the kernel's addresses start
 *   DP_ELF_MACHINE             of its ELF files
 *   DP_SYSCALL_SIZE, _CODE     bytes of a system call's instruction, and these as a number
 *
 * and the paths of the other headers of the folder:
 *
 *   DP_ARCH_CALL               call instructions: see call.h
 *   DP_ARCH_KERNEL             the kernel's types: pt_regs, thread_struct
 *   DP_ARCH_KERNEL_FIELDS      and those of their members that are looked up
 *   DP_ARCH_TASK               the registers of a task: see task.bpf.h
 */
#include DP_BPF_ARCH

#endif
