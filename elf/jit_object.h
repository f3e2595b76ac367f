/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_JIT_OBJECT_H
#define DP_ELF_JIT_OBJECT_H

#include <stddef.h>
#include <stdint.h>

/*
 * What a just-in-time compiler tells GDB about its code: an ELF file in memory. Its section headers have
 * the addresses at which the code is. Often it is an object file, whose relocations nobody has applied,
 * as those of the code itself are elsewhere, and it has no program headers.
 */

/*
 * Makes a program of it that all others read like any: with the addresses of functions, relocated unwind
 * and debug information, and a segment for each section of code, by address. The caller frees *ret. 0,
 * -ENOEXEC: it is no ELF file; -ENOTSUP: of another machine; -EBADMSG: it is damaged; -ENODATA: it says
 * of no code where it is; -E2BIG: of too many; or -ENOMEM.
 */
int jit_object_link(const uint8_t *bytes, size_t size, uint8_t **ret, size_t *ret_size);

#endif
