/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_JIT_OBJECT_H
#define DP_ELF_JIT_OBJECT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The ELF file in memory by which a JIT compiler describes its code to GDB. Its section headers have the code's
 * addresses. Often it is an object file without program headers, whose relocations were applied only to the code
 * itself, which is elsewhere.
 */

/*
 * Links it into a file that can be read like any program: with the addresses of functions, relocated unwind and
 * debug information, and a segment for each code section, by address. The caller frees *ret. 0, -ENOEXEC: not an ELF
 * file; -ENOTSUP: of another machine; -EBADMSG: damaged; -ENODATA: no code has an address; -E2BIG: too many code
 * sections; or -ENOMEM.
 */
int jit_object_link(const uint8_t *bytes, size_t size, uint8_t **ret, size_t *ret_size);

#endif
