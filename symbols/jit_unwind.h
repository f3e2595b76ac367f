/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_UNWIND_H
#define DP_SYMBOLS_JIT_UNWIND_H

#include <stddef.h>
#include <stdint.h>

/*
 * The unwind information in a jitdump: records of it precede the code that they describe. perf makes an ELF
 * file of each piece of code, with .eh_frame at the next multiple of 8 behind it (tools/perf/util/genelf.c),
 * so that this is what its addresses count from, wherever the writer has it, if at all.
 *
 * LLVM writes .eh_frame_hdr in front of it, with the address of the .eh_frame in memory, and one record for all
 * code of an object file.
 */

/*
 * Makes a program (elf/frames_object.h) of the unwind information of the code that there is at the end of the
 * file. The caller frees *ret. 0; -ENODATA: it has none; -EFBIG: it is too large, or its code too far apart;
 * -ENOEXEC, -EBADMSG as jit_dump_read(); -ENOMEM.
 */
int jit_unwind_read(int fd, uint8_t **ret, size_t *ret_size);

#endif
