/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_ARCH_H
#define DP_BPF_ARCH_H

/*
 * What depends on the CPU architecture. Each has a folder, bpf/NAME, and the build defines
 * DP_BPF_ARCH as the path of its arch.h, which defines
 *
 *   enum dp_register           the registers of a sample, by their DWARF numbers
 *   DP_REG_PC, _SP, _FP        those that a walk carries
 *   DP_REG_RESULT              where a system call, and a function, returns its result
 *   DP_REG_RESULT_NEXT         where the second word of a function's result is
 *   DP_REG_BYTECODE            where HotSpot's interpreter has the address of its bytecode
 *   DP_ARGUMENT_REGISTERS(X)   X(enumerator) for each that has an argument of a call, in their order;
 *                              further ones are above the return address
 *   DP_ARGUMENT_OFFSETS        where the kernel's struct pt_regs has them
 *   DP_N_ARGUMENT_REGISTERS    their number, and
 *   DP_N_FLOAT_ARGUMENT_REGISTERS  that of those for floating-point numbers
 *   DP_REGISTERS(X)            X(enumerator, word) for each
 *   DP_SAVED_REGISTERS(X)      the callee-saved ones other than fp, in the order of struct dp_saves
 *   DP_THREAD_BASE_WORD        name of the base of thread-local storage
 *   DP_THREAD_BLOCKS           where, from that base, the C library has the address of the blocks of
 *                              modules (TLS ABI: dtv)
 *   DP_TLS_IS_DISTANCE(word)   of a TLS descriptor: is it a distance from that base, not an address?
 *   DP_CALL_SIZE               bytes that a call pushes
 *   DP_CALL_RA                 where a call puts the return address: a struct dp_where
 *   DP_IS_CALL_RA(where)       is it that place?
 *   DP_N_RA                    number of return address places in a rule's word: enum dp_ra
 *   DP_CALLER_RA(cfa)          where the return address is in a frame that has made a call
 *   DP_FRAME_CFA(sp)           the CFA of a function that has just been called
 *   DP_FP_RA, DP_FP_CFA        distance of the return address, and of the CFA, from fp, in a frame
 *                              that has set fp up
 *   DP_PLT_CFA(pc, add)        bytes that a PLT entry has pushed at pc
 *   DP_SIGCONTEXT(X)           X(enumerator) for each word of a signal frame's registers, in its order
 *   DP_SIGCONTEXT_AT           their distance behind a handler's return address
 *   DP_TRAMPOLINE_SIZE         size of the trampoline of uretprobes
 *   DP_USER_PAGE_SIZE          the smallest page
 *   DP_MAX_CPUS                the most CPUs of a kernel
 *   DP_KERNEL_START            the lowest kernel address
 *   DP_ELF_MACHINE             of its ELF files
 *   DP_PROBED_FROM(byte)       how far from a function's start, which has that byte, a probe of it
 *                              has been hit
 *   DP_SYSCALL_SIZE, _CODE     size of a system call instruction, and its bytes as a number
 *   DP_BREAKPOINT_SIZE, _CODE  the same of a uprobe's breakpoint; pc is then behind it
 *   DP_BREAKPOINT_FLAGS        of a thread that has met one which the kernel has yet to handle
 *   DP_FUNCTION_ALIGNMENT      at what addresses compilers let functions begin
 *   DP_PUSHED_REGISTERS(X)     X(name) for each register that an instruction of the breakpoint's size
 *                              may push
 *
 * and the paths of the other headers of the folder:
 *
 *   DP_ARCH_CALL               call instructions: see call.h
 *   DP_ARCH_FRAME_CODE         instructions that make frames: see frame_code.h
 *   DP_ARCH_KERNEL             the kernel's types: pt_regs, thread_struct
 *   DP_ARCH_KERNEL_FIELDS      the members of these types that are relocated
 *   DP_ARCH_SLJIT_CODE         functions that sljit has made: see sljit.h
 *   DP_ARCH_TASK               the registers of a task: see task.bpf.h
 */
#include DP_BPF_ARCH

#endif
